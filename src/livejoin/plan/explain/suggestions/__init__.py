"""What would make a query cheaper to maintain, found by trying it."""
