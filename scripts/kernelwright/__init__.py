"""Kernelwright: from a PyTorch operator to a GPU or CPU kernel that is proven correct and proven fast."""

__version__ = "0.1.0"
