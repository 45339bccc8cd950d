"""Functions and operators with rules of their own, a file for each kind; `by_name` finds them."""
