"""Foreign keys: graphs, assertion keys."""
