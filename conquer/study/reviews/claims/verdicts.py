"""Every claim about the paper's study, in the paper's order, under one reading or side by side under several."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conquer.study.cells.output import markdown
from conquer.study.reviews.claims import advantage, agreement, ranking, silence
from conquer.study.reviews.claims.differences import why
from conquer.study.reviews.claims.facts import Claim, Facts

_CLAIMS = (
    advantage.abstract,
    ranking.banditron,
    ranking.order,
    advantage.relative,
    advantage.bounds,
    ranking.degrading,
    ranking.ucb_first,
    silence.does_not_hurt,
    agreement.online,
    agreement.averages,
    silence.passes,
    ranking.random,
    ranking.ceiling,
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim under every reading it could be tried under, and why the verdicts differ where they do."""

    claim: str
    views: dict[str, Claim]
    why: str


def judge(results: Any) -> list[Claim]:
    """Every claim that can be tried on these results of one reading."""
    return [claim for found in compared({"": results}) for claim in found.views.values()]


def compared(results: Mapping[str, Any]) -> list[Compared]:
    """Every claim that can be tried, from {reading: its results}."""
    facts = {reading: Facts(frame) for reading, frame in results.items()}
    found = []
    for rule in _CLAIMS:
        views = {reading: claim for reading, each in facts.items() if (claim := rule(each)) is not None}
        if views:
            found.append(Compared(next(iter(views.values())).claim, views, why(views, facts)))
    return found


def table(claims: list[Compared]) -> str:
    """The claims as Markdown: a table of verdicts with a column for each reading, below it the numbers."""
    import polars as pl

    readings = [*dict.fromkeys(reading for each in claims for reading in each.views)]
    if len(readings) == 1:
        single = [each.views[readings[0]] for each in claims]
        rows = [{"claim": each.claim, "here": each.verdict, "numbers": each.evidence} for each in single]
        return markdown(pl.DataFrame(rows))
    rows = [
        {"claim": each.claim}
        | {reading: each.views[reading].verdict if reading in each.views else "" for reading in readings}
        | {"why they differ": each.why}
        for each in claims
    ]
    lines = [markdown(pl.DataFrame(rows))]
    for each in claims:
        lines.append(f"**{each.claim}**\n")
        lines += [f"- {reading}: {claim.verdict}. {claim.evidence}" for reading, claim in each.views.items()]
        lines.append("")
    return "\n".join(lines)
