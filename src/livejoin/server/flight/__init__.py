"""The server over Arrow Flight SQL: a database for ADBC, JDBC, and all that read Arrow."""

from livejoin.server.flight.server import FlightServer

__all__ = ["FlightServer"]
