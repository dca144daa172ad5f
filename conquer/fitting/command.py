"""The body of `conquer fit`: votes in, one file out, whole or not at all."""

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from conquer.fitting.warm_start import Progress, fitted
from conquer.session import save


def run_fit(
    votes: list[Path],
    *,
    items: Path | None,
    out: Path,
    columns: str | None,
    parameters: Mapping[str, Any],
    progress: Progress,
    say: Callable[[str], None],
    **options: Any,
) -> None:
    """Fit a session to files of votes and write it; `say` is told what was found, problems first."""
    if not out.parent.is_dir() or out.is_dir():
        raise ValueError(f"--out must be a file in a folder that is there, got {out}")
    if out.exists() and any(path.exists() and path.samefile(out) for path in (*votes, *([items] if items else ()))):
        raise ValueError(f"--out would write over {out}, which is read")
    started = perf_counter()
    found = fitted(votes, items, columns=named_columns(columns), progress=progress, **options, **_given(parameters))
    for problem in found.found.problems:
        say(f"refused: {problem}")
    save(found.session, out)
    learner, known = found.session.learner, found.session.catalog
    what = "things too many to list" if known is None else f"{len(known):,} items"
    say(f"{found.found} in {perf_counter() - started:.1f} s")
    say(f"{learner.name} with the {learner.parameters.get('model')} model of {learner.dim:,} features; {what}; {out}")


def _given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def named_columns(text: str | None) -> dict[str, str] | None:
    """Columns by role, from "first=one,second=two".

    >>> named_columns("first=Answer 1,second=Answer 2")
    {'first': 'Answer 1', 'second': 'Answer 2'}
    """
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(role.strip() and equals and name.strip() for role, equals, name in pairs):
        raise ValueError(f"--columns must be role=name, separated by commas, got {text!r}")
    return {role.strip(): name.strip() for role, _, name in pairs}
