"""Reading a result without enumerating it."""
