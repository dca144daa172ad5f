"""`conquer board`: a saved model's board of items, as a table or as JSON."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer


def board(
    model: Annotated[Path, typer.Argument(help="A file of a learner or a session.")],
    items: Annotated[Path | None, typer.Argument(help="A file of items, as for `fit`, or of known ids.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    delta: Annotated[float | None, typer.Option(help="The chance at which the board may err. [0.05]")] = None,
    interval: Annotated[str | None, typer.Option(help="anytime, proved or fixed. [anytime]")] = None,
    tau2: Annotated[
        float | None, typer.Option(help="A constant of `anytime`, chosen before the answers. [0.25]")
    ] = None,
    U: Annotated[float | None, typer.Option("--U", help="A bound on the length of the true weights.")] = None,
    stop: Annotated[float | None, typer.Option(help="Say whether one may stop at this tolerance.")] = None,
    groups: Annotated[str | None, typer.Option(help="A column of ITEMS: a board of its groups' means.")] = None,
) -> None:
    """Who wins among items, how sure that is, and whether one may stop asking.

    What is not given is as the session has it.
    """
    from conquer.data.items import listed_items
    from conquer.session import Session, load

    found = load(model)
    session = found if isinstance(found, Session) else Session(found)
    if items is None and groups is not None:
        raise ValueError("--groups names a column of the file of items: give that file as well")
    known = session.known
    closed = known is not None and known.closed
    listed: Any = None
    grouped = None
    if items is not None:
        listed, grouped = listed_items(items, groups, known=known is not None, closed=closed)
    asked = {"delta": delta, "interval": interval, "tau2": tau2, "U": U}
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    made = session.board(listed, groups=grouped, **options)
    verdict = None if stop is None else made.stop(stop)
    if as_json:
        _say(json.dumps(_as_object(made, verdict), ensure_ascii=False))
        return
    _say(f"{made!r}")
    if made.interval == "proved" and made.answers and not made.better.any():
        _say("`proved` tells no pairs apart where votes were summed: `conquer fit --one-by-one` learns so that it can")
    if verdict is not None:
        _say(verdict.text)


def _say(text: str) -> None:
    r"""Print it; half a character, which no file may hold, as \ud83d, which JSON reads back."""
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _as_object(made: Any, verdict: Any) -> dict[str, Any]:
    """The board as JSON takes it: an end that is infinite is null."""
    beats, maybe = made.better.sum(axis=1), set(made.best.tolist())
    rows = [
        {
            "rank": rank,
            "id": made.name(k),
            "score": float(made.scores[k]),
            "low": _finite(made.low[k]),
            "high": _finite(made.high[k]),
            "beats": int(beats[k]),
            "may_be_best": k in maybe,
            "more": _finite(made.more[rank - 1]) if rank < len(made) else None,
        }
        for rank, k in enumerate(made.order.tolist(), 1)
    ]
    whole = {"answers": made.answers, "interval": made.interval, "delta": made.delta, "items": rows}
    if verdict is None:
        return whole
    more = {"done": verdict.done, "leader": made.name(verdict.leader), "tolerance": verdict.tolerance}
    return whole | {"stop": more | {"more": _finite(verdict.more), "text": verdict.text}}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
