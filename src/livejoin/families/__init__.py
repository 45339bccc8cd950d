"""Join families: each is one way to maintain a join, from plan to state."""
