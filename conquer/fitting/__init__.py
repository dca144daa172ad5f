"""Fitting: a session from the votes of other systems."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conquer.fitting.warm_start import fit

__all__ = ["fit"]


def __getattr__(name: str) -> Any:
    """Import `fit` on first use: checking the address of a scheduler needs no numpy."""
    if name not in __all__:
        raise AttributeError(f"module 'conquer.fitting' has no attribute {name!r}")
    return getattr(import_module("conquer.fitting.warm_start"), name)
