"""Names of features are kept within their room, however many rounds come by."""

import json

from conquer.features.featurizer import Featurizer
from conquer.service.web.pages import insight

from .conftest import run


def texts(count, words, first=0):
    return [json.dumps([{"id": "a", "text": f"w{first + k} " * words}]).encode() for k in range(count)]


def test_what_is_known_is_counted_as_it_grows():
    known, featurizer = insight._Known(), Featurizer(dim=1 << 10)
    insight._gather(known, featurizer, texts(20, 1))
    once = known.bytes
    assert once >= 20 * insight._ENTRY + sum(len(name) for name in known.names) > 0
    insight._gather(known, featurizer, texts(20, 1))
    assert known.bytes == once
    # Marks of rounds that bring no new names are counted as well: they would grow for ever.
    vectors = [json.dumps([{"id": "a", "vector": [k, 1]}]).encode() for k in range(500)]
    insight._gather(known, featurizer, vectors)
    assert known.bytes >= once + 500 * insight._ENTRY


def test_names_of_all_models_stay_within_their_room(local, monkeypatch):
    monkeypatch.setattr(insight, "_ROOM", 40_000)

    async def work():
        here = local()
        async with here.running() as client:
            names = here.server.names
            for model in range(12):
                made = {"name": f"m{model}", "algorithm": "gnr", "features": {"dim": 256}}
                assert (await client.post("/v1/models", json=made)).status_code == 201
                for turn in range(6 + 20 * (model == 3)):
                    items = [{"id": "a", "text": f"a{model} b{turn}"}, {"id": "b", "text": f"c{model} d{turn}"}]
                    chosen = (await client.post(f"/v1/models/m{model}/choose", json={"items": items})).json()
                    path = f"/v1/models/m{model}/events/{chosen['event_id']}/answer"
                    assert (await client.post(path, json={"winner": "a"})).status_code == 200
                # Also where a model has more names than its share: then they are not kept.
                assert (await client.get(f"/v1/models/m{model}/features")).json()["liked"]
                assert 0 < sum(one.bytes for one in names._known.values()) <= 40_000
            assert 1 < len(names._known) < 12

    run(work())
