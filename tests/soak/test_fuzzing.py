"""A short run of the fuzzing, and that its parts reach what they are made for."""

import random

import pytest
from service.conftest import nursery  # noqa: F401 - a fixture

from conquer.service.web.app import ENDPOINTS
from soak import fuzz
from soak.mutator import mutated
from soak.target import Target
from soak.traffic import raw

pytestmark = [pytest.mark.filterwarnings("default")]


@pytest.mark.timeout(900)
def test_calls_made_to_do_harm_do_none(nursery, tmp_path):  # noqa: F811
    found = fuzz.run(nursery, tmp_path, 1500, seed=1, strict=False)
    assert not found["failed"], "\n".join(found["failed"])
    assert sum(found["done"].values()) >= 1500
    assert found["megabytes"] < fuzz.MEGABYTES
    for status in ("200", "201", "204", "400", "404", "409", "422"):
        assert found["statuses"][status] > 0


def test_the_recorded_session_uses_every_route_and_a_failing_call_is_written_down(nursery, tmp_path):  # noqa: F811
    target = Target(nursery, tmp_path, tmp_path / "failures")
    try:
        recorded = fuzz.record(target)
        used = {(line[0], line[1].partition("?")[0]) for line in (one.decode("latin-1").split() for one in recorded)}
        unused = [one for one in ENDPOINTS if not any(_fits(one.method, one.path, *pair) for pair in used)]
        assert not unused
        target.note(500, "mutator", 7, b"GET / HTTP/1.1\r\n\r\n")
        assert "python -m tests.soak again" in target.failed[0]
        assert (tmp_path / "failures" / "mutator-7.bin").read_bytes().startswith(b"GET /")
        assert target.usable("now") == []
        with target.client() as client:
            client.delete("/v1/models/keep-text")
        assert len(target.usable("later")) > 0
    finally:
        target.close()


def _fits(method: str, template: str, used: str, path: str) -> bool:
    parts, given = template.split("/"), path.split("/")
    return (
        method == used
        and len(parts) == len(given)
        and all(part == one or part.startswith("{") for part, one in zip(parts, given, strict=True))
    )


def test_a_seed_makes_the_same_calls_and_spares_the_models_to_keep():
    recorded = [raw("POST", "/v1/models/keep-pick/choose", {"items": [1, "a"]}), raw("GET", "/healthz", None)]
    one, two = ([mutated(random.Random(f"0 {k}"), recorded) for k in range(50)] for _ in range(2))
    assert one == two
    assert len(set(one)) > 40
    assert not fuzz.harmless(b"DELETE /v1/models/keep%2Dpick HTTP/1.1\r\n")
    assert fuzz.harmless(b"GET /v1/models/keep-pick HTTP/1.1\r\n")
