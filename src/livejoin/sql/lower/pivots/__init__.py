"""PIVOT and UNPIVOT in FROM, each as a nested query."""
