"""Files of every kind that were made to do harm: headers that lie, arrays that overflow, rows that contradict."""

import copy
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from service.test_treebanks import TREEBANK

from conquer import Session, make
from conquer.files import FORMAT, unpack
from conquer.parsing.parser import loads as load_parser
from conquer.session.session_file import dumps_session

from .mutator import damaged
from .traffic import KEEPERS, raw

HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, -5, 1, 2**31, 2**63, 2**64, 10**18, 10**30, 1e308, -1e308, 1e-320, 0.5, "", "x", "\x00", "a\n",
    "x" * 100_000, [], {}, [[]], [0] * 1000, [-1, 2**64], {"a": {}}, "gnr", "parser", "full", "kernel",
)  # fmt: skip
NUMBERS = (0.0, -0.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324, -1.0, 2.0**63)
_CELLS = (
    "1" * 5000,
    "-1",
    "0",
    "99999999",
    "1-2",
    "3.1",
    "",
    "_",
    "\x00",
    "é" * 300,
    "nan",
    "1e400",
    "\t",
    "x" * 10_000,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in _places(one, (*path, key)))]


def twisted(rng: random.Random, value: Any) -> Any:
    """A copy with something hostile inside, also inside JSON that stands as text."""
    value = copy.deepcopy(value)
    path = rng.choice(_places(value)[1:] or [()])
    if not path:
        return rng.choice(HOSTILE)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    old = inside[path[-1]]
    if isinstance(old, str) and old[:1] == "{" and rng.random() < 0.9:
        inside[path[-1]] = json.dumps(twisted(rng, json.loads(old)))
    elif rng.random() < 0.1:
        del inside[path[-1]]
    else:
        inside[path[-1]] = rng.choice(HOSTILE)
    return value


def packed(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """As `conquer.files.pack`, of anything."""
    from safetensors.numpy import save

    text = json.dumps({"format": FORMAT, **header})
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata={"conquer": text})


def model_file(rng: random.Random, data: bytes) -> bytes:
    """A model file, a session's or a parser's, with a header or an array that lies."""
    if rng.random() < 0.2:
        return damaged(rng, data, data)
    header, arrays = unpack(data)
    if rng.random() < 0.6 or not arrays:
        header = twisted(rng, header)
        header = header if isinstance(header, dict) else {"header": header}
    else:
        name = rng.choice(list(arrays))
        array = arrays[name]
        kind = rng.randrange(5)
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[name] = array.astype(rng.choice([np.float32, np.int8, np.int64, np.float64]), casting="unsafe")
        elif kind == 2:
            arrays[name] = rng.choice([np.resize(array, array.size + 1), array[:0], array.reshape(-1)[None], array[:1]])
        elif array.size:
            flat = array.reshape(-1).copy()
            value = rng.choice(NUMBERS)
            odd = rng.choice([-1, 127, 0, 1])
            flat[rng.randrange(flat.size)] = value if flat.dtype.kind == "f" else np.array(odd).astype(flat.dtype)
            arrays[name] = flat.reshape(array.shape)
    return packed(header, arrays)


def lines(rng: random.Random, text: str, between: str) -> bytes:
    """A file of rows (CoNLL-U, CSV, JSON lines, a ledger) with a cell, a row or a byte that should not be there."""
    if rng.random() < 0.2:
        return damaged(rng, text.encode(), text.encode())
    rows = text.splitlines(keepends=True)
    at = rng.randrange(len(rows))
    kind = rng.randrange(4)
    if between == "json" and kind < 3:
        try:
            rows[at] = json.dumps(twisted(rng, json.loads(rows[at]))) + "\n"
        except ValueError:
            rows[at] = rng.choice(_CELLS) + "\n"
    elif kind < 3:
        cells = rows[at].rstrip("\n").split(between)
        cells[rng.randrange(len(cells))] = rng.choice(_CELLS)
        rows[at] = between.join(cells) + "\n"
    else:
        rows.insert(rng.randrange(len(rows)), rng.choice([rows[at] * 3, rng.choice(_CELLS) + "\n", "\ufeff", "\r\r\n"]))
    return "".join(rows).encode("utf-8", "surrogatepass")


class Files:
    """The files that a server gave out, and their wicked cousins as requests."""

    def __init__(self, get: Any) -> None:
        pick, _, parse, _ = KEEPERS
        learner = Session(make("gnr", dim=3))
        offer = learner.ask(np.eye(3).tolist())
        learner.tell(offer.id, "first")
        learner.ask(np.eye(3).tolist())
        parser = get(f"/v1/models/{parse}/parser/file")
        assert load_parser(parser).weights.size
        model = get(f"/v1/models/{pick}/file")
        self.models: Sequence[bytes] = (model, get(f"/v1/models/{parse}/file"), dumps_session(learner), parser)
        self.ledger: str = get(f"/v1/models/{pick}/log?format=ledger").decode()

    def request(self, rng: random.Random, number: int) -> bytes:
        """One upload; a model that it makes has a name of its own."""
        _, text, parse, _ = KEEPERS
        kind = rng.randrange(8)
        if kind < 4:
            name = f"file-{number % 20}"
            return raw("PUT", f"/v1/models/{name}/file", model_file(rng, self.models[kind]))
        if kind == 4:
            held = rng.choice(["", "?held_out=1"])
            return raw("POST", f"/v1/models/{parse}/items{held}", lines(rng, TREEBANK, "\t"))
        if kind == 5:
            table = 'id,group,text,price\nt1,g,one,1\nt2,g,"two, three",2.5\nt3,h,four,nan\n'
            return raw("POST", f"/v1/models/{text}/items", lines(rng, table, ","))
        if kind == 6:
            rows = '{"id":"a","text":"one"}\n{"id":"b","features":{"p":1}}\n{"prompt":"q","id":"c","text":"x"}\n'
            return raw("POST", f"/v1/models/{text}/items", lines(rng, rows, "json"))
        return raw("POST", f"/v1/models/file-{number % 20}/log", lines(rng, self.ledger, "json"))
