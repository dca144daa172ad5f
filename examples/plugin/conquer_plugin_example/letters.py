"""A featurizer: how often each letter occurs. Put an embedding model here."""

from typing import Any

import numpy as np

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(items: list[Any]) -> np.ndarray:
    """(K, 26): the same vector for the same item, whatever stands beside it."""
    return np.array([[float(str(item).lower().count(letter)) for letter in ALPHABET] for item in items])
