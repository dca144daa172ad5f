"""Tables and figures of a study of boards."""

from collections.abc import Sequence
from pathlib import Path

from conquer.boards.widths import INTERVALS
from conquer.study.boards.spec import DESIGNS, PER_ITEM, RULES, BoardsSpec
from conquer.study.boards.tables import all_tables, courses, watched
from conquer.study.cells.output import markdown, write_text
from conquer.study.cells.store import Row
from conquer.study.plots import boards as draw
from conquer.study.plots.canvas import cast
from conquer.study.plots.reviews import save


def write(spec: BoardsSpec, rows: Sequence[Row], folder: Path) -> None:
    """Write tables/NAME.md and figures/NAME.png into the folder."""
    for name, frame in all_tables(rows).items():
        path = folder / "tables" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, markdown(frame))
    if raced := courses(rows):
        panels = {
            f"{world}, {items} items": {
                name: [(2.0 * (t + 1) / items, tau) for t, tau in enumerate(blocks.mean(axis=0).tolist())]
                for name, blocks in by_name.items()
            }
            for (world, items), by_name in raced.items()
        }
        save(draw.orders(panels, 2.0 * PER_ITEM, cast(spec.algorithms, RULES, *DESIGNS)), "orders", folder / "figures")
    if seen := watched(rows):
        bars = {
            f"{world}, {items}": {
                name: max(
                    (rates[name] for at, rates in seen.items() if at[:2] == (world, items)), key=lambda rate: rate.share
                )
                for name in INTERVALS
            }
            for world, items, _ in seen
        }
        shown: dict[str, dict[str, tuple[float, float, float]]] = {
            label: {name: (rate.share, *rate.ends) for name, rate in rates.items()} for label, rates in bars.items()
        }
        save(draw.claims(shown, spec.delta), "claims", folder / "figures")
