"""A model's own items, uploaded in groups: questions are drawn from them."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from conquer.service.engine.turn import Turn
from conquer.service.model.schemas import Group
from conquer.service.store import items as pool_table
from conquer.service.store.schema import models


def add_groups(connection: Connection, model: int, groups: Sequence[Group]) -> int:
    """Store the groups of a new model; returns their number of items."""
    rows = list(pool_table.rows_of(groups))
    pool_table.write(connection, model, 0, rows)
    pool_table.show(connection, model, len(rows))
    return sum(len(group.items) for group in groups)


def groups_of(turn: Turn) -> list[Group]:
    """The model's groups, kept in memory; groups that another server has added are read first."""
    state = turn.state
    if state.pooled < turn.pooled:
        pool_table.read_into(turn.connection, state.id, state.pool, state.pooled, turn.pooled)
        state.hold_pool(turn.pooled)
    return state.pool


def read_pool(connection: Connection, model: int) -> list[Group]:
    """A model's groups, from the store."""
    pool: list[Group] = []
    pooled = connection.execute(select(models.c.pooled).where(models.c.id == model)).scalar()
    pool_table.read_into(connection, model, pool, 0, pooled or 0)
    return pool
