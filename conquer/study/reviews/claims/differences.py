"""Why a claim holds under one reading and not under another: sentences made of what was measured under both."""

from collections.abc import Mapping
from typing import Any

from conquer.study.reviews.claims.facts import Claim, Facts


def why(views: Mapping[str, Claim], facts: Mapping[str, Facts]) -> str:
    """One or two sentences about the first reading and every other whose verdict differs; or that all agree."""
    first = next(iter(views))
    others = [name for name in views if views[name].verdict != views[first].verdict]
    if not others:
        return "The readings agree."
    words = [_between(first, other, views[first].about, facts) for other in others]
    hinges = [f"{name}: {claim.turns_on}" for name, claim in views.items() if claim.turns_on]
    return " ".join([*words, *([f"{'; '.join(hinges)}."] if hinges else [])])


def _between(first: str, other: str, about: tuple[str, ...], facts: Mapping[str, Facts]) -> str:
    """Whose error changes most among those the claim speaks of, and why where one item at a time is learnt from."""
    one, two = facts[first], facts[other]
    moves = {name: two.mean[name] - one.mean[name] for name in (about or one.names) if one.has(name) and two.has(name)}
    if not moves:
        return f"{first} and {other} have no algorithm of this claim in common."
    most = max(moves, key=lambda name: abs(moves[name]))
    rest = [value for name, value in moves.items() if name != most]
    ends = dict.fromkeys(f"{value:+.3f}" for value in (min(rest), max(rest))) if rest else {}
    beside = f"; the others change by {' to '.join(ends)}" if ends else ""
    words = f"From {first} to {other} {most} changes most, {one.mean[most]:.3f} to {two.mean[most]:.3f}{beside}."
    reason = counting_words(first, other, "confidit", one, two) if "confidit" in about and "confidit" in moves else ""
    return f"{words} {reason}".strip()


def counting_words(first: str, other: str, name: str, one: Facts, two: Facts) -> str:
    """What lengths have to do with an algorithm's errors under two readings; nothing where they do not explain them."""
    rows = {reading: _measured(facts, name) for reading, facts in ((first, one), (other, two))}
    if any(row["length_correlation"] is None or row["mean_answer"] is None for row in rows.values()):
        return ""
    worse = first if one.mean[name] > two.mean[name] else other
    better = other if worse == first else first
    far, near = rows[worse], rows[better]
    if abs(far["length_correlation"]) <= abs(near["length_correlation"]):
        return ""
    words = (
        f"Under {worse} {name}'s score goes with the number of features of a row (correlation "
        f"{far['length_correlation']:+.2f}), under {better} less so ({near['length_correlation']:+.2f}); the mean of "
        f"its answers is {far['mean_answer']:+.2f}"
    )
    if far["centred_error"] is None:
        return f"{words}."
    error = (one if worse == first else two).mean[name]
    return (
        f"{words}, which each feature, regressed alone, learns anew: with that mean taken out of the same answers the "
        f"error under {worse} is {far['centred_error']:.3f} instead of {error:.3f}."
    )


def _measured(facts: Facts, name: str) -> dict[str, Any]:
    import polars as pl

    columns = ("length_correlation", "mean_answer", "centred_error")
    part = facts.results.filter(pl.col("algorithm") == name)
    return dict(part.select(pl.col(column).mean() for column in columns).row(0, named=True))
