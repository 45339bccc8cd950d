"""What a plan costs and why, for people and programs."""
