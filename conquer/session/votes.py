"""The votes behind a session's boards: those of its ledger, or of the fit that made it."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from conquer.boards.fragility import Support, VoteTable
from conquer.models.full import Full
from conquer.rows import SparseRows, stack
from conquer.session.ledger import choice_of
from conquer.types import Learner, Query


def support_of(learner: Learner, rows: SparseRows, table: VoteTable) -> Support:
    """A learner's model beside its votes, for a board of these rows."""
    model = getattr(learner, "model", None)
    if type(model) is not Full or model.dim != rows.dim:
        raise ValueError("only a full model without believe= shows what each of its votes did")
    return Support(model.inverse, model.w, rows, table)


def ledger_table(ledger: Iterable[Mapping[str, Any]]) -> VoteTable:
    """The answers of a session's ledger to questions about two items."""
    asked: dict[str, Mapping[str, Any]] = {}
    rows: list[SparseRows] = []
    items: list[Any] = []
    values: list[float] = []
    voters: list[int] = []
    names: dict[str, int] = {}
    for row in ledger:
        if row["kind"] == "ask":
            asked[row["id"]] = row
        elif row["kind"] == "tell" and row["answer"] is not None:
            question = asked.pop(row["id"])
            choice = choice_of(question)
            if choice.query != Query.DUEL:
                continue
            rows.append(question["rows"].take(list(choice.shown)))
            listed = question.get("items") or range(len(question["rows"]))
            items += [listed[k] for k in choice.shown]
            values.append(float(row["answer"]))
            voter = row.get("voter")
            voters.append(-1 if voter is None else names.setdefault(voter, len(names)))
    if not rows:
        raise ValueError("the ledger has no answers yet")
    count = np.arange(len(values))
    ones = np.ones(len(values))
    return VoteTable(
        2 * count, 2 * count + 1, np.array(values), ones, ones.astype(np.int64), np.array(voters), tuple(names),
        stack(rows), items,
    )  # fmt: skip
