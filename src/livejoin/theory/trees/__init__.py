"""Join trees: construction, least height, laws."""
