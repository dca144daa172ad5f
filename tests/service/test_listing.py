"""All models at once: the same as one by one, few calls of the engine, and what others wrote meanwhile."""

import msgspec

ITEMS = [{"id": "a", "vector": [1, 0]}, {"id": "b", "vector": [0, 1]}]


async def filled(client, count):
    """Models with as many answers as their number, three at most."""
    for number in range(count):
        name = f"m{number:04}"
        made = {"name": name, "algorithm": "gnr", "features": {"dim": 2}}
        assert (await client.post("/v1/models", json=made)).status_code == 201
        for _ in range(number % 4):
            chosen = (await client.post(f"/v1/models/{name}/choose", json={"items": ITEMS})).json()
            path = f"/v1/models/{name}/events/{chosen['event_id']}/answer"
            assert (await client.post(path, json={"winner": "a"})).status_code == 200


async def one_by_one(client, count):
    return {"models": [(await client.get(f"/v1/models/m{number:04}")).json() for number in range(count)]}


async def test_the_list_is_what_each_model_says_of_itself(local):
    first = local()
    async with first.running() as client:
        await filled(client, 10)
        expected = await one_by_one(client, 10)
        assert (await client.get("/v1/models")).json() == expected
    again = local()
    async with again.running() as client:
        # From the store; and a second time, when nothing has changed and nothing needs to be counted.
        for _ in range(2):
            assert (await client.get("/v1/models")).json() == expected
        assert not again.server.engine.models
        # Some in memory, some not, one of those grown since it was counted.
        chosen = (await client.post("/v1/models/m0005/choose", json={"items": ITEMS})).json()
        assert chosen["event_id"]
        listed = (await client.get("/v1/models")).json()
        assert list(again.server.engine.models) == ["m0005"]
        assert listed == await one_by_one(client, 10) != expected


async def test_a_list_takes_few_calls_of_the_writer(local):
    here = local()
    async with here.running() as client:
        await filled(client, 60)
        engine = here.server.engine
        calls = []

        def counted(call):
            return lambda model, *rest, **more: calls.append(model) or call(model, *rest, **more)

        engine.call_now, engine.call = counted(engine.call_now), counted(engine.call)
        assert len((await client.get("/v1/models")).json()["models"]) == 60
        assert calls == [None, None]


async def test_a_model_in_memory_that_others_have_written_to_is_counted_from_the_store(local):
    here = local()
    async with here.running() as client:
        await filled(client, 4)
        server = here.server
        expected = (await client.get("/v1/models")).json()
        behind = server.engine.models["m0003"]
        behind.position -= 1
        try:
            everything = await server.engine.long.run("", server.listing.encoded(lambda name: name != "m0001"))
        finally:
            behind.position += 1
        del expected["models"][1]
        assert msgspec.json.decode(everything) == expected
