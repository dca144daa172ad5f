"""A learner as one file's bytes and back: how it was made and what it has learnt."""

from collections.abc import Mapping
from typing import Any

from conquer.checks import checked_dim
from conquer.files import FileError, pack, unpack
from conquer.learners.algorithm import Algorithm
from conquer.learners.believer import columns
from conquer.learners.rules import Rules, policy_header, read_policy
from conquer.registry import find, own_policy, unknown
from conquer.types import Learner


def described(learner: Learner) -> dict[str, Any]:
    """How to make a fresh learner like this one, as JSON: the name, a custom policy if there is one, the parameters."""
    made = {"algorithm": learner.name, "dim": learner.dim, "parameters": dict(learner.parameters)}
    policy = getattr(learner, "policy", None)
    if policy is None or (not unknown([learner.name]) and find(learner.name).policy == policy):
        return made
    return {**made, "policy": policy_header(policy)}


def rebuilt(description: Mapping[str, Any], rules: Rules | None = None) -> Learner:
    """A fresh learner from the result of `described`."""
    return _row(description, rules or {}).build(description["dim"], **description["parameters"])


def dumps(learner: Learner, extra: Mapping[str, Any] | None = None, arrays: Mapping[str, Any] | None = None) -> bytes:
    """The learner as one file's bytes, with `extra` (JSON) and further arrays under their own names."""
    header = {"learner": described(learner), "answers": learner.answers, "extra": dict(extra or {})}
    own = {f"model.{name}": array for name, array in learner.arrays().items()}
    return pack(header, own | dict(arrays or {}))


LARGEST_DIM_IN_FILE = 2**25
"""Features in a file: a small file may rightly have many, and this many make its reader allocate 0.5 to 0.75 GiB."""


def loads(
    data: bytes, *, largest_dim: int = LARGEST_DIM_IN_FILE, rules: Rules | None = None
) -> tuple[Learner, dict[str, Any], dict[str, Any]]:
    """(learner, extra, the other arrays) from `dumps`'s bytes, which need not be trusted.

    `rules`: a custom policy's functions by "module:name" or name, and algorithms by name. A file imports nothing.
    """
    header, arrays = unpack(data)
    own = {name.removeprefix("model."): array for name, array in arrays.items() if name.startswith("model.")}
    try:
        # A file must not make its reader allocate more than it holds.
        _check_size(_row(header["learner"], rules or {}), header["learner"], own, largest_dim)
        learner = rebuilt(header["learner"], rules)
        learner.restore(own)
        extra = header["extra"]
        if not isinstance(extra, dict):
            raise TypeError(f"extra must be an object, got {extra!r}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, MemoryError) as error:
        raise FileError(f"the model file does not fit together: {type(error).__name__}: {error}") from None
    return learner, extra, {name: array for name, array in arrays.items() if not name.startswith("model.")}


def _row(description: Mapping[str, Any], rules: Rules) -> Algorithm:
    """The table's row, the row of the policy in the file, or a custom one that `rules` holds by its name."""
    if "policy" in description:
        return own_policy(read_policy(description["policy"], rules))
    own = rules.get(description["algorithm"])
    return own if isinstance(own, Algorithm) else find(description["algorithm"])


def _check_size(row: Algorithm, description: Mapping[str, Any], arrays: Mapping[str, Any], largest: int) -> None:
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
        raise ValueError(f"dim must be at most {most}, got {dim}; largest_dim= allows more for a trusted file")
