"""A session that uses every route, as the bytes that a client sends: what the mutator starts from."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
from service.test_treebanks import TREEBANK

KEEPERS = ("keep-pick", "keep-text", "keep-parse", "keep-full")
"""Models that must be usable at the end: nobody deletes them."""
_VECTORS = [{"id": "a", "vector": [1.0, 0.5]}, {"id": "b", "vector": [0, -2e-3]}, {"id": "c", "vector": [3, 4]}]
_TEXTS = [{"id": "x", "text": "a small word"}, {"id": "y", "text": "Straße"}]
_DICTS = [{"id": "x", "features": {"price": 1.5, "kind": "é", "new": True}}, {"id": "y", "features": {"price": -1}}]
_LINES = "".join(json.dumps({"id": f"i{k}", "text": f"word{k} and é"}) + "\n" for k in range(6))
_TABLE = 'id,group,text,price\nt1,g,one,1\nt2,g,"two, three",2.5\nt3,g,four,nan\n'
_VOTES = "left,right,winner,voter\na,b,left,ann\nb,c,tie,bob\n"
_PICTURE = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
Request = tuple[str, str, Any]


REFUSED = {
    ("POST", "/login"),
    ("POST", "/join"),
    ("POST", "/v1/models/keep-pick/invitations"),
    ("DELETE", "/v1/models/spare/invitations/0a1b2c3d"),
    ("POST", "/v1/models/copy/log"),
    ("GET", "/static/style.css"),
}
"""What is rightly refused: a key, links and a file that do not exist, and a ledger for a model that is not fresh."""


def make_keepers(client: httpx.Client) -> None:
    """The models that everything is aimed at, with something learnt."""
    pick, text, parse, full = KEEPERS
    small = {"algorithm": "gnr", "features": {"dim": 64}, "planted": 0.1}
    for name, made in (
        (pick, small),
        (text, {"algorithm": "gnc", "features": {"dim": 256}}),
        (full, {"algorithm": "tob", "features": {"dim": 16}, "model": "full", "stop": 0.5}),
        (parse, {"algorithm": "parser", "task": "parse", "parameters": {"bits": 12}}),
    ):
        client.post("/v1/models", json={"name": name, **made}).raise_for_status()
    client.post(f"/v1/models/{parse}/items", content=TREEBANK.encode()).raise_for_status()
    client.post(f"/v1/models/{text}/items", content=_LINES.encode()).raise_for_status()


def session(client: httpx.Client) -> Iterator[Request]:
    """(method, path, body) of every route, in an order that makes sense."""
    pick, text, parse, full = KEEPERS
    root = f"/v1/models/{pick}"
    yield "POST", "/v1/models", {"name": "spare", "algorithm": "gnr", "parameters": {"lam": 2.0}, "seed": 3}
    yield "GET", "/v1/models", None
    for name in KEEPERS:
        yield "GET", f"/v1/models/{name}", None
    yield "POST", f"{root}/choose", {"items": _VECTORS, "event_id": "e1", "voter": "ann"}
    yield "POST", f"{root}/events/e1/answer", {"winner": "tie", "voter": "ann", "seconds": 2.5}
    yield "POST", f"{root}/choose", {"items": _VECTORS, "event_id": "e2"}
    yield "POST", f"{root}/events/e1/undo", {"voter": "ann"}
    yield "POST", f"{root}/events/e1/flag", {"comment": "odd"}
    yield "POST", f"{root}/events/e1/settle", None
    yield "GET", f"{root}/events/e1", None
    yield "PATCH", root, {"title": "Zürich, <b>two</b>", "paused": True}
    yield "PATCH", root, {"title": "", "paused": False}
    yield "POST", f"{root}/invitations", {"note": "é", "uses": 3, "hours": 1.5}
    yield "GET", f"{root}/invitations", None
    yield "DELETE", "/v1/models/spare/invitations/0a1b2c3d", None
    yield "GET", f"/v1/models/{text}/progress", None
    yield "POST", f"/v1/models/{text}/images?file=dot.gif", _PICTURE
    picture = client.post(f"/v1/models/{text}/images", content=_PICTURE).json()["image"]
    yield "GET", f"/v1/models/{text}/images/{picture}", None
    yield "DELETE", f"/v1/models/{text}/images/{picture}", None
    whole = {"text": "two *parts*", "vector": [1, 2], "label": "é", "meta": {"n": 1.5}, "format": "markdown"}
    yield "POST", f"{root}/choose", {"items": [{"id": "x", **whole}, {"id": "y", **whole}], "context": [0.5, 1]}
    rounds = [{"items": _VECTORS, "event_id": "b1"}, {"items": _VECTORS[:2]}]
    yield "POST", f"{root}/choose/batch", {"rounds": rounds}
    yield "POST", f"{root}/answers", {"answers": [{"event_id": "b1", "winner": "both_bad", "strength": 0.5}]}
    mixed = {"items": _TEXTS, "context": {"hour": 3.0, "place": "Zürich"}, "event_id": "t1"}
    yield "POST", f"/v1/models/{text}/choose", mixed
    yield "POST", f"/v1/models/{text}/choose", {"items": _DICTS, "context": "a text", "event_id": "t2"}
    yield "POST", f"/v1/models/{text}/events/t1/answer", {"winner": "x"}
    yield "POST", f"{root}/votes?id=f1", _VOTES.encode()
    yield "POST", f"{root}/rank", {"items": _VECTORS}
    yield "POST", f"/v1/models/{full}/choose", {"items": _VECTORS, "event_id": "f1", "voter": "ann"}
    yield "POST", f"/v1/models/{full}/events/f1/answer", {"winner": "tie", "voter": "ann", "kind": "judge"}
    for path in ("board?delta=0.1", "voters", "latest?kind=answers&limit=5", "latest?kind=flags", "log?format=csv"):
        yield "GET", f"/v1/models/{full}/{path}", None
    yield "POST", f"{root}/erase", {"voter": "ann"}
    yield "POST", f"/v1/models/{text}/items", _LINES.replace('"i', '"more-i').replace("more-id", "id").encode()
    yield "POST", f"/v1/models/{text}/items", _TABLE.encode()
    for name in (text, parse):
        yield "POST", f"/v1/models/{name}/next", {"voter": "bob", "shared": True}
        yield "GET", f"/v1/models/{name}/task", None
    for path in ("progress", "trees", "parser/file", "log?format=answers"):
        yield "GET", f"/v1/models/{parse}/{path}", None
    for path in ("log", "log?format=preferences&after=3", "log?format=ledger", "features?count=5", "file"):
        yield "GET", f"{root}/{path}", None
    yield "PUT", "/v1/models/copy/file", client.get(f"{root}/file").content
    yield "POST", "/v1/models/copy/log", client.get(f"{root}/log?format=ledger").content
    yield "DELETE", "/v1/models/spare", None
    for path in (
        "healthz",
        "readyz",
        "metrics",
        "openapi.json",
        "",
        "login",
        "join",
        "docs",
        "session",
        "static/style.css",
    ):
        yield "GET", f"/{path}", None
    yield "GET", f"/models/{pick}", None
    yield "GET", f"/pick/{text}", None
    yield "GET", f"/board/{full}", None
    yield "GET", f"/parse/{parse}", None
    yield "POST", "/login", {"key": "nothing"}
    yield "POST", "/join", {"token": "nothing", "name": "Zoë"}
    yield "POST", "/logout", None


def raw(method: str, path: str, body: Any, *headers: str) -> bytes:
    """A request as it goes over the wire.

    >>> raw("GET", "/healthz", None)
    b'GET /healthz HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nAccept: */*\\r\\n\\r\\n'
    """
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: */*", *headers]
    if method in ("POST", "PUT", "PATCH"):
        kind = "octet-stream" if isinstance(body, bytes) else "json"
        head += [f"Content-Type: application/{kind}", f"Content-Length: {len(data)}"]
    return "\r\n".join([*head, "", ""]).encode() + data
