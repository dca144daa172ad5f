"""From a path to its route: what is not in the table gets the answer HTTP has for it."""

from asyncio import run


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
            for path in ("//", "/v2/", "//evil.example/", "/v1/models/m/nothing/", "/healthz%0A"):
                assert (await client.get(f"http://localhost{path}")).status_code == 404, path
            got, head = await client.get("/healthz"), await client.head("/healthz")
            assert head.status_code == got.status_code == 200
            assert head.headers == got.headers
            assert (await client.get("/v1/models/%7B%7D")).json()["error"]["code"] == "unknown_model"

    run(go())
