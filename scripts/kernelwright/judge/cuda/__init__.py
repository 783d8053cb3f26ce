"""The judge on an NVIDIA GPU: memory shared between processes, the child's side, the service's side and its clock.

Processes share device memory by file descriptors of the driver's virtual memory interface, which pass namespaces that
legacy CUDA IPC does not. Everything that a kernel's process allocates lies in memory that the service owns, so that it
can be read without asking that process.
"""
