"""One kernel file for all workloads: merges the kernels of a campaign's buckets and chooses between them by signature."""
