"""Never a 500 on input: every operation of the OpenAPI document with generated bodies, and bytes of all kinds."""

import json
import random

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from .conftest import free_port
from .nursery import Nursery, Process

pytestmark = [pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    port = free_port()
    options = {"port": port, "store": f"sqlite:///{folder}/store.db", "read_seconds": 3.0}
    pid = int(nursery.order(options=options, errors=folder / "errors", environ={}))
    process = Process(nursery, pid, port, folder / "errors")
    process.wait_for("/readyz")
    for name in ("m", "0", "A"):
        httpx.post(f"{process.address}/v1/models", json={"name": name, "algorithm": "gnr", "features": {"dim": 64}})
    yield process
    process.kill()


_CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


def test_the_document_holds(server):
    """Generated bodies for every operation: what comes back has a documented status and shape."""
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 20
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(
            max_examples=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
            print_blob=True,
        )
        def check(case):
            if "name" in (case.path_parameters or {}) and case.method != "DELETE":
                case.path_parameters["name"] = "m"
            case.call_and_validate(checks=_CHECKS)

        check()


GOOD = json.dumps(
    {"items": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}], "event_id": "e", "context": {"h": 1}}
).encode()


def test_damaged_bodies_never_break_it(server):
    rng = random.Random(0)
    with httpx.Client(base_url=server.address) as client:
        for _ in range(300):
            body = bytearray(GOOD)
            for _ in range(rng.randint(1, 6)):
                place = rng.randrange(len(body))
                action = rng.randrange(3)
                if action == 0:
                    body[place] = rng.randrange(256)
                elif action == 1:
                    del body[place : place + rng.randint(1, 9)]
                else:
                    body[place:place] = rng.choice(
                        [b"{", b"[", b"null", b"1e999", b"\\ud800", b'"', b"-", b"\x00", b"9" * 30]
                    )
                body = body or bytearray(b"x")
            path = rng.choice(["choose", "choose/batch", "answers", "next", "events/e/answer", "erase", "items", "log"])
            reply = client.post(f"/v1/models/m/{path}", content=bytes(body))
            assert reply.status_code < 500, (path, bytes(body), reply.text)
            assert reply.status_code < 300 or reply.json()["error"]["code"]


@pytest.mark.parametrize(
    "value",
    ["1e999", "-1e400", "1" * 400, "0.1e-999", '"\\ud800"', '"\\u0000"', "[[[]]]", "{}", "true", "NaN", "Infinity"],
)
@pytest.mark.parametrize("field", ["vector", "features", "text", "context", "id"])
def test_odd_values_are_refused_or_taken(server, field, value):
    item = {"vector": f"[{value}]", "features": f'{{"f":{value}}}', "text": value}.get(field, '"x"')
    key = field if field in ("vector", "features", "text") else "text"
    name = value if field == "id" else '"a"'
    context = f',"context":{value}' if field == "context" else ""
    body = f'{{"items":[{{"id":{name},"{key}":{item}}},{{"id":"b","{key}":{item}}}]{context}}}'
    reply = httpx.post(f"{server.address}/v1/models/m/choose", content=body.encode())
    assert reply.status_code < 500, reply.text
