"""Every answer sent is counted once, whatever became of it; a key sees the models in its scope; names stay bounded."""

import random
import re

import pytest

from conquer.service.admin import keys_add

from .conftest import run

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


def round_of(rng: random.Random, event: str) -> dict:
    items = [{"id": name, "vector": [rng.gauss(0, 1) for _ in range(4)]} for name in "ab"]
    return {"items": items, "event_id": event}


def answers(text: str) -> dict[str, float]:
    """How many answers had each outcome, over all models."""
    found: dict[str, float] = {}
    for outcome, count in re.findall(r'conquer_answers_total\{.*?outcome="(\w+)".*?\} (\S+)', text):
        found[outcome] = found.get(outcome, 0) + float(count)
    return found


def test_every_answer_sent_is_counted_once(local, tmp_path):
    """Learnt, repeated, ignored and every way of being refused: they add up to what was sent."""
    store = f"sqlite:///{tmp_path}/store.db"
    secrets = {role: keys_add(role, roles=[role], store=store)[1] for role in ("admin", "read")}

    async def go() -> None:
        async with local(body_bytes=5000).running() as client:
            client.headers["Authorization"] = f"Bearer {secrets['admin']}"
            await client.post("/v1/models", json=MADE)
            rng = random.Random(0)
            rounds = [round_of(rng, f"e{k}") for k in range(8)]
            await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
            sent: dict[str, int] = {"learnt": 0, "repeat": 0, "ignored": 0, "refused": 0}

            async def say(outcome: str, status: int, path: str, times: int = 1, **request) -> None:
                reply = await client.post(path, **request)
                assert reply.status_code == status, (path, request, reply.text)
                sent[outcome] += times

            one = "/v1/models/m/events/{}/answer"
            await say("learnt", 200, one.format("e0"), json={"winner": "a"})
            await say("repeat", 200, one.format("e0"), json={"winner": "a"})
            await say("refused", 409, one.format("e0"), json={"winner": "b"})
            await say("ignored", 200, one.format("e1"), json={"winner": "skip"})
            await say("refused", 404, one.format("none"), json={"winner": "a"})
            await say("refused", 422, one.format("e2"), json={"winner": "c"})
            await say("refused", 422, one.format("e2"), json={"winer": "a"})
            await say("refused", 400, one.format("e2"), content=b"{")
            await say("refused", 413, one.format("e2"), content=b" " * 6000)
            await say("refused", 404, one.format("x" * 300), json={"winner": "a"})
            for name in ("invented", ".hidden"):
                await say("refused", 404, f"/v1/models/{name}/events/e0/answer", json={"winner": "a"})
            for given, status in (("", 401), ("Bearer no", 401), (f"Bearer {secrets['read']}", 403)):
                headers = {"Authorization": given}
                await say("refused", status, one.format("e2"), json={"winner": "a"}, headers=headers)
            batch = [{"event_id": "e2", "winner": "a"}, {"event_id": "e2", "winner": "b"}]
            sent["learnt"] += 1
            await say("refused", 200, "/v1/models/m/answers", json={"answers": batch})
            await say("refused", 404, "/v1/models/none/answers", 2, json={"answers": batch})
            await say("refused", 400, "/v1/models/m/answers", content=b"{")
            text = (await client.get("/metrics")).text
            assert answers(text) == sent
            labels = set(re.findall(r'model="(.*?)"', text))
            assert labels == {"", "m"}

    run(go())


@pytest.mark.parametrize("queue", [2000, 0])
def test_invented_names_make_no_lines(local, queue):
    """Also of a server that is too busy to look whether there is such a model."""

    async def go() -> None:
        async with local(queue=queue).running() as client:
            await client.get("/metrics")
            lines = []
            for k in range(3):
                for j in range(20):
                    name = f"n{k}-{j}"
                    await client.post(f"/v1/models/{name}/events/e/answer", json={"winner": "a"})
                    await client.post(f"/v1/models/{name}/events/e/answer", content=b"{")
                    await client.post(f"/v1/models/{name}/answers", content=b"{")
                    await client.post(f"/v1/models/{name}/choose", json={"items": []})
                    await client.request(f"M{k}{j}", f"/{name}")
                lines.append(len((await client.get("/metrics")).text.splitlines()))
            assert len(set(lines)) == 1

    run(go())


def test_a_key_sees_the_numbers_of_its_models(local, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    admin = keys_add("admin", roles=["admin"], store=store)[1]
    shop = keys_add("shop", roles=["read"], models=["shop-*"], store=store)[1]

    async def go() -> None:
        async with local().running() as client:
            for name in ("shop-1", "secret"):
                headers = {"Authorization": f"Bearer {admin}"}
                await client.post("/v1/models", json={**MADE, "name": name}, headers=headers)
                body = round_of(random.Random(0), "e")
                await client.post(f"/v1/models/{name}/choose", json=body, headers=headers)
            whole = (await client.get("/metrics", headers=headers)).text
            part = (await client.get("/metrics", headers={"Authorization": f"Bearer {shop}"})).text
            assert 'model="secret"' in whole
            assert 'model="shop-1"' in part
            assert "secret" not in part

    run(go())
