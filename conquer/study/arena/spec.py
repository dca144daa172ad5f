"""What an arena is: which algorithms meet in which worlds, and how often."""

from dataclasses import dataclass

from conquer.study.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaSpec:
    """One arena; the fields are the options of `conquer arena`."""

    preset: str = option("small", "small: two minutes; standard: the literature's; long; worlds: all nine, hours.")
    worlds: tuple[str, ...] | None = option(None, "Names of worlds, comma-separated, instead of a preset.")
    algorithms: tuple[str, ...] | None = option(
        None, "all, paper, rivals, published, or names, comma-separated, instead of the preset's."
    )
    rounds: int | None = option(None, "Rounds of each world, instead of the preset's.")
    repetitions: int = option(8, "Worlds of each kind that every algorithm meets.")
    seed: int = option(0, "The seed of every draw.")

    def __post_init__(self) -> None:
        if self.algorithms == () or self.worlds == ():
            raise ValueError("algorithms and worlds must each name at least one, got an empty list")
        if self.repetitions < 1:
            raise ValueError(f"repetitions must be at least 1, got {self.repetitions}")
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds}")
