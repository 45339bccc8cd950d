"""Drawings of plans: text, SVG, Graphviz."""
