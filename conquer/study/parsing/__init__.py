"""The study of parsing by questions."""
