"""What Numba does differently for kernels: how helpers are linked, and which rules of types are asked first."""
