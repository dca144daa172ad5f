"""Fitting: a session from votes that other systems gathered, the warm start."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conquer.fitting.warm_start import Fitted, fit, fitted

__all__ = ["Fitted", "fit", "fitted"]


def __getattr__(name: str) -> Any:
    """Imported when it is used: whether a scheduler answers can be asked without numpy."""
    if name not in __all__:
        raise AttributeError(f"module 'conquer.fitting' has no attribute {name!r}")
    return getattr(import_module("conquer.fitting.warm_start"), name)
