"""Why a row is in a view, why it is not, and which changes made it come or go; nothing is stored for it."""
