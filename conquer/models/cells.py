"""Memory for cells: models of one kind share what none of them has moved; a page becomes a model's own with a step.

The second model of a kind (dim, bytes of a cell, 1/lam) makes a template, a file in memory that holds the fresh cells
once. It and every later one map it privately: the kernel copies a page when something in it is first written. A kind's
first model has ordinary memory, so whoever has one model alone pays nothing for this.
"""

import ctypes
import mmap
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.models.cells import INVERSE

Kind = tuple[int, int, float]
_SMALLEST, _LARGEST, _ROOM = 1 << 20, 32 << 20, 64 << 20
"""Bytes of cells that are worth sharing, and of all templates together. Larger cells do better with huge pages."""
PAGE = mmap.PAGESIZE
_PAGEMAP = "/proc/self/pagemap"


def aligned_cells(dim: int, size: int = 8) -> NDArray[Any]:
    """Zeros (dim, 2), `size` bytes each, that start on a cache line, so that few features straddle two."""
    room = np.zeros(2 * dim + 64 // size, f"f{size}")
    skip = (-room.ctypes.data // size) % (64 // size)
    return room[skip : skip + 2 * dim].reshape(dim, 2)


def fresh_cells(dim: int, size: int, inverse: float) -> NDArray[Any]:
    """Cells that nothing has moved: w is 0, 1/A is `inverse`.

    >>> fresh_cells(2, 8, 0.5).tolist()
    [[0.0, 0.5], [0.0, 0.5]]
    """
    kind = dim, size, inverse
    shared = _shared(kind)
    if shared is not None:
        return shared
    cells = aligned_cells(dim, size)
    cells[:, INVERSE] = inverse
    if _SMALLEST <= cells.nbytes <= _LARGEST:
        _first[kind] = cells
    return cells


def own_bytes(array: NDArray[Any]) -> int:
    """What an array takes that nothing else shares; for cells over a template, the pages that have been written."""
    owner: Any = array.base
    if not isinstance(owner, _Mapping):
        return int(array.nbytes)
    first, last = array.ctypes.data // PAGE, (array.ctypes.data + array.nbytes - 1) // PAGE
    with open(_PAGEMAP, "rb", buffering=0) as pages:
        pages.seek(8 * first)
        entries = np.frombuffer(pages.read(8 * (last - first + 1)), np.uint64)
    # Bits 63 and 62: in memory or swapped out; bit 61: still the template's.
    return PAGE * int(np.count_nonzero((entries >> np.uint64(62) != 0) & (entries >> np.uint64(61) & 1 == 0)))


class _Template:
    """The fresh cells of a kind in a file that has no name; it lasts as long as something maps it."""

    def __init__(self, cells: NDArray[Any]) -> None:
        self.bytes = cells.nbytes
        self.file = os.memfd_create("conquer-cells", os.MFD_CLOEXEC)
        with open(self.file, "wb", closefd=False) as file:
            file.write(cells.data)

    def __del__(self) -> None:
        os.close(self.file)


class _Mapping:
    """A private view of a template, for numpy to take; unmapped when the last array over it goes."""

    def __init__(self, template: _Template, kind: Kind) -> None:
        dim, size, _ = kind
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE
        address = _libc.mmap(None, template.bytes, protection, flags, template.file, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "cells cannot be mapped")
        self._template, self._address = template, address
        self.__array_interface__ = {
            "shape": (dim, 2), "typestr": np.dtype(f"f{size}").str, "data": (address, False), "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        if hasattr(self, "_address"):
            _libc.munmap(self._address, self._template.bytes)


def _shared(kind: Kind) -> NDArray[Any] | None:
    """Cells over the kind's template; None where there is none and none can be made."""
    template = _templates.get(kind)
    try:
        if template is None:
            first = _first.get(kind)
            if first is None or not _can_share or first.nbytes + sum(one.bytes for one in _alive()) > _ROOM:
                return None
            cells = aligned_cells(*kind[:2])
            cells[:, INVERSE] = kind[2]
            # Two threads may both make one: each lasts as long as it is used.
            template = _templates[kind] = _Template(cells)
        return np.asarray(_Mapping(template, kind))
    except OSError:
        # Too many files or mappings: ordinary memory does as well.
        return None


def _alive() -> list[_Template]:
    return [one for one in (reference() for reference in _templates.valuerefs()) if one is not None]


_templates: weakref.WeakValueDictionary[Kind, _Template] = weakref.WeakValueDictionary()
_first: weakref.WeakValueDictionary[Kind, NDArray[Any]] = weakref.WeakValueDictionary()
_can_share = hasattr(os, "memfd_create") and os.access(_PAGEMAP, os.R_OK)
if _can_share:
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
