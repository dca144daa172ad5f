"""A study small enough to be run many times over in a test."""

from typing import Any

from conquer.study.reviews.spec import Spec


def tiny(**changes: Any) -> Spec:
    """Two domains of a hundred or two reviews, three algorithms, two repetitions."""
    fields: dict[str, Any] = {
        "domains": ("android", "clothing"), "reviews": 8_250, "items": (3, 4), "repetitions": 2, "test_sets": 60,
        "algorithms": ("ttg", "gnc", "banditron", "random"),
    }  # fmt: skip
    return Spec(**(fields | changes))


def numbers(frame: Any) -> list[dict[str, Any]]:
    """The rows without what a clock gave."""
    return list(frame.drop("seconds", strict=False).to_dicts())
