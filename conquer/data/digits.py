"""Handwritten digits as the multiclass special case: the K = 10 items are the ten labels of an image."""

from dataclasses import dataclass

import numpy as np

from conquer.rows import SparseRows
from conquer.types import Floats, Ints

CLASSES = 10

RIGHT, WRONG = 5.0, 3.0
"""Stars of a label: as rewards, (stars - 3)/2, they are the paper's 1 and 0.

The linear judge then prefers the right label to a wrong one with chance (1 + 1/2)/2 = 3/4 and tosses a coin between
two wrong ones. With rewards of 1 and -1 it would never be wrong.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Row 10 i + c is image i in the block of features of class c; it has RIGHT stars if c is right, else WRONG."""

    rows: SparseRows
    stars: Floats
    groups: Ints
    """(images, 10): the rows of each image, the items of one round."""


def load() -> Labelled:
    """Scikit-learn's 1,797 bundled images of 8 x 8 pixels, unit rows of 640 features, rounds of ten labels.

    >>> digits = load()
    >>> digits.rows.shape, digits.groups.shape, int((digits.stars == RIGHT).sum())
    ((17970, 640), (1797, 10), 1797)
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    count, pixels = images.shape
    places = np.broadcast_to(np.arange(CLASSES)[:, None] * pixels + np.arange(pixels), (count, CLASSES, pixels))
    values = np.broadcast_to(images[:, None, :], places.shape)
    present = values != 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=2).ravel())])
    rows = SparseRows(indptr, places[present].astype(np.int32), values[present], CLASSES * pixels)
    stars = np.where(np.arange(CLASSES) == labels[:, None], RIGHT, WRONG).ravel()
    return Labelled(rows, stars, np.arange(count * CLASSES, dtype=np.int64).reshape(count, CLASSES))
