"""How a commit is made, undone, finished and told to subscribers, and what memory is given back between two commits."""
