"""Memory for tables of w and 1/A: models of one kind share the pages that none of them has written.

The second model of a kind (dim, 1/lam) makes a template, a file in memory that holds a fresh table once. It and every
later one map it privately: the operating system copies a page when something in it is first written. A kind's first
model has ordinary memory, so a program with one model pays nothing for this.
"""

import contextlib
import ctypes
import mmap
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.models.diagonal import INVERSE
from conquer.types import Floats

Kind = tuple[int, float]
_SMALLEST, _LARGEST, _ROOM = 1 << 20, 32 << 20, 64 << 20
"""Bytes of a table that is worth sharing, and of all templates together. Larger tables do better with huge pages."""
PAGE = mmap.PAGESIZE
_PAGEMAP = "/proc/self/pagemap"


def aligned_table(dim: int) -> Floats:
    """Zeros (dim, 2) that start on a cache line, so that no feature straddles two."""
    room = np.zeros(2 * dim + 8)
    skip = (-room.ctypes.data // 8) % 8
    return room[skip : skip + 2 * dim].reshape(dim, 2)


def fresh_table(dim: int, inverse: float) -> Floats:
    """A table that no step has changed: w is 0, 1/A is `inverse`.

    >>> fresh_table(2, 0.5).tolist()
    [[0.0, 0.5], [0.0, 0.5]]
    """
    kind = dim, inverse
    shared = _shared(kind)
    if shared is not None:
        return shared
    table = aligned_table(dim)
    table[:, INVERSE] = inverse
    if _SMALLEST <= table.nbytes <= _LARGEST:
        _first[kind] = table
    return table


def own_bytes(array: NDArray[Any]) -> int:
    """Bytes of an array that nothing else shares; for a table over a template, the pages that have been written."""
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
    """A fresh table in an anonymous file (memfd), which lasts as long as something maps it."""

    def __init__(self, table: Floats) -> None:
        self.bytes = table.nbytes
        self.file = os.memfd_create("conquer-table", os.MFD_CLOEXEC)
        with open(self.file, "wb", closefd=False) as file:
            file.write(table.data)
        self._own = os.fstat(self.file)

    def check(self) -> None:
        """Raise an OSError if the descriptor is no longer the template's: mapped, another file would end the process.

        Other code of the program may have closed a descriptor twice, and the second time ours.
        """
        if not os.path.samestat(os.fstat(self.file), self._own):
            raise OSError("another file has the descriptor of a table")

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.check()
            os.close(self.file)


class _Mapping:
    """A private view of a template, for numpy to take; unmapped when the last array over it goes."""

    def __init__(self, template: _Template, kind: Kind) -> None:
        dim, _ = kind
        template.check()
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE
        address = _libc.mmap(None, template.bytes, protection, flags, template.file, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "a table cannot be mapped")
        self._template, self._address = template, address
        self.__array_interface__ = {
            "shape": (dim, 2), "typestr": np.dtype(np.float64).str, "data": (address, False), "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        if hasattr(self, "_address"):
            _libc.munmap(self._address, self._template.bytes)


def _shared(kind: Kind) -> Floats | None:
    """A table over the kind's template; None where there is none and none can be made."""
    template = _templates.get(kind)
    try:
        if template is None:
            first = _first.get(kind)
            if first is None or not _can_share or first.nbytes + sum(one.bytes for one in _alive()) > _ROOM:
                return None
            table = aligned_table(kind[0])
            table[:, INVERSE] = kind[1]
            # Two threads may both make one: each lasts as long as it is used.
            template = _templates[kind] = _Template(table)
        return np.asarray(_Mapping(template, kind))
    except OSError:
        # Too many files or mappings: ordinary memory does as well.
        return None


def _alive() -> list[_Template]:
    return [one for one in (reference() for reference in _templates.valuerefs()) if one is not None]


_templates: weakref.WeakValueDictionary[Kind, _Template] = weakref.WeakValueDictionary()
_first: weakref.WeakValueDictionary[Kind, Floats] = weakref.WeakValueDictionary()
_can_share = hasattr(os, "memfd_create") and os.access(_PAGEMAP, os.R_OK)
if _can_share:
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
