"""From text to a checked syntax tree."""
