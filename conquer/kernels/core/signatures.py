"""The types of a kernel's arguments as plain text, so that they can be compared and sent without the compiler."""

from typing import Any

import numpy as np

Signature = tuple[Any, ...]
"""One entry per argument; hashable, and as JSON the same but for lists."""


def signature(arguments: tuple[Any, ...]) -> Signature:
    """What the compiler would distinguish of these.

    >>> signature((np.zeros((2, 3)), 1, 2.0, True))
    (('array', '<f8', 2, 'C', True), ('int',), ('float',), ('bool',))
    """
    return tuple(_kind(each) for each in arguments)


def _kind(value: Any) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return "array", value.dtype.str, value.ndim, layout, flags.writeable
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str
    if isinstance(value, tuple):
        kind = type(value)
        name = (kind.__module__, kind.__qualname__) if hasattr(value, "_fields") else ("", "")
        return ("tuple", *name, signature(value))
    if type(value) in (bool, int, float):
        return (type(value).__name__,)
    raise TypeError(f"a kernel takes arrays, numbers and tuples of them, got {type(value).__name__}: {value!r}")
