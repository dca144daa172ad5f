"""The command of off-policy evaluation: evaluate."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

_FEW = 0.1
"""Share of effective rounds below which the estimate rests on few answers."""


def evaluate(
    ledger: Annotated[Path, typer.Argument(help="A service's ledger: GET /v1/models/NAME/log?format=ledger.")],
    algorithm: Annotated[str, typer.Option(help="The algorithm to evaluate; see: conquer algorithms.")] = "gnr",
    parameters: Annotated[str | None, typer.Option(help="Its parameters as JSON, such as '{\"eta\": 0.3}'.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Evaluate this model instead, as it is, on all rounds; it must not have learnt them."),
    ] = None,
    learn: Annotated[float, typer.Option(help="Share of the rounds, the first ones, that the algorithm learns.")] = 0.5,
    explored: Annotated[
        bool, typer.Option("--explored", help="Only rounds with a pair drawn by explore=: for rules without chances.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the algorithm's own draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Estimate from a log how often another algorithm's first item would have won.

    The log must show every pair that the algorithm would, with a known chance: make the model with explore=0.05.
    """
    from conquer.offpolicy import METHODS, compare_with_log, read_log, taught
    from conquer.offpolicy import evaluate as estimate
    from conquer.registry import make
    from conquer.session import load

    if not 0 <= learn < 1:
        raise ValueError(f"--learn must be in [0, 1), got {learn}")
    log = read_log(ledger, explored=explored)
    if model is not None:
        target, first = getattr(found := load(model), "learner", found), 0
    else:
        first = int(learn * len(log))
        given = {} if parameters is None else _parsed(parameters)
        target = taught(make(algorithm, dim=log[0].rows.dim, **given), log[:first])
    rest = log[first:]
    own = sum(entry.outcome for entry in rest) / len(rest)
    found = {method: estimate(rest, target, method=method, seed=seed) for method in METHODS}
    gap = compare_with_log(rest, target, seed=seed)
    effective = gap.effective / len(rest)
    if as_json:
        rows = {name: asdict(one) for name, one in found.items()}
        typer.echo(json.dumps({"learnt": first, "rounds": len(rest), "logged": own, **rows, "gain": asdict(gap)}))
        return
    typer.echo(f"{len(log):,} answered rounds with a known chance; {first:,} learnt, {len(rest):,} evaluated")
    typer.echo(f"logged      first item wins {50 + 50 * own:5.1f} %")
    for name, one in found.items():
        low, high = 50 + 50 * one.low, 50 + 50 * one.high
        typer.echo(f"{name:11} first item wins {50 + 50 * one.value:5.1f} %  [{low:.1f}, {high:.1f}]")
    points = [50 * value for value in (gap.value, gap.low, gap.high)]
    typer.echo(f"gain        {points[0]:+.1f} points [{points[1]:+.1f}, {points[2]:+.1f}], by round")
    typer.echo(f"{gap.used:,} rounds match, worth {gap.effective:,.0f} of equal weight")
    if effective < _FEW:
        typer.echo(
            f"warning: {100 * effective:.1f} % of the rounds carry the estimate; log more with explore=", err=True
        )


def _parsed(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ValueError(f"--parameters must be JSON, got {text!r} ({error})") from None
    if not isinstance(given, dict):
        raise ValueError(f"--parameters must be a JSON object, got {text!r}")
    return given
