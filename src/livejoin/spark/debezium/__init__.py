"""Debezium's messages as rows: what JSON leaves open is declared, or a message is no row."""
