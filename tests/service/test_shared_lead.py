"""Two servers on one store: a title, a pause, a settled flag and a link of one are the other's too."""

import json
import time

import httpx

from conquer.service.admin import keys_add

from .test_shared_store import empty, pytestmark, until  # noqa: F401 - fixtures

ROOT = "/v1/models/teas"
ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(4)).encode()


def test_what_a_lead_does_on_one_server_holds_on_the_other(start, empty):  # noqa: F811
    key = keys_add("lead", roles=["admin"], store=empty)[1]
    lead = {"Authorization": f"Bearer {key}"}
    one, two = (httpx.Client(base_url=start(store=empty).address, headers=lead, timeout=120) for _ in range(2))
    with one, two:
        assert one.post("/v1/models", json={"name": "teas", "algorithm": "gnr"}).status_code == 201
        assert one.post(f"{ROOT}/items", content=ITEMS).is_success
        assert two.get(f"{ROOT}/progress").json()["pairs"] == 6
        event = two.post(f"{ROOT}/next", json={"voter": "ann"}).json()["event"]["event_id"]
        assert two.post(f"{ROOT}/events/{event}/flag", json={"voter": "ann", "comment": "odd"}).is_success
        assert one.patch(ROOT, json={"title": "Window", "paused": True}).json()["paused"] is True
        assert two.get(ROOT).json()["title"] == "Window"
        assert two.post(f"{ROOT}/next", json={"voter": "bob"}).json()["paused"] is True
        assert two.patch(ROOT, json={"paused": False}).is_success
        assert one.post(f"{ROOT}/next", json={"voter": "bob"}).json()["event"] is not None
        assert one.post(f"{ROOT}/events/{event}/settle").json()["reason"] == "settled"
        assert two.post(f"{ROOT}/events/{event}/settle").json()["status"] == "repeat"
        assert two.get(f"{ROOT}/latest?kind=open").json()["rows"] == []
        assert two.get(ROOT).json()["summary"]["settled"] == 1
        assert two.get("/v1/models").json()["models"][0]["title"] == "Window"
        picture = f"{ROOT}/images/" + one.post(f"{ROOT}/images", content=b"GIF89a").json()["image"]
        assert two.get(picture).content == b"GIF89a"
        assert two.delete(picture).status_code == 204
        assert one.get(picture).status_code == one.delete(picture).status_code == 404
        # A name that PostgreSQL has no text for.
        assert one.delete(f"{ROOT}/images/%00.gif").status_code == 404
        told = one.post(f"{ROOT}/invitations", json={"uses": 1}).json()
        token, links = told["path"].partition("#")[2], f"{ROOT}/invitations/{told['invitation']['id']}"
        with httpx.Client(base_url=two.base_url, timeout=120) as guest, httpx.Client(base_url=one.base_url) as other:
            # The other server looks once a second; ten wrong links in a minute would be too many.
            for _ in range(9):
                if guest.post("/join", json={"token": token}).is_success:
                    break
                time.sleep(2)
            assert guest.get(f"{ROOT}/task").status_code == 200
            # One use is one use, wherever it was made.
            assert other.post("/join", json={"token": token}).json()["error"]["code"] == "link_used_up"
            assert one.delete(links).status_code == 204
            until(lambda: guest.get(f"{ROOT}/task").status_code == 401)
