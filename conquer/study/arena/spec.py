"""What an arena is: which algorithms meet in which worlds, and how often."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaSpec:
    """One arena; the fields are the options of `conquer arena`.

    >>> ArenaSpec(algorithms=("ttg",), rounds=100).repetitions
    8
    """

    preset: str = field(
        default="small",
        metadata={"help": "small: two minutes; standard: the literature's; long; worlds: all nine, hours."},
    )
    worlds: tuple[str, ...] | None = field(
        default=None, metadata={"help": "Names of worlds, comma-separated, instead of a preset."}
    )
    algorithms: tuple[str, ...] | None = field(
        default=None,
        metadata={"help": "all, paper, rivals, published, or names, comma-separated, instead of the preset's."},
    )
    rounds: int | None = field(default=None, metadata={"help": "Rounds of each world, instead of the preset's."})
    repetitions: int = field(default=8, metadata={"help": "Worlds of each kind that every algorithm meets."})
    seed: int = field(default=0, metadata={"help": "The seed of every draw."})

    def __post_init__(self) -> None:
        if self.algorithms == () or self.worlds == ():
            raise ValueError("algorithms and worlds must each name at least one, got an empty list")
        if self.repetitions < 1:
            raise ValueError(f"repetitions must be at least 1, got {self.repetitions}")
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds}")
