"""A shop front: the service chooses the two teas to show and learns from the click."""

import html
import json
import os
import urllib.error
import urllib.request

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse

SERVER = os.environ.get("SERVER", "http://127.0.0.1:8000")
TEAS = {
    "sencha": {"kind": "green", "strong": False},
    "assam": {"kind": "black", "strong": True},
    "earl-grey": {"kind": "black", "strong": False},
    "matcha": {"kind": "green", "strong": True},
}
app = FastAPI(title="A tea shop")


def post(path: str, body: dict) -> dict | None:
    """Return the service's reply, or None if it cannot be reached or refuses: the shop stays open."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=2) as reply:
            return json.load(reply)
    except (urllib.error.URLError, TimeoutError):
        return None


# A def, not an async def: FastAPI then waits in a thread and serves others meanwhile.
@app.get("/", response_class=HTMLResponse)
def front(hour: str = "morning") -> str:
    """Two teas, each a button that says which one was picked."""
    post("/v1/models", {"name": "front", "algorithm": "gnr"})  # a 409 after the first time
    items = [{"id": name, "features": features} for name, features in TEAS.items()]
    offer = post("/v1/models/front/choose", {"items": items, "context": {"hour": hour}})
    if offer is None:
        return "".join(f"<p>{name}</p>" for name in list(TEAS)[:2])
    names = [item["id"] for item in offer["shown"]]
    names.sort(key=lambda name: name != offer["left"])
    event = html.escape(offer["event_id"], quote=True)
    return "".join(
        f'<form action="/picked/{event}/{name}" method="post"><button>{html.escape(name)}</button></form>'
        for name in names
    )


@app.post("/picked/{event}/{name}")
def picked(event: str, name: str) -> RedirectResponse:
    """Tell the service, then show the front again."""
    post(f"/v1/models/front/events/{event}/answer", {"winner": name})
    return RedirectResponse("/", status_code=303)
