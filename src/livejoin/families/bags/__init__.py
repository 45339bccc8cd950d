"""Cyclic queries: joins inside bags, a join tree over them."""
