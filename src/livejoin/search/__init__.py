"""The search for the best join plan: statistics, guarantees, costs, the cheapest tree."""
