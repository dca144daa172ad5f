"""What happens on a choose, an answer, a fit: check, append rows, say what became of it."""
