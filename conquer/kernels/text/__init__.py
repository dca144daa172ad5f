"""From text to hashed columns, compiled."""
