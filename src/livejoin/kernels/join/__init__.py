"""What all joins have in common, of whatever family: records, events, plans, output, the delta of a batch."""
