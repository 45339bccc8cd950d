"""What is counted while somebody wants to know what a view really costs."""
