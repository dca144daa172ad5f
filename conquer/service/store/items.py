"""Uploaded items: groups cut into rows of a bounded size, written in slices and shown all at once."""

import logging
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from conquer.service.model.schemas import Group
from conquer.service.store.schema import items, models

_ITEMS = 500
"""Items in one row: none takes long to read or to write, however large the group is."""
_json = msgspec.json.Encoder().encode
logger = logging.getLogger(__name__)


class StoredGroup(Group):
    """A row: a group, or (`goes_on`) more items of the group in the row before."""

    goes_on: bool = False


_row = msgspec.json.Decoder(StoredGroup).decode


def rows_of(groups: Iterable[Group]) -> Iterator[str]:
    """The texts of the rows that these groups take."""
    for group in groups:
        for start in range(0, max(1, len(group.items)), _ITEMS):
            part = group.items[start : start + _ITEMS]
            yield _json(StoredGroup(part, group.context if start == 0 else None, start > 0)).decode()


def claim(connection: Connection, model: int, upload: str) -> None:
    """Let this upload alone write rows and show them; earlier ones are refused from now on."""
    connection.execute(update(models).where(models.c.id == model).values(upload=upload))


def claimed(connection: Connection, model: int) -> str | None:
    """The upload that began last."""
    upload: str | None = connection.execute(select(models.c.upload).where(models.c.id == model)).scalar()
    return upload


def write(connection: Connection, model: int, first: int, rows: Sequence[str]) -> None:
    """Store rows from number `first` on, in place of any there; they are not used before `show`."""
    connection.execute(delete(items).where(items.c.model_id == model, items.c.number >= first))
    values = [{"model_id": model, "number": number, "body": body} for number, body in enumerate(rows, first)]
    if values:
        connection.execute(insert(items), values)


def show(connection: Connection, model: int, pooled: int) -> None:
    """Draw questions from the first `pooled` rows."""
    connection.execute(update(models).where(models.c.id == model).values(pooled=pooled))


def clear(connection: Connection, model: int, pooled: int, most: int) -> bool:
    """Remove some rows of an upload that was never shown; True when there may be more."""
    beyond = select(items.c.number).where(items.c.model_id == model, items.c.number >= pooled).limit(most)
    numbers = [row.number for row in connection.execute(beyond)]
    connection.execute(delete(items).where(items.c.model_id == model, items.c.number.in_(numbers)))
    return len(numbers) == most


def read_into(connection: Connection, model: int, pool: list[Group], first: int, end: int) -> None:
    """Add what rows `first` to `end` hold to the groups of the rows before; a row that cannot be read adds nothing."""
    found = connection.execute(
        select(items.c.number, items.c.body)
        .where(items.c.model_id == model, items.c.number >= first, items.c.number < end)
        .order_by(items.c.number)
    )
    for row in found:
        try:
            group = _row(row.body)
        except msgspec.DecodeError:
            logger.exception("row %d of the items of model %d cannot be read", row.number, model)
            continue
        if group.goes_on and pool:
            pool[-1].items.extend(group.items)
        else:
            pool.append(Group(group.items, group.context))
