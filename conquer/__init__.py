"""Learn what people want from which of two things they pick: second-order contextual dueling bandits.

>>> import conquer, numpy as np
>>> learner = conquer.make("gnr", dim=3)
>>> learner.choose(np.eye(3), np.random.default_rng(0)).query.name
'DUEL'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conquer import reference
    from conquer.boards import Board, BoardSettings, Stop
    from conquer.features.featurizer import Featurizer, featurize
    from conquer.fitting.warm_start import fit
    from conquer.policies import Policy
    from conquer.registry import algorithms, make
    from conquer.rows import Rounds, SparseRows
    from conquer.session import MemoryLedger, Session, load, replay, save
    from conquer.simulation import Trace, simulate
    from conquer.types import Choice, Offer, Query, Source

_HOMES = {
    "Board": "boards",
    "BoardSettings": "boards",
    "Choice": "types",
    "Featurizer": "features.featurizer",
    "MemoryLedger": "session",
    "Offer": "types",
    "Policy": "policies",
    "Query": "types",
    "Rounds": "rows",
    "Session": "session",
    "Source": "types",
    "SparseRows": "rows",
    "Stop": "boards",
    "Trace": "simulation",
    "algorithms": "registry",
    "featurize": "features.featurizer",
    "fit": "fitting.warm_start",
    "load": "session",
    "make": "registry",
    "replay": "session",
    "save": "session",
    "simulate": "simulation",
}
__version__ = "0.1.0"
__all__ = [
    "Board",
    "BoardSettings",
    "Choice",
    "Featurizer",
    "MemoryLedger",
    "Offer",
    "Policy",
    "Query",
    "Rounds",
    "Session",
    "Source",
    "SparseRows",
    "Stop",
    "Trace",
    "algorithms",
    "featurize",
    "fit",
    "load",
    "make",
    "reference",
    "replay",
    "save",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import conquer` itself costs next to nothing."""
    if name == "reference":
        return import_module("conquer.reference")
    if name not in _HOMES:
        raise AttributeError(f"module 'conquer' has no attribute {name!r}")
    value = getattr(import_module(f"conquer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
