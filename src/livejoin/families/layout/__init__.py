"""How compiled joins lie in words: plans, records, annotations, the tables that they use."""
