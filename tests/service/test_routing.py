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
            for path in ("//", "/v1/models/", "/models/m//", "//evil.example/", "/v1/models/m/nothing/"):
                assert (await client.get(f"http://localhost{path}")).status_code == 404, path
            got, head = await client.get("/healthz"), await client.head("/healthz")
            assert head.status_code == got.status_code == 200
            assert head.headers == got.headers
            assert (await client.get("/v1/models/%7B%7D")).json()["error"]["code"] == "unknown_model"

    run(go())
