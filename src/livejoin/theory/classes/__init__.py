"""Classes of queries: acyclic, free-connex, hierarchical."""
