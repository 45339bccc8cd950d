"""CROWN: change propagation over a generalized join tree."""
