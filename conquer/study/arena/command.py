"""What `conquer arena` does: bars while it runs, then where the page is."""

from pathlib import Path

from conquer.study.arena.spec import ArenaSpec
from conquer.study.backends import choose
from conquer.study.cells.identity import check_place, sign
from conquer.study.progress import Bars


def run_arena(
    spec: ArenaSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "arena",
    overwrite: bool = False,
) -> Path:
    """Run an arena in the folder `out` and return the path of its page; another arena's there needs `overwrite`."""
    from rich.console import Console

    console = Console()
    with console.status("starting"):
        backend = choose(jobs, cluster)
        from conquer.study.arena.run import matches_of, study_arena

        check_place(out, "arena.html", "arena", spec, overwrite)
        matches_of(spec)  # a mistake is one line, before any bar
    with Bars(console) as bars:
        page = study_arena(spec, out, backend, bars)
    sign(out, "arena", spec)
    console.print(f"The page: {page}")
    return page
