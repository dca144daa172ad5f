"""What a study of staleness is: which rules meet which worlds, how late answers come, and how often regions merge."""

from dataclasses import dataclass, field

RULES = ("ttg", "gnr", "gnu", "gnc", "unr", "gnt", "gnw")
WIDTHS = ("gnu", "gnc", "unr", "gnt")
"""Rules that use widths: for the others it is all the same when a pair is counted in them."""
WORLDS = ("fresh", "catalogue", "drifting", "reviews")


@dataclass(frozen=True, slots=True, kw_only=True)
class StalenessSpec:
    """One study; the fields are the options of `conquer measure staleness`.

    >>> StalenessSpec(algorithms=("ttg",), delays=(10,)).repetitions
    6
    """

    worlds: tuple[str, ...] = field(default=WORLDS, metadata={"help": "Names of worlds, comma-separated."})
    algorithms: tuple[str, ...] = field(default=RULES, metadata={"help": "Names of rules, comma-separated."})
    delays: tuple[int, ...] = field(
        default=(10, 30, 100, 300, 1000), metadata={"help": "How many rounds late answers come, rising."}
    )
    batches: tuple[int, ...] = field(
        default=(10, 100, 1000), metadata={"help": "How many rounds are learnt at a time, rising."}
    )
    merging: tuple[str, ...] = field(
        default=("gnc",), metadata={"help": "Those of the rules that also learn in regions."}
    )
    regions: tuple[int, ...] = field(default=(8,), metadata={"help": "Numbers of regions that learn apart."})
    every: tuple[int, ...] = field(
        default=(400, 1600), metadata={"help": "Rounds of all regions together between two merges."}
    )
    rounds: int = field(default=4000, metadata={"help": "Rounds of a world."})
    repetitions: int = field(default=6, metadata={"help": "Worlds of each kind."})
    seed: int = field(default=0, metadata={"help": "What every draw depends on."})

    def __post_init__(self) -> None:
        for what, given, known in (("world", self.worlds, WORLDS), ("rule", self.algorithms + self.merging, RULES)):
            if unknown := [name for name in given if name not in known]:
                raise ValueError(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")
        if not self.worlds or not self.algorithms or not self.delays:
            raise ValueError("worlds, algorithms and delays must name at least one each, got nothing")
        for name in ("delays", "batches", "regions", "every"):
            values = getattr(self, name)
            if values != tuple(sorted(set(values))) or min(values, default=1) < 1:
                raise ValueError(f"{name} must be rising numbers of at least 1, got {values}")
        if self.repetitions < 2:
            raise ValueError(f"an interval needs at least 2 repetitions, got {self.repetitions}")
        if self.rounds < max(self.delays) or self.rounds % 5:
            raise ValueError(f"rounds must be a multiple of 5 and no fewer than the delays, got {self.rounds}")
