"""What is kept between commits: arenas, base tables, dictionaries, snapshots."""
