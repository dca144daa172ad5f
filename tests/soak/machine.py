"""Calls that schemathesis makes up from the OpenAPI document: one by one, and as a state machine along its links."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import FlakyStrategyDefinition

from .traffic import KEEPERS

Note = Callable[[int, bytes], None]
_NAME = {"name": "$request.path.name"}


def linked(document: dict[str, Any]) -> dict[str, Any]:
    """The document with links from what makes a model or an event to what can be done with it."""
    document = copy.deepcopy(document)
    paths = document["paths"]
    event = {**_NAME, "event_id": "$response.body#/event_id"}
    for path, operations in paths.items():
        for operation in operations.values():
            target = operation["operationId"]
            if path.startswith("/v1/models/{name}/events/{event_id}"):
                source = paths["/v1/models/{name}/choose"]["post"]["responses"]["200"]
                source.setdefault("links", {})[target] = {"operationId": target, "parameters": event}
            elif path.startswith("/v1/models/{name}"):
                source = paths["/v1/models"]["post"]["responses"]["201"]
                parameters = {"name": "$response.body#/name"}
                source.setdefault("links", {})[target] = {"operationId": target, "parameters": parameters}
    return document


def _options(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def spare(case: Any) -> None:
    """Names come from replies too: the models to keep are not deleted."""
    if case.method == "DELETE" and (case.path_parameters or {}).get("name") in KEEPERS:
        case.path_parameters["name"] = "spare"


def _raw(case: Any) -> bytes:
    """The call as a line that can be run."""
    return str(case.as_curl_command()).encode("utf-8", "surrogateescape")


def run(address: str, document: dict[str, Any], calls: int, seed: int, note: Note) -> int:
    """About so many calls, half of them along links; returns how many. `note` gets each status."""
    made = 0
    schema = schemathesis.openapi.from_dict(linked(document))
    schema.config.update(base_url=address)
    operations = [found.ok() for found in schema.get_all_operations()]

    def seen(case: Any, response: Any) -> None:
        nonlocal made
        made += 1
        note(response.status_code, _raw(case) if response.status_code >= 500 else b"")

    for operation in operations:

        @seeded(seed)
        @_options(max(1, calls // (2 * len(operations))))
        @given(case=operation.as_strategy())
        def one(case: Any) -> None:
            if "name" in (case.path_parameters or {}) and case.method != "DELETE":
                case.path_parameters["name"] = KEEPERS[case.method == "GET"]
            spare(case)
            seen(case, case.call())

        one()
    machine = schema.as_state_machine()

    class Machine(machine):  # type: ignore[misc, valid-type]
        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            """Every reply is noted; what is wrong is written down, and the machine goes on."""

        def before_call(self, case: Any) -> None:
            spare(case)

        def after_call(self, response: Any, case: Any) -> None:
            seen(case, response)

    round_ = 0
    while made < calls and round_ < 50:
        round_ += 1
        before = made
        seeded(seed + round_)(Machine)
        # Replies depend on what earlier runs have made: that is not the server's fault, and the next seed goes on.
        with contextlib.suppress(FlakyStrategyDefinition):
            Machine.run(settings=settings(_options(max(1, (calls - made) // 10)), stateful_step_count=10))
        if made == before:
            break
    return made
