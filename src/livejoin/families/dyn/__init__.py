"""Dynamic Yannakakis."""
