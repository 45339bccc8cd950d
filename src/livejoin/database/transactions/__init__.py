"""How a commit is made, undone, ended and told of, one call at a time, and what is given back between two."""
