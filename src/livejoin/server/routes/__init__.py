"""The routes of the server: what is read, written and followed, and how bodies are read."""
