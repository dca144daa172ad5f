"""A parser over HTTP: how good it is, its trees and its file.

The parser's own modules are imported where they are used: they take a while, and not every server asks parse questions.
"""

import asyncio
import functools
from typing import Any

from conquer.service.annotation.pool import groups_of
from conquer.service.http.messages import Reply, attachment
from conquer.service.http.routing import Call, Endpoint


async def parser_progress(call: Call) -> Any:
    from conquer.service.parser.evaluation import measure, progress

    await call.beside(call.server.parsing, functools.partial(measure, call.server.writer, call.model))
    return await call.on_model(progress)


async def parser_trees(call: Call) -> Reply:
    from conquer.service.parser.export import trees
    from conquer.service.parser.parse_learner import parser_of

    # Parsing takes long and only needs a copy of the weights: not in the writer.
    parser, pool = await call.copied(lambda turn: (parser_of(turn), list(groups_of(turn))))
    data = await asyncio.get_running_loop().run_in_executor(call.server.parsing, trees, parser, pool)
    return attachment(data, f"{call.model}.conllu", "text/plain; charset=utf-8")


async def parser_file(call: Call) -> Reply:
    from conquer.parsing.parser import dumps
    from conquer.service.parser.parse_learner import parser_of

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
