"""The client of a server: a database of another process or machine, by HTTP.

Only Arrow and the standard library are needed here, and no database.
"""

from livejoin.client.client import Client, connect
from livejoin.client.following import ArrowUpdate, Following, Update, Upserts
from livejoin.client.said import Applied, ColumnInfo, TableInfo, ViewInfo

__all__ = [
    "Applied",
    "ArrowUpdate",
    "Client",
    "ColumnInfo",
    "Following",
    "TableInfo",
    "Update",
    "Upserts",
    "ViewInfo",
    "connect",
]
