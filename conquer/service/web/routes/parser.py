"""A parser over HTTP: how good it is, its trees and its file.

The parser's own modules are imported where they are used: they take a while, and not every server asks parse questions.
"""

import functools
from typing import Any

from conquer.service.web.messages import Reply, attachment
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work.pool import groups_of


async def parser_progress(call: Call) -> Any:
    from conquer.service.work.parser.evaluation import measure, progress

    await call.on_model(lambda turn: None, reads=True)
    await call.long(functools.partial(measure, call.server.engine, call.model))
    return await call.on_model(progress)


async def parser_trees(call: Call) -> Reply:
    from conquer.service.work.parser.export import trees
    from conquer.service.work.parser.parse_learner import parser_of

    # Parsing takes long and needs only a copy of the weights.
    parser, pool = await call.copied(lambda turn: (parser_of(turn), list(groups_of(turn))))
    data = await call.long(functools.partial(trees, parser, pool))
    return attachment(data, f"{call.model}.conllu", "text/plain; charset=utf-8")


async def parser_file(call: Call) -> Reply:
    from conquer.parsing.parser import dumps
    from conquer.service.work.parser.parse_learner import parser_of

    data = await call.copied(lambda turn: dumps(parser_of(turn)))
    return attachment(data, f"{call.model}.parser")


ENDPOINTS = (
    Endpoint("GET", "/v1/models/{name}/parser", "read", "A parser's progress", parser_progress, reply=dict[str, Any]),
    Endpoint("GET", "/v1/models/{name}/trees", "read", "A parser's trees, CoNLL-U", parser_trees, kind="text/plain"),
    Endpoint(
        "GET", "/v1/models/{name}/parser/file", "read", "The parser for conquer parse predict", parser_file,
        kind="application/octet-stream",
    ),
)  # fmt: skip
