"""What can be said of a stream in bounded memory: the keys with most weight, the enclosureness."""
