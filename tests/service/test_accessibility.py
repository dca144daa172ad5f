"""axe-core on every page, light and dark: no violation. Its script comes with a package of the test extra."""

import importlib.util
import json
from pathlib import Path

import httpx
import pytest

from conquer.service.admin import keys_add

from .test_pages import browser, pytestmark  # noqa: F401 - fixtures
from .test_treebanks import TREEBANK

FOUND = importlib.util.find_spec("axe_playwright_python")
PLACES = ["login", "index", "model", "deleting", "fresh", "parser", "board", "pick", "parse", "paused", "docs", "join"]


def filled(client):
    """Models with everything on their pages: answers, flags, a quota, a link, long texts."""
    made = {"name": "teas", "algorithm": "gnr", "model": "full", "features": {"dim": 64}, "quota": 9, "stop": 0.1}
    texts = ["a good pot", "a bad pot", "many words " * 80, "שלום, תה ירוק"]
    for name, settings in (("teas", {"instructions": "Take the better one."}), ("rest", {}), ("fresh", {})):
        assert client.post("/v1/models", json={**made, "name": name, **settings}).status_code == 201
        items = "\n".join(json.dumps({"id": f"i{k}", "text": text}) for k, text in enumerate(texts))
        assert client.post(f"/v1/models/{name}/items", content=items.encode()).is_success
    for k in range(32):
        told = client.post("/v1/models/teas/next", json={"voter": f"voter {k // 6}"}).json()["event"]
        place = f"/v1/models/teas/events/{told['event_id']}"
        client.post(
            f"{place}/answer", json={"winner": min(one["id"] for one in told["shown"]), "voter": f"voter {k // 6}"}
        )
        if k % 10 == 0:
            client.post(f"{place}/flag", json={"comment": "odd", "voter": "ann"})
    client.patch("/v1/models/rest", json={"paused": True})
    assert client.post("/v1/models", json={"name": "news", "algorithm": "parser", "task": "parse"}).status_code == 201
    assert client.post("/v1/models/news/items", content=TREEBANK.encode()).is_success
    assert client.post("/v1/models/teas/invitations", json={"note": "students"}).status_code == 201


def visit(page, address, place, name):
    """The page of a place, as far as it is ready to be used."""
    ready = {
        "login": ("login", "#form:not([inert])"),
        "join": ("join", "#form:not([inert])"),
        "index": ("", "#models .entry"),
        "model": ("models/teas", "#linkrows tr"),
        "deleting": ("models/teas", "#linkrows tr"),
        "fresh": ("models/fresh", "#tiles .tile"),
        "parser": ("models/news", "#tiles .tile"),
        "board": ("board/teas", ".standings li"),
        "pick": ("pick/teas", "#left:enabled"),
        "parse": ("parse/news", "#left:enabled"),
        "paused": ("pick/rest", "#end:not([hidden])"),
        "docs": ("docs", ".route"),
    }
    path, sign = ready[place]
    page.evaluate("(name) => localStorage.setItem('conquer:voter', name)", name)
    page.goto(f"{address}/{path}")
    page.wait_for_selector(sign)
    if place == "docs":
        for summary in page.locator(".route").first.locator("summary").all():
            summary.click()
    if place == "deleting":
        page.click("#delete")
    if place == "index":
        page.click("details summary")


@pytest.mark.skipif(FOUND is None, reason="needs axe-playwright-python, which carries axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_violation(browser, start, tmp_path, scheme):  # noqa: F811
    script = (Path(FOUND.submodule_search_locations[0]) / "axe.min.js").read_text()
    key = keys_add("lead", roles=["admin"], store=f"sqlite:///{tmp_path}/store.db")[1]
    server = start()
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {key}"}) as client:
        filled(client)
    found = {}
    for width in (320, 1280):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(600_000)
        page.goto(f"{server.address}/login")
        page.fill("#key", key)
        page.click("form button")
        page.wait_for_url(f"{server.address}/")
        for place in PLACES:
            visit(page, server.address, place, f"Zoe {width}")
            page.evaluate(script)
            told = page.evaluate("async () => await axe.run(document, { resultTypes: ['violations'] })")
            assert told["passes"], "it looked at something"
            for one in told["violations"]:
                found[place, width, one["id"]] = [node["html"][:160] for node in one["nodes"]][:4]
        context.close()
    assert found == {}
