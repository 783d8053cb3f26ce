"""One kernel file for all workloads: merges the kernels of a campaign's buckets, chooses by signature."""
