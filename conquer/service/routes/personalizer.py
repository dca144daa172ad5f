"""Rank and reward in the shape of Azure Personalizer's API, so that its clients can point here."""

import hashlib
import re
import secrets
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta

from conquer.service.commands import answering, choosing
from conquer.service.commands.creation import create
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.http.messages import Reply, encode
from conquer.service.http.routing import Call, Endpoint
from conquer.service.http.schemas import (
    LARGEST,
    AnswerReply,
    AnswerRequest,
    ChooseRequest,
    EventId,
    FeatureSettings,
    ModelSettings,
    Raw,
    Value,
    is_model_name,
)
from conquer.service.log.transaction import Turn
from conquer.service.settings import Limits
from conquer.tickets import REWARD, Draws

_DEPTH = 8
_PLAIN = re.compile(r"[^\x00-\x1f\x7f/?#\\%]{1,200}")
"""Ids that items may have as they are; a percent sign would make two actions one."""
_DEFAULT = "personalizer"
DEFAULTS = ModelSettings(
    algorithm="confidit",
    parameters={"eta": 1.0, "lam": 0.3, "explore": 0.03},
    features=FeatureSettings(dim=1 << 18),
    window_seconds=600.0,
    default_answer=-1.0,
)
"""One item is shown; a reward that does not come within ten minutes counts as none, as there.

A small share of rounds is drawn at random, so that every action has a probability by which other policies can be
judged. eta and lam: of nine pairs tried on a simulated menu the first that was right in every round after 200.
"""


class Action(msgspec.Struct):
    id: Annotated[str, Meta(min_length=1, max_length=2000)]
    features: list[dict[str, Any]] = []


class RankRequest(msgspec.Struct, rename="camel"):
    actions: Annotated[list[Action], Meta(min_length=1, max_length=1000)]
    context_features: list[dict[str, Any]] = []
    excluded_actions: list[str] = []
    event_id: EventId | None = None
    defer_activation: bool = False


class Ranked(msgspec.Struct):
    id: str
    probability: float


class RankReply(msgspec.Struct, rename="camel"):
    ranking: list[Ranked]
    event_id: str
    reward_action_id: str


class RewardRequest(msgspec.Struct):
    value: Annotated[float, Meta(ge=0, le=1)]


async def rank(call: Call) -> RankReply:
    """The action to show, first in the ranking; the same event id gets the same reply again."""
    request: RankRequest = call.body
    excluded = set(request.excluded_actions)
    open_ = [action for action in request.actions if action.id not in excluded]
    if not open_:
        raise invalid("every action is excluded")
    room = _Room(call.server.settings.limits)
    actions = {_item_id(action.id): action.id for action in open_}
    # What an action is called is a feature as well: two with the same features need not be liked the same.
    items = [
        {"id": item, "features": {"id": action.id} | _flat(action.features, room)}
        for item, action in zip(map(_item_id, (action.id for action in open_)), open_, strict=True)
    ]
    context = _flat(request.context_features, room)
    event_id = request.event_id or secrets.token_hex(16)
    choose = ChooseRequest(
        items=Raw(encode(items)),
        context=Raw(encode(context or None)),
        event_id=event_id,
        deferred=request.defer_activation,
    )
    reply = await _on_model(call, lambda turn: choosing.choose(turn, choose), event_id, first=True)
    call.server.meters.choice(call.model, reply.query)
    if len(reply.shown) != 1:
        raise conflict("not_single", "this model shows two items: use /v1/models/NAME/choose")
    best = actions[reply.shown[0].id]
    chance = 1.0 if reply.chance is None else reply.chance
    others = [action.id for action in request.actions if action.id != best]
    share = (1 - chance) / max(1, len(open_) - 1)
    ranking = [Ranked(best, chance), *(Ranked(one, 0.0 if one in excluded else share) for one in others)]
    return RankReply(ranking, event_id, best)


async def reward(call: Call) -> Reply:
    """How well it went, in [0, 1]: learnt as a yes with that chance, by the coin of the event's own ticket.

    The first reward counts. Sent again it changes nothing; one that the coin makes another answer of is a conflict.
    """
    event_id, value = call.path["event_id"], call.body.value

    def work(turn: Turn) -> AnswerReply:
        event = turn.known(event_id)
        if event.answers and (event.voter or "") not in event.answers:
            raise conflict("answered", f"event {event_id!r} already has an answer")
        winner = event.shown[0] if Draws(event.choice.ticket).uniform(REWARD) < value else "both_bad"
        return answering.answer(turn, event_id, AnswerRequest(winner))

    reply = await _on_model(call, work, event_id)
    call.server.meters.answer(call.model, reply)
    return Reply(status=204)


async def activate_rank(call: Call) -> Reply:
    event_id = call.path["event_id"]
    await _on_model(call, lambda turn: choosing.activate(turn, event_id), event_id)
    return Reply(status=204)


async def _on_model(call: Call, work: Any, event_id: str, first: bool = False) -> Any:
    """Run on the model of the query (`?model=`). `first`: the default one is made if it is not there yet."""
    name = call.query.get("model", _DEFAULT)
    if not is_model_name(name):
        raise invalid(f"{name[:80]!r} cannot be a model's name")
    if not (call.key.may("choose", name) or call.key.may("answer", name)):
        raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not use the model {name!r}")
    call.path["name"] = name
    try:
        return await call.on_model(work, (event_id,))
    except RefusalError as refusal:
        if refusal.code != "unknown_model" or name != _DEFAULT or not first:
            raise
    limit = call.server.settings.limits.models
    try:
        await call.server.writer.call(None, lambda connection: create(connection, name, DEFAULTS, limit))
    except RefusalError as refusal:
        if refusal.code != "model_exists":
            raise
    return await call.on_model(work, (event_id,))


def _item_id(action: str) -> str:
    """The item's id for an action, which may be a URL: as it is, spelt with percent signs, or by its digest.

    >>> _item_id("pasta"), _item_id("a/b?c")
    ('pasta', 'a%2Fb%3Fc')
    """
    if _PLAIN.fullmatch(action):
        return action
    spelt = quote(action, safe="")
    return spelt if len(spelt) <= 200 else f"sha256-{hashlib.sha256(action.encode()).hexdigest()}"


class _Room:
    """What a request's names may still take: one long key over many values makes far more of them than was sent."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.characters = limits, limits.body_bytes

    def name(self, above: str, key: Any) -> str:
        key = str(key)
        self.characters -= len(above) + len(key) + 1
        if self.characters < 0:
            raise invalid(f"the names of all features have at most {self.limits.body_bytes} characters, spelt out")
        return f"{above}.{key}" if above else key


def _flat(parts: list[dict[str, Any]], room: _Room) -> dict[str, Value]:
    """Nested feature objects as one flat dict with dotted names.

    >>> _flat([{"taste": {"sweet": True, "grams": 3}}, {"tags": ["a"]}], _Room(Limits()))
    {'taste.sweet': True, 'taste.grams': 0.75, 'tags.0': 'a'}
    """
    found: dict[str, Value] = {}
    for part in parts:
        for name, value in _walk("", part, 0, room):
            found[name] = value
            if len(found) > room.limits.features:
                raise invalid(f"an action or context has at most {room.limits.features} features, spelt out")
    return found


def _walk(name: str, value: Any, depth: int, room: _Room) -> Iterator[tuple[str, Value]]:
    if depth > _DEPTH:
        raise invalid(f"features are nested deeper than {_DEPTH}")
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _walk(room.name(name, key), inner, depth + 1, room)
    elif isinstance(value, bool | str):
        yield name, value
    elif value is not None:
        if not -LARGEST <= value <= LARGEST:
            raise invalid(f"feature {name[:80]!r} must be a number in [-{LARGEST:g}, {LARGEST:g}]")
        # Rows have length 1, and a number of any size would leave the words beside it next to nothing of that.
        yield name, float(value) / (1.0 + abs(float(value)))


_ROOT = "/personalizer/v1.0"
_RANK = {
    "contextFeatures": [{"timeOfDay": "morning"}],
    "actions": [{"id": "pasta", "features": [{"taste": "salty"}]}, {"id": "cake", "features": [{"taste": "sweet"}]}],
    "eventId": "visit-18",
}
ENDPOINTS = (
    Endpoint(
        "POST", f"{_ROOT}/rank", "choose", "Personalizer: choose one action", rank, RankRequest, RankReply, status=201,
        query=("model",), example=_RANK,
    ),
    Endpoint(
        "POST", f"{_ROOT}/events/{{event_id}}/reward", "answer", "Personalizer: reward an event", reward, RewardRequest,
        status=204, query=("model",), answers=True, example={"value": 1.0},
    ),
    Endpoint(
        "POST", f"{_ROOT}/events/{{event_id}}/activate", "choose", "Personalizer: activate an event", activate_rank,
        status=204, query=("model",),
    ),
)  # fmt: skip
