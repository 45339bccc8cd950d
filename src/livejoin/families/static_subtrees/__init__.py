"""Static tables that refer to each other by their keys, as one relation where that takes less memory."""
