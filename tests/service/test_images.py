"""Pictures of items: what is taken, how it is served, who may see it, and that it goes with its model."""

import asyncio
import json

import msgspec
import pytest
from sqlalchemy import func, select

from conquer.service.admin import backup, keys_add, restore
from conquer.service.jobs.upkeep import sweep_deleted
from conquer.service.store.database import Database
from conquer.service.store.images import name_of
from conquer.service.store.schema import images
from conquer.service.web.routes import items as route

from .conftest import read_items, run

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40
KINDS = {
    "png": PNG,
    "jpg": b"\xff\xd8\xff\xe0" + b"1" * 30,
    "webp": b"RIFF\x10\0\0\0WEBPVP8 " + b"2" * 30,
    "gif": b"GIF89a" + b"3" * 30,
}
MADE = {"name": "m", "algorithm": "gnr"}
PATH = "/v1/models/m/images"


@pytest.mark.parametrize("data", [b"", b"<html>", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE", b"BM"])
def test_what_is_none_of_the_four_kinds_has_no_name(data):
    assert name_of(data) is None


def test_uploaded_and_served_as_what_it_is(local):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            for ending, data in KINDS.items():
                reply = await client.post(f"{PATH}?file=one.{ending}", content=data)
                assert reply.status_code == 200, reply.text
                told = reply.json()
                assert told["image"] == name_of(data)
                assert told["bytes"] == len(data)
                again = (await client.post(PATH, content=data)).json()
                assert again["image"] == told["image"]
                got = await client.get(f"{PATH}/{told['image']}")
                assert got.content == data
                assert got.headers["content-type"] == told["kind"] == f"image/{ending.replace('jpg', 'jpeg')}"
                assert got.headers["x-content-type-options"] == "nosniff"
                assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"
                assert got.headers["cache-control"].startswith("private, ")
            for path in (
                f"{PATH}/{'0' * 32}.png",
                f"{PATH}/x.svg",
                f"{PATH}/%2e%2e",
                "/v1/models/n/images/" + told["image"],
            ):
                assert (await client.get(path)).status_code in (404, 405)

    run(go())


def test_what_is_no_image_or_too_much_is_refused(local, monkeypatch):
    monkeypatch.setattr(route, "_MOST_IMAGES", 2)

    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            reply = await client.post(PATH, content=b"<svg onload=alert(1)>")
            assert (reply.status_code, "PNG, JPEG, WebP or GIF" in reply.text) == (422, True)
            assert (await client.post(PATH, content=PNG + b"0" * (4 << 20))).status_code == 413
            assert (await client.post(f"{PATH}?file=a%0Ab", content=PNG)).status_code == 422
            assert [(await client.post(PATH, content=PNG + bytes([k]))).status_code for k in range(3)] == [
                200,
                200,
                409,
            ]
            assert (await client.post(PATH, content=PNG + b"\0")).status_code == 200, "it is there already"
            assert (await client.post("/v1/models/none/images", content=PNG)).status_code == 404

    run(go())


def test_who_may_see_and_add(local, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    roles = ("admin", "read", "answer", "choose")
    secrets = {role: keys_add(role, roles=[role], store=store)[1] for role in roles}
    secrets["elsewhere"] = keys_add("elsewhere", roles=["read", "answer"], models=["other"], store=store)[1]

    async def go():
        async with local().running() as client:
            headers = {who: {"Authorization": f"Bearer {secret}"} for who, secret in secrets.items()}
            await client.post("/v1/models", json=MADE, headers=headers["admin"])
            added = {
                who: (await client.post(PATH, content=PNG, headers=own)).status_code for who, own in headers.items()
            }
            image = f"{PATH}/{name_of(PNG)}"
            seen = {who: (await client.get(image, headers=own)).status_code for who, own in headers.items()}
            return added, seen, (await client.get(image)).status_code

    added, seen, nobody = run(go())
    assert added == {"admin": 200, "read": 403, "answer": 403, "choose": 403, "elsewhere": 403}
    assert seen == {"admin": 200, "read": 200, "answer": 200, "choose": 403, "elsewhere": 403}
    assert nobody == 401


def test_a_file_of_items_speaks_of_them_by_their_names(local):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            await client.post(f"{PATH}?file=a.png", content=PNG)
            table = "id,image,label\nx,a.png,Blue\ny,/static/icon.svg,Red\n"
            reply = await client.post("/v1/models/m/items", content=table.encode())
            question = (await client.post("/v1/models/m/next", json={"voter": "ann"})).json()
            lost = await client.post("/v1/models/m/items", content=b"id,image\np,b.png\nq,a.png\n")
            return reply.json(), question["items"], lost

    reply, items, lost = run(go())
    assert reply == {"items": 2, "groups": 1, "shown": ["image", "label"]}
    by_id = {item["id"]: item for item in items}
    assert by_id["x"] == {"id": "x", "features": {"id": "x"}, "image": name_of(PNG), "label": "Blue"}
    assert by_id["y"]["image"] == "/static/icon.svg"
    assert lost.status_code == 422
    assert "item 1: the image 'b.png' is neither a path on this server nor one of the 1 images" in lost.text


def count(address: str) -> int:
    database = Database(address)
    try:
        with database.reading() as connection:
            return connection.execute(select(func.count()).select_from(images)).scalar_one()
    finally:
        database.close()


def test_they_go_with_their_model_and_into_backups(local, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            for k in range(20):
                await client.post(PATH, content=PNG + bytes([k]))
            backup(tmp_path / "backup.db", store=store)
            await client.delete("/v1/models/m")
            await asyncio.get_running_loop().run_in_executor(None, sweep_deleted, app.server.engine)

    run(go())
    assert count(store) == 0
    other = f"sqlite:///{tmp_path}/other.db"
    restore(tmp_path / "backup.db", store=other)
    assert count(other) == 20


def test_one_is_deleted_and_leaves_the_disk(local, tmp_path):
    marked = PNG + b"MARKEDPICTURE" * 20

    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            kept, gone = [
                (await client.post(f"{PATH}?file=p.png", content=data)).json()["image"] for data in (PNG, marked)
            ]
            assert any(b"MARKEDPICTURE" in path.read_bytes() for path in tmp_path.iterdir())
            assert (await client.delete(f"{PATH}/{gone}")).status_code == 204
            # The next checkpoint removes the old bytes.
            for _ in range(600):
                if not any(b"MARKEDPICTURE" in path.read_bytes() for path in tmp_path.iterdir()):
                    break
                await asyncio.sleep(0.1)
            else:
                raise AssertionError("the image is still on the disk")
            for again in (client.get, client.delete):
                reply = await again(f"{PATH}/{gone}")
                assert reply.status_code == 404
                assert reply.json()["error"]["code"] == "unknown_image"
            assert (await client.get(f"{PATH}/{kept}")).content == PNG

    run(go())


def test_what_is_deleted_while_a_store_is_scrubbed_is_left_to_the_next_time(tmp_path, monkeypatch):
    """As on PostgreSQL, where one may be under way for minutes."""
    database, modes = Database(f"sqlite:///{tmp_path}/store.db", create=True), []

    def move(mode):
        modes.append(mode)
        database.unclean |= len(modes) == 1
        return True

    monkeypatch.setattr(database, "_move_log", move)
    for _ in range(4):
        database.checkpoint()
    assert modes == ["TRUNCATE", "TRUNCATE", "PASSIVE", "PASSIVE"]
    database.close()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'id,text,vector\na,x,"[1, 2]"\nb,y,"[3, 4]"\n', {"text": "x", "vector": [1, 2]}),
        (b'id,vector\na,"[1, 2]"\nb,"[3, 4]"\n', {"vector": [1, 2]}),
        (b'id,content,vector\na,x,"[1, 2]"\nb,y,"[3, 4]"\n', {"text": "x", "vector": [1, 2]}),
        (b'id,text,features\na,x,"{""p"": 1}"\nb,y,{}\n', {"text": "x", "features": {"p": 1}}),
        (b"id,Text,Label,meta.by,stars\na,x,A,ann,3\nb,y,,,2\n", {"text": "x", "label": "A", "meta": {"by": "ann"}}),
        (b"id,price,label\na,3,A\nb,2,B\n", {"features": {"price": 3}, "label": "A"}),
        (b'id,text,meta\na,x,"{""n"": 1}"\nb,y,hm\n', {"text": "x", "meta": {"n": 1}}),
        (
            b'{"id":"a","text":"x","label":7,"format":"code"}\n{"text":"y"}',
            {"text": "x", "label": "7", "format": "code"},
        ),
        (b"id,text,format\na,x,Paperback\nb,y,markdown\n", {"text": "x"}),
        (b'{"id":"a","text":"x","meta":{"n":{"m":[1]}}}\n{"text":"y"}', {"text": "x", "meta": {"n": '{"m":[1]}'}}),
        (b"id,label\na,A\nb,B\n", {"features": {"id": "a"}, "label": "A"}),
    ],
)
def test_columns_become_parts(data, expected):
    item = msgspec.to_builtins(read_items(data)[0][0].items[0])
    assert item == {"id": "a", **expected}
    assert json.dumps(item)


def test_columns_that_are_shown_and_not_used_are_told():
    _, found = read_items(b"id,text,label,stars\na,x,A,3\nb,y,B,2\nc,,C,1\n")
    assert (found.shown, found.unused, found.empty) == (["label"], ["stars"], 1)
    assert found.described() == "shown and not learnt: label; not used: stars; 1 rows without a text left out"
