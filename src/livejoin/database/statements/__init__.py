"""What SQL does to a database: statements that declare something, that change rows, and queries that are asked once."""
