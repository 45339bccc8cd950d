"""The arena that all kernels of joins share: blocks, directories, records."""
