"""What `conquer study` does: refuse mistakes early, run with progress bars, write the report and print a summary."""

import shlex
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.study.backends import choose
from conquer.study.progress import COMPILING, Bars, StudyProgress
from conquer.study.reviews.sources import DomainSource, check, preview, sources
from conquer.study.reviews.spec import CEILING, CONTROLS, EMBEDDED, PAPER, Spec, preset

if TYPE_CHECKING:
    from conquer.study.reviews.run import Finished


ENTRY = "conquer.study.reviews.report"
"""The module that the pages of a study of reviews come from."""


def run_study(
    *,
    preset: str = "small",
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "study",
    publish: str | Path | None = None,
    overwrite: bool = False,
    command: Sequence[str] = (),
    **changes: Any,
) -> int:
    """Run a study and report it in the folder `out`; returns the exit status 0.

    `changes` are fields of `Spec`, those of an axis with one value or several; `command` is the command line for the
    report. Tables and figures are also copied to the folder `publish`. The report of another study in `out` is replaced
    only with `overwrite`. Mistakes are refused before anything is compiled, most before numpy is imported.
    """
    from rich.console import Console

    console = Console()
    start = time.monotonic()
    with console.status("starting"):
        backend = choose(jobs, cluster)
        given = {name: value for name, value in changes.items() if value is not None}
        data, names = given.get("data", "synthetic"), given.get("domains")
        check(data, names, text=given.get("text"), rating=given.get("rating"))
        specs = specifications(preset, **given)
        if data in EMBEDDED:
            sources(specs[0])
        from conquer.kernels.core import background  # numpy is imported only now
        from conquer.study import output

        output.check_place(out, "report.html", "reviews", specs, overwrite)
        for line in preview(specs[0]):
            console.print(line, markup=False, highlight=False)
        for place in [Path(each) for each in (publish, out) if each is not None]:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass  # a folder that cannot be written is refused now, not after the study
        from conquer.study.reviews import report
        from conquer.study.reviews.run import study
    with Bars(console) as bars:
        if cluster is None:
            background.report = console.print
            compile_kernels(specs, bars)
        finished: Finished = study(specs, out, backend, bars)
        page = report.write(finished, shlex.join(command) or "conquer study", bars)
        output.sign(out, "reviews", specs)
    report.show(finished, console)
    if publish is not None:
        written = output.publish(Path(out), Path(publish), command or ["conquer", "study"], ENTRY)
        console.print(f"{len(written)} tables and figures in {publish}")
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0


def compile_kernels(specs: Sequence[Spec], progress: StudyProgress) -> None:
    """Compile every kernel of a study, two at a time, so that workers find them on disk."""
    from conquer.kernels.core import background

    background.compile_all()
    rehearse(specs)
    progress.begin(COMPILING, background.pending())
    for _ in background.finish():
        progress.advance(1)


def rehearse(specs: Sequence[Spec]) -> None:
    """Call every kernel of a study with the types it will be called with: a repetition of a handful of reviews."""
    from conquer.features.vocabulary import tabulate
    from conquer.study.reviews.domains import store
    from conquer.study.reviews.tasks import Repetition, repeat

    tabulate(["one text"])
    wanted: tuple[tuple[int, str, dict[str, Any]], ...] = ((3, "ttg", {}), (3, CEILING, {}))
    with tempfile.TemporaryDirectory() as folder:
        source = DomainSource("synthetic", "android", (), 40, 0, "none", "a rehearsal")
        store(source, Path(folder))
        for spec in specs:
            # Options of other data sets (columns, a scale, longer n-grams) change no kernel.
            own: dict[str, Any] = {"text": None, "rating": None, "scale": None, "ngrams": (1, 2)}
            own |= {"judge": "linear", "domains": None, "items": (3,), "passes": 1, "test_sets": 2}
            small = replace(spec, data="synthetic", **own)
            repeat(Repetition(small, source, folder, 0, wanted))


def specifications(name: str, **changes: Any) -> tuple[Spec, ...]:
    """The preset of this name with some fields changed; the algorithms may be "paper", "controls", "rivals" or "all".

    >>> [spec.features for spec in specifications("small", items=(5, 10), algorithms=("ttg", "gnc"))]
    ['binary', 'idf']
    """
    if "algorithms" in changes:
        changes["algorithms"] = _algorithms(changes["algorithms"])
    return preset(name, **changes)


def _algorithms(names: tuple[str, ...]) -> tuple[str, ...]:
    from conquer.registry import groups, offered, table, unknown

    # Fixed arms make no sense on reviews, and some rivals take few features only.
    rivals = tuple(name for name in groups()["contextual"] if name not in PAPER)
    groups_of = {"paper": PAPER, "controls": (*CONTROLS,), "rivals": (*rivals, "random"), "all": (*PAPER, *rivals)}
    chosen = tuple(dict.fromkeys(each for name in names for each in groups_of.get(name, (name,))))
    if absent := [name for name in unknown(chosen) if name not in CONTROLS]:
        there = (*groups_of, *table(), *offered(), *CONTROLS)
        raise ValueError(f"unknown algorithm {', '.join(absent)}; algorithms are {', '.join(there)}")
    return chosen
