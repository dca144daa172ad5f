"""What a study of boards is: which worlds, how many items and runs, and which rules choose the pairs."""

from dataclasses import dataclass, field

WORLDS = ("linear", "bradley-terry", "narrow", "equal", "votes")
DESIGNS = ("random", "balanced")
"""Pairs drawn before any answer: any two items, or every item equally often. 5K of them are 10 per item."""
RULES = ("sep", "tob", "gnr", "gnc", "gnt", "pairucb")
PER_ITEM = 5
"""Answers per item of the designs that the rules are compared with; each answer is about two items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardsSpec:
    """One study; the fields are the options of `python -m benchmarks.boards`.

    `runs`, `looks` and `races` have one number for each of `items`.

    >>> BoardsSpec(items=(10,), runs=(50,), looks=(100,), races=(40,)).seed
    0
    """

    worlds: tuple[str, ...] = field(
        default=WORLDS[:4], metadata={"help": "linear, bradley-terry, narrow, equal, votes (needs --data)."}
    )
    items: tuple[int, ...] = field(default=(10, 30, 100), metadata={"help": "Numbers of items, comma-separated."})
    runs: tuple[int, ...] = field(default=(2000, 500, 200), metadata={"help": "Runs whose every board is checked."})
    looks: tuple[int, ...] = field(default=(500, 900, 1000), metadata={"help": "Answers, and so boards, of each."})
    races: tuple[int, ...] = field(
        default=(2000, 330, 40), metadata={"help": "Runs that compare how many answers the rules need."}
    )
    watched: tuple[str, ...] = field(
        default=("random", "tob", "sep"), metadata={"help": "Rules that choose the pairs of the checked runs."}
    )
    algorithms: tuple[str, ...] = field(default=RULES, metadata={"help": "Rules whose answers are counted."})
    stops: int = field(default=200, metadata={"help": "Runs that end when the board allows it; 0: none."})
    tolerance: float = field(default=0.5, metadata={"help": "By how much another item may be better at that end."})
    delta: float = field(default=0.05, metadata={"help": "The probability of a false claim."})
    data: str | None = field(default=None, metadata={"help": "A file of votes with columns left, right, winner."})
    seed: int = field(default=0, metadata={"help": "The seed of every draw."})

    def __post_init__(self) -> None:
        chosen = (("world", self.worlds, WORLDS), ("rule", self.algorithms, RULES))
        for what, given, known in (*chosen, ("rule", self.watched, (*DESIGNS, *RULES))):
            if unknown := [name for name in given if name not in known]:
                raise ValueError(f"unknown {what} {', '.join(unknown)}; {what}s are {', '.join(known)}")
        for name in ("runs", "looks", "races"):
            if len(getattr(self, name)) != len(self.items) or min(getattr(self, name)) < 1:
                raise ValueError(
                    f"{name} needs a number of at least 1 per size {self.items}, got {getattr(self, name)}"
                )
        if not self.items or min(self.items) < 2:
            raise ValueError(f"items must be numbers of at least 2, got {self.items}")
        if "votes" in self.worlds and self.data is None:
            raise ValueError("the world 'votes' needs --data, a file of votes")
        if self.stops < 0 or self.tolerance <= 0 or not 0 < self.delta < 1:
            numbers = (self.stops, self.tolerance, self.delta)
            raise ValueError(f"stops must not be below 0, tolerance above 0, delta in (0, 1), got {numbers}")
