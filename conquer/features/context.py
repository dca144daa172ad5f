"""Context x item: the same item may be right in one context and wrong in another.

A row is the item's own features and their products with the context's, as hashed pairs. The context's features alone
are left out on purpose: they are the same for all items of a round, so they cancel in every difference of two items
and can change no choice.
"""

import numpy as np

from conquer.features.hashing import PAIR, Entries, Grams, scratch, starts
from conquer.kernels.text import hashing as kernel

MOST_PRODUCTS = 2**24
"""Products of one round, about 200 MB; a longer context is a mistake or an attack."""


def cross(
    rows: Entries, context: Grams, dim: int, *, base: int = 0, seed: int = 0, most: int = MOST_PRODUCTS
) -> Entries:
    """The rows' own features, and their products with the context's in columns [base, dim), at most `most`.

    Both factors are scaled to length 1 first, so an item's own features weigh as much as its products. An empty context
    leaves the items' own features.

    >>> from conquer.features.dicts import hash_dicts
    >>> items = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2)
    >>> [cross(items, hash_dicts([{"time": time}]), 1000, base=2)[1].tolist() for time in ("day", "night")]
    [[0, 274, 1, 224], [0, 86, 1, 386]]
    """
    if len(context) != 1:
        raise ValueError(f"a round has one context, got {len(context)}")
    if base >= dim:
        raise ValueError(f"products with a context need columns of their own: dim must exceed {base}, got {dim}")
    rising, columns, own = rows
    products = columns.size * context.hashes.size
    if products > most:
        raise ValueError(
            f"{columns.size} features of items and {context.hashes.size} of their context give {products} products, "
            f"expected at most {most}"
        )
    items, values = own.copy(), context.weights.copy()
    kernel.to_unit(rising, items)
    kernel.to_unit(context.indptr, values)
    indptr = np.empty_like(rising)
    indices, data = np.empty(columns.size + products, np.int32), np.empty(columns.size + products)
    begin = starts(seed)[PAIR]
    slots = scratch(rising, context.hashes.size + 1)
    kernel.crossed(rising, columns, items, begin, context.hashes, values, base, dim, slots, indptr, indices, data)
    return indptr, indices[: indptr[-1]], data[: indptr[-1]]
