"""What a database is in files, and how it comes back from them."""
