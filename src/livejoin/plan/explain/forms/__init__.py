"""The forms of an explanation: text, JSON, picture, page."""
