"""From what users have (texts, dicts, vectors, a shared context) to unit sparse rows."""
