"""The commands of votes: fit and board."""

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer

from conquer.cli.extras import need
from conquer.cli.progress import showing


def fit(
    votes: Annotated[
        list[Path], typer.Argument(help="Files of votes: CSV, TSV, JSON lines, JSON, Parquet, PrefLib, a ledger.")
    ],
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    items: Annotated[Path | None, typer.Option(help="A file of the items behind the ids.")] = None,
    algorithm: Annotated[str, typer.Option(help="The algorithm; see: conquer algorithms.")] = "gnr",
    model: Annotated[
        str | None, typer.Option(help="full, diagonal or kernel. Not given: full up to 2,048 features or 5,000 ids.")
    ] = None,
    lam: Annotated[
        str | None, typer.Option(help="The regularisation of the weights: a number, or auto for the best predictor.")
    ] = None,
    update: Annotated[str | None, typer.Option(help="Of a diagonal model: implicit, margin or coordinate.")] = None,
    dim: Annotated[int | None, typer.Option(help="Columns of texts and dicts. Not given: 2**20.")] = None,
    content: Annotated[
        str | None, typer.Option(help="What items are if files do not show it: ids, texts, dicts or vectors.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="first=NAME,second=NAME,winner=NAME,... or winner=NAME,loser=NAME,...; question=ID+TURN."),
    ] = None,
    kind: Annotated[str, typer.Option(help="Kind of voter when no column has it: person or judge.")] = "person",
    both_bad: Annotated[str, typer.Option(help="How to count 'both are bad': skip or tie.")] = "skip",
    context: Annotated[bool, typer.Option(help="Cross every vote's context with its two items.")] = False,
    contradictions: Annotated[
        bool, typer.Option(help="Count two answers of one voter to one question as two votes.")
    ] = False,
    strict: Annotated[
        bool, typer.Option(help="Stop at the first bad row instead of skipping and listing bad rows.")
    ] = True,
    design: Annotated[
        Literal["adaptive", "fixed"],
        typer.Option(help="fixed: the pairs were chosen without looking at answers, so boards are narrower."),
    ] = "adaptive",
    seed: Annotated[int, typer.Option(help="Seed for the session's choices.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes for files, or parts of large ones.")] = 1,
    one_by_one: Annotated[
        bool,
        typer.Option(
            "--one-by-one", help="Learn vote by vote instead of adding sums up: the same weights, up to rounding."
        ),
    ] = False,
    most: Annotated[int | None, typer.Option(help="Keep the votes among this many ids, those in most votes.")] = None,
    style: Annotated[
        str | None,
        typer.Option(help="What explains votes and never enters scores: side,length,lists,COLUMN or COLUMN/COLUMN."),
    ] = None,
    believe: Annotated[
        str | None, typer.Option(help="voters: weigh each voter by the others' answers; people: judges by people's.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler that sums parts.")] = None,
) -> None:
    """Learn from a file of votes and write a model."""
    if cluster:
        need("cluster")
    if not out.parent.is_dir() or out.is_dir():
        raise ValueError(f"--out must be a file in an existing folder, got {out}")
    if out.exists() and any(path.exists() and path.samefile(out) for path in (*votes, *([items] if items else ()))):
        raise ValueError(f"--out would overwrite {out}, which is read")
    from conquer.data.votes import VoteTally
    from conquer.fitting.warm_start import fit as learn
    from conquer.session import save

    named = None if style is None else style.split(",")
    started, tally = perf_counter(), VoteTally()
    options: dict[str, Any] = {"model": model, "content": content, "kind": kind, "both_bad": both_bad}
    options |= {
        name: value
        for name, value in (("lam", _number_or_auto(lam)), ("update", update), ("believe", believe))
        if value is not None
    }
    with showing("reading votes") as progress:
        session = learn(
            votes, items, algorithm=algorithm, dim=dim, columns=named_columns(columns), context=context,
            contradictions=contradictions, strict=strict, seed=seed, jobs=jobs, cluster=cluster,
            one_by_one=one_by_one, design=design, most=most, style=named, tally=tally, progress=progress, **options,
        )  # fmt: skip
        save(session, out)
    for note in tally.notes:
        typer.echo(f"read {note}", err=True)
    for problem in tally.problems:
        typer.echo(f"refused: {problem}", err=True)
    for name, (weight, deviation) in session.style.items():
        typer.echo(f"style {name}: {weight:+.3f} in the answer, standard deviation {deviation:.3f}")
    learner, catalog = session.learner, session.catalog
    if lam == "auto":
        level = session.board_settings.delta
        typer.echo(f"lam = {learner.parameters['lam']:g} predicts each vote best; boards have delta = {level:.2g}")
    if hasattr(learner, "voters"):
        everyone = learner.voters()
        typer.echo(f"{len(everyone):,} voters, {sum(voter.doubtful for voter in everyone):,} of them doubtful")
    listed = "too many items to list" if catalog is None else f"{len(catalog):,} items"
    typer.echo(f"{tally} in {perf_counter() - started:.1f} s")
    typer.echo(
        f"{learner.name} with the {learner.parameters.get('model')} model of {learner.dim:,} features; {listed}; {out}"
    )


def _number_or_auto(lam: str | None) -> float | str | None:
    try:
        return lam if lam in (None, "auto") else float(lam)
    except ValueError:
        raise ValueError(f"--lam must be a number or auto, got {lam!r}") from None


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


def board(
    model: Annotated[Path, typer.Argument(help="A file of a learner or a session.")],
    items: Annotated[Path | None, typer.Argument(help="A file of items, as for `fit`, or of known ids.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    delta: Annotated[float | None, typer.Option(help="The probability of a false claim. [0.05]")] = None,
    interval: Annotated[str | None, typer.Option(help="proved, anytime or fixed. [proved]")] = None,
    tau2: Annotated[
        float | None, typer.Option(help="A constant of `anytime`, chosen before the answers. [0.25]")
    ] = None,
    U: Annotated[float | None, typer.Option("--U", help="A bound on the length of the true weights.")] = None,
    stop: Annotated[float | None, typer.Option(help="Report whether asking may stop at this tolerance.")] = None,
    groups: Annotated[str | None, typer.Option(help="A column of ITEMS: a board of its groups' means.")] = None,
    style: Annotated[bool, typer.Option(help="Without it: as if fitted without --style.")] = True,
    votes: Annotated[list[Path] | None, typer.Option(help="The votes between ids that MODEL was fitted on.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of VOTES, as for `fit`.")] = None,
    both_bad: Annotated[str, typer.Option(help="As for `fit`.")] = "skip",
    fragile: Annotated[
        bool, typer.Option("--fragile", help="How few of VOTES hold the order up, and its reliability.")
    ] = False,
    why: Annotated[
        list[str] | None, typer.Option(help="Twice, for two items: what in VOTES makes their difference.")
    ] = None,
) -> None:
    """Rank items with intervals, and report whether asking may stop.

    Options that are not given come from the session.
    """
    from conquer.data.items import listed_items
    from conquer.session import Session, load

    found = load(model)
    session = found if isinstance(found, Session) else Session(found)
    if not style:
        from conquer.fitting.style import without_style

        session = without_style(session)
    if items is None and groups is not None:
        raise ValueError("--groups names a column of the file of items: give that file as well")
    known = session.catalog
    closed = known is not None and known.ids_only
    listed: Any = None
    grouped = None
    if items is not None:
        listed, grouped = listed_items(items, groups, known=known is not None, closed=closed)
    asked = {"delta": delta, "interval": interval, "tau2": tau2, "U": U}
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if (fragile or why) and not votes:
        raise ValueError("--fragile and --why need the votes: give them as --votes")
    if why and len(why) != 2:
        raise ValueError(f"--why is given twice, for two items, got {why}")
    if votes:
        from conquer.fitting.warm_start import attach

        attach(session, votes, columns=named_columns(columns), both_bad=both_bad)
    made = session.board(listed, groups=grouped, **options)
    verdict = None if stop is None else made.stop(stop)
    found = made.fragile() if fragile else None
    reasons = made.why(*why) if why else None
    if as_json:
        more = {"fragile": found and asdict(found), "why": reasons and asdict(reasons)}
        whole = _as_object(made, verdict) | {name: value for name, value in more.items() if value}
        _say(json.dumps(whole, ensure_ascii=False))
        return
    _say(f"{made!r}")
    if found is not None:
        _say(found.text)
        if len(made) > 2:
            panel = made.reliability()
            _say(f"agreement with a fresh panel: {panel.value:.2f} ({panel.low:.2f} to {panel.high:.2f})")
    if why and reasons is not None:
        _say(f"{why[0]} less {why[1]}: {reasons.gap:+.3f}, of which")
        for first, second, value, count, share in reasons.votes[:_REASONS]:
            said = "=" if value == 0 else ">" if value > 0 else "<"
            _say(f"  {share:+.3f}  {count:,} votes {first} {said} {second}")
        for name, share in reasons.voters[:_REASONS] if len(reasons.voters) > 1 else ():
            _say(f"  {share:+.3f}  voter {'without a name' if name is None else name}")
    if verdict is not None:
        _say(verdict.text)


_REASONS = 5
"""Votes and voters of a difference that are printed."""


def _say(text: str) -> None:
    r"""Print a text; a lone surrogate is escaped, as \ud83d, which JSON reads back."""
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _as_object(made: Any, verdict: Any) -> dict[str, Any]:
    """The board as JSON; infinite ends are null."""
    from conquer.boards.board import finite

    whole = {"answers": made.answers, "interval": made.interval, "delta": made.delta, "items": made.rows()}
    whole |= {"fit_p": made.fit_p, "warnings": list(made.warnings)}
    if verdict is None:
        return whole
    more = {"done": verdict.done, "leader": made.name(verdict.leader), "tolerance": verdict.tolerance}
    return whole | {"stop": more | {"more": finite(verdict.more), "text": verdict.text}}
