"""Names of features are looked for in a few recent rounds, however long these are."""

import pytest

from conquer.service.web.routes import models

from .conftest import run


@pytest.mark.parametrize("characters", [1, 200_000])
def test_features_are_named_after_the_latest_rounds_within_bounds(local, monkeypatch, characters):
    monkeypatch.setattr(models, "_CHARACTERS", characters)

    async def work():
        async with local().running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4096}})
            for turn in range(60):
                items = [{"id": "a", "text": f"a{turn}"}, {"id": "b", "text": f"b{turn}"}]
                chosen = (await client.post("/v1/models/m/choose", json={"items": items})).json()
                path = f"/v1/models/m/events/{chosen['event_id']}/answer"
                assert (await client.post(path, json={"winner": "a"})).status_code == 200
            found = (await client.get("/v1/models/m/features?count=1000&spread=true")).json()
            names = {one["name"] for one in (*found["liked"], *found["disliked"])}
            assert all(one["spread"] is not None for one in found["liked"])
            assert names == {"a59"} if characters == 1 else {"a10", "a59", "b59"} <= names
            assert "a9" not in names

    run(work())
