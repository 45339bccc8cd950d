"""Kernels of transition systems: changes move from state to state, which are sets of the dynamic rows that matter."""
