"""Model files from anyone: what does not fit together is refused, and what is taken goes on."""

import json
import random
from typing import Any

import pytest

from conquer.files import FileError, pack, unpack
from conquer.service.model.tally import Bin, Tally

from .conftest import run

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": "a", "vector": [1, 0]}, {"id": "b", "vector": [0, 1]}]


async def exported(client: Any, **made: Any) -> bytes:
    await client.post("/v1/models", json={**MADE, **made})
    for _ in range(5):
        chosen = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        path = f"/v1/models/m/events/{chosen['event_id']}/answer"
        await client.post(path, json={"winner": chosen["shown"][0]["id"]})
    return (await client.get("/v1/models/m/file")).content


@pytest.mark.parametrize("bins", [0, 1, 3, 127, 128])
def test_a_curve_of_any_length_goes_on(bins: int) -> None:
    tally = Tally(rounds=128, curve=[Bin() for _ in range(bins)])
    for ordinal in range(1000):
        tally.choice(ordinal, asked=True)
    assert len(tally.curve) <= 128
    assert tally.width == 16
    assert sum(one.rounds for one in tally.curve) == 1000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("algorithm", ["gnc", "rucb", "kwik"])
def test_mutated_files_are_refused_or_go_on(local: Any, algorithm: str) -> None:
    """Bytes changed, cut and repeated, and numbers of the header replaced: what is taken can be asked and saved."""

    async def go() -> None:
        async with local().running() as client:
            data = await exported(client, algorithm=algorithm, model={"kwik": "kernel"}.get(algorithm))
            rng, taken = random.Random(7), 0
            for number in range(200):
                changed = mutated(data, rng)
                reply = await client.put(f"/v1/models/x{number}/file", content=changed)
                assert reply.status_code in (201, 400, 422), (number, reply.text[:300])
                if reply.status_code == 201:
                    taken += 1
                    asked = await client.post(f"/v1/models/x{number}/choose", json={"items": ITEMS})
                    assert asked.status_code in (200, 409, 422), (number, asked.text)
                    assert (await client.get(f"/v1/models/x{number}/file")).status_code == 200
            assert 0 < taken < 200

    run(go())


def mutated(data: bytes, rng: random.Random) -> bytes:
    body = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(body))
        match rng.randrange(5):
            case 0:
                body[place] = rng.randrange(256)
            case 1:
                del body[place : place + rng.randint(1, 30)]
            case 2:
                body[place:place] = body[place : place + rng.randint(1, 30)]
            case 3:
                digits = [k for k, sign in enumerate(body) if 48 <= sign <= 57]
                body[rng.choice(digits)] = 48 + rng.randrange(10)
            case _:
                # Among the arrays, where every bit makes another number.
                place = len(body) - 1 - rng.randrange(min(len(body), 400))
                body[place] ^= 1 << rng.randrange(8)
        body = body or bytearray(b"x")
    return bytes(body)


def test_headers_of_many_parts_and_odd_numbers_are_refused() -> None:
    import numpy as np

    good = pack({"a": 1}, {"x": np.arange(3.0)})
    size = int.from_bytes(good[:8], "little")
    text = good[8 : 8 + size].decode()
    for odd in ("NaN", "Infinity", "-Infinity", "9" * 5000, "[" * 5000 + "]" * 5000, ",".join(["[]"] * (1 << 22))):
        inner = json.dumps(f'{{"format": 2, "a": [{odd}]}}')
        rest = text.split("},", 1)[1]
        data = f'{{"__metadata__":{{"conquer":{inner}}},{rest}'.encode()
        data += b" " * (-len(data) % 8)
        with pytest.raises(FileError):
            unpack(len(data).to_bytes(8, "little") + data + good[8 + size :])
