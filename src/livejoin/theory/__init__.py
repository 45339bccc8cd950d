"""Pure functions on queries: hypergraphs, join trees and what follows from their shape."""
