"""Every claim about the paper's study, in the paper's order."""

from typing import Any

from conquer.study.cells.output import markdown
from conquer.study.reviews.claims import agreement, ranking, silence
from conquer.study.reviews.claims.facts import Claim, Facts

_CLAIMS = (
    ranking.banditron,
    ranking.order,
    ranking.relative,
    ranking.degrading,
    ranking.ucb_first,
    silence.does_not_hurt,
    agreement.online,
    agreement.averages,
    silence.passes,
    ranking.random,
    ranking.ceiling,
)


def judge(results: Any) -> list[Claim]:
    """Every claim that can be tried on these results."""
    facts = Facts(results)
    return [claim for rule in _CLAIMS if (claim := rule(facts)) is not None]


def table(claims: list[Claim]) -> str:
    """The claims as a Markdown table."""
    import polars as pl

    rows = [{"claim": each.claim, "here": each.verdict, "numbers": each.evidence} for each in claims]
    return markdown(pl.DataFrame(rows))
