"""The walk of a choose and an answer: short, and the architecture page names every file of the service in it."""

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import conquer

from .conftest import run

SERVICE = Path(conquer.__file__).parent / "service"
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
ITEMS = [{"id": "a", "text": "green tea"}, {"id": "b", "text": "black tea"}]


class Walk:
    """The files of the service that run, and the pairs of them that call each other, while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if not self.on or event != "call" or not file.startswith(str(SERVICE)):
            return
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(str(SERVICE)):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != file:
            self.pairs.add((caller.f_code.co_filename, file))


def test_a_choose_and_an_answer_pass_few_files_and_the_page_names_them(local: Any) -> None:
    walk, found = Walk(), dict[str, list[tuple[set[str], set[tuple[str, str]]]]]()

    async def go() -> None:
        async with local().running() as client:

            async def post(kind: str, path: str, body: Any) -> Any:
                walk.files, walk.pairs, walk.on = set(), set(), True
                reply = await client.post(path, json=body)
                walk.on = False
                assert reply.status_code == 200, reply.text
                found.setdefault(kind, []).append((walk.files, walk.pairs))
                return reply.json()

            await client.post("/v1/models", json={"name": "m", "features": {"dim": 64}})
            while len(found.get("answer", ())) < 10:
                event = await post("choose", "/v1/models/m/choose", {"items": ITEMS})
                if event["query"] == "duel":
                    await post("answer", f"/v1/models/m/events/{event['event_id']}/answer", {"winner": "a"})

    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        run(go())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named = set(re.findall(r"conquer/service/([\w/]+\.py)", PAGE.read_text(encoding="utf-8")))
    for kind, walks in found.items():
        # What is in every walk: jobs in the background run beside some of them.
        files = {str(Path(file).relative_to(SERVICE)) for file in set.intersection(*(files for files, _ in walks))}
        pairs = set.intersection(*(pairs for _, pairs in walks))
        assert files <= named, (kind, files - named)
        assert len(files) <= 20, (kind, sorted(files))
        assert len(pairs) <= 35, (kind, len(pairs))
        assert "work/decisions.py" in files
