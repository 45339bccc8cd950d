"""What moves a join, between two commits, to another plan, into cells and back, or to records of fewer rows."""
