"""From a path to its route: the table is found whole, and what is not in it gets the answer HTTP has for it."""

from asyncio import run

import pytest

from conquer.service.app import ENDPOINTS
from conquer.service.http.routing import Router


def test_every_route_is_found_with_what_stands_in_its_braces():
    router = Router((one.method, one.path, one) for one in ENDPOINTS)
    for endpoint in ENDPOINTS:
        names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
        found = router.find(endpoint.path.format(**{name: f"a {name}" for name in names}))
        assert found is not None
        assert found[0][endpoint.method] is endpoint
        assert found[1] == {name: f"a {name}" for name in names}


@pytest.mark.parametrize("path", ["", "/", "//", "/a/b", "/a/x/c", "/x", "x", "/a//c", "/any", "/here"])
def test_other_paths_are_not_found(path):
    router = Router([("GET", "/a", 1), ("GET", "/a/{b}/c/{d}", 2)])
    assert router.find(path) is None


def test_no_path_can_spell_the_routers_own_keys():
    router = Router([("GET", "/a/{b}", 1)])
    assert [router.find(f"/a/{text}")[1] for text in ("{}", "{b}", "any", "here")] == [
        {"b": "{}"}, {"b": "{b}"}, {"b": "any"}, {"b": "here"}
    ]  # fmt: skip


def test_routes_of_one_path_name_its_segments_alike():
    with pytest.raises(ValueError, match="names its segments"):
        Router([("GET", "/a/{b}", 1), ("PUT", "/a/{c}", 2)])


def test_what_is_not_in_the_table(local):
    async def go():
        async with local().running() as client:
            reply = await client.get("/v2/nothing")
            assert reply.status_code == 404
            assert reply.json() == {"error": {"code": "not_found", "message": "there is no GET /v2/nothing"}}
            reply = await client.put("/v1/models", content=b"{}")
            assert reply.status_code == 405
            assert reply.headers["allow"] == "GET, HEAD, POST"
            assert reply.json()["error"]["code"] == "method_not_allowed"
            reply = await client.get("/v1/models/?count=%20a")
            assert (reply.status_code, reply.headers["location"]) == (307, "/v1/models?count=%20a")
            reply = await client.get("/models/%7B%7D//")
            assert (reply.status_code, reply.headers["location"]) == (307, "/models/%7B%7D")
            for path in ("//", "/v2/", "//evil.example/", "/v1/models/m/nothing/"):
                assert (await client.get(f"http://localhost{path}")).status_code == 404, path
            got, head = await client.get("/healthz"), await client.head("/healthz")
            assert head.status_code == got.status_code == 200
            assert head.headers == got.headers
            assert (await client.get("/v1/models/%7B%7D")).json()["error"]["code"] == "unknown_model"

    run(go())
