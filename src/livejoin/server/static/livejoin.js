// see docs/clients.md
