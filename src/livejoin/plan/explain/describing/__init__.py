"""What there is to say of a query and its plans: class, guarantees, cells, logs."""
