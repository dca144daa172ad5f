"""A learner as one file's bytes and back: how it was made, what it has learnt, and whatever travels along."""

from collections.abc import Mapping
from typing import Any

from conquer.checks import checked_dim
from conquer.files import FileError, pack, unpack
from conquer.learners.belief import columns
from conquer.learners.conquer import Conquer
from conquer.learners.own import Rules, describe_own, rebuild_own
from conquer.registry import build_model, describe, find, rebuild
from conquer.types import Learner


def described(learner: Learner) -> dict[str, Any]:
    """How to make a learner anew, by its name or with its own policy."""
    try:
        return describe(learner)
    except ValueError:
        if not isinstance(learner, Conquer):
            raise
        return describe_own(learner)


def dumps(learner: Learner, extra: Mapping[str, Any] | None = None, arrays: Mapping[str, Any] | None = None) -> bytes:
    """The learner as one file's bytes; `extra` (JSON-able) and more arrays travel along under their own names."""
    header = {"learner": described(learner), "answers": learner.answers, "extra": dict(extra or {})}
    own = {f"model.{name}": array for name, array in learner.arrays().items()}
    return pack(header, own | dict(arrays or {}))


LARGEST_DIM_IN_FILE = 2**25
"""A file of a few bytes may honestly name many features; what it may make its reader allocate is 0.5 to 0.75 GiB."""


def loads(
    data: bytes, *, largest_dim: int = LARGEST_DIM_IN_FILE, rules: Rules | None = None
) -> tuple[Learner, dict[str, Any], dict[str, Any]]:
    """(learner, extra, the other arrays) from `dumps`'s bytes, which may come from anyone.

    `rules`: the functions of a policy of one's own by their import paths; no file has anything imported.
    """
    header, arrays = unpack(data)
    own = {name.removeprefix("model."): array for name, array in arrays.items() if name.startswith("model.")}
    try:
        # What the file claims must not make us allocate what it does not hold.
        _check_size(header["learner"], own, largest_dim)
        learner = _rebuilt(header["learner"], rules or {})
        learner.restore(own)
        extra = header["extra"]
        if not isinstance(extra, dict):
            raise TypeError(f"extra must be an object, got {extra!r}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, MemoryError) as error:
        raise FileError(f"the model file does not fit together: {type(error).__name__}: {error}") from None
    return learner, extra, {name: array for name, array in arrays.items() if not name.startswith("model.")}


def _rebuilt(description: Mapping[str, Any], rules: Rules) -> Learner:
    if "policy" not in description:
        return rebuild(description)
    return rebuild_own(description, rules, build_model)


def _check_size(description: Mapping[str, Any], arrays: Mapping[str, Any], largest: int) -> None:
    row = find("gnc" if "policy" in description else description["algorithm"])
    parameters = description["parameters"]
    dim, model = columns(checked_dim(description["dim"]), parameters), parameters["model"]
    if model == "full" and row.policy is None:
        held = sum(array.nbytes for array in arrays.values())
        if held < 8 * dim * dim:
            raise ValueError(f"a full model of {dim} features needs {8 * dim * dim} bytes, got {held}")
    elif model == "full" and "lam" in row.takes and arrays["inverse"].shape != (dim, dim):
        raise ValueError(f"a full model of {dim} features needs a square of them, got {arrays['inverse'].shape}")
    models = 1 if parameters.get("believe") is None else 3
    if models * dim > largest:
        most = largest // models
        raise ValueError(f"dim must be at most {most}, got {dim}; largest_dim= allows more to a file you trust")
