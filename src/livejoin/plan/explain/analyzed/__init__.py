"""What a view really costs beside what was expected."""
