"""Judges that answer a served model's questions: a language model behind an endpoint, or any function.

A judge is asked the questions that say most, as a person is, and its answers have the kind "judge": a model made with
`believe="people"` weighs them by how often people agree. Questions are leased, so an interrupted run goes on where it
was.
"""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import httpx

from conquer.client import Client

Verdict = Literal["first", "second", "tie", "skip"]
_INSTRUCTIONS = (
    "You compare two answers, A and B. Decide which one is better for the person who asked. Their order and their"
    " length say nothing. Reply with one letter alone: A, B, or T if they are equally good."
)
_LETTERS: dict[str, Verdict] = {"A": "first", "B": "second", "T": "tie"}
_SWAPPED: dict[Verdict, Verdict] = {"first": "second", "second": "first"}
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
_LONGEST_WAIT = 60.0


class TwoItems(NamedTuple):
    """Two items as people would see them: the model's question, the prompt (None: none), and both texts."""

    question: str
    prompt: str | None
    first: str
    second: str


Judge = Callable[[TwoItems], Verdict]
"""Which of the two is better."""


class JudgeError(RuntimeError):
    """The judge gave no answer, however often it was asked."""


@dataclass(slots=True)
class Verdicts:
    """What a run asked and heard: verdicts by word, how often the judge contradicted itself, and its tokens."""

    counts: Counter[str]
    contradictions: int = 0

    @property
    def questions(self) -> int:
        return self.counts.total()


def judge(
    client: Client, name: str, ask: Judge, voter: str, *, most: int | None = None, both_orders: bool = True
) -> Iterator[Verdicts]:
    """Answer a model's questions as a judge, yielding the counts so far after each answer.

    Parameters
    ----------
    client : Client
        The service; its key needs the roles `choose` and `answer`.
    name : str
        The model, with uploaded items.
    ask : callable
        Takes a `TwoItems`, returns "first", "second", "tie" or "skip".
    voter : str
        The name that the answers get. The same name continues an interrupted run.
    most : int, optional
        The number of questions. By default until nothing is left to ask this judge.
    both_orders : bool
        Ask twice, with the two in both orders; a judge that contradicts itself has answered "tie".

    Yields
    ------
    Verdicts
        The same record each time.

    Raises
    ------
    JudgeError, ServiceError
        The judge or the service fails for good; answers until then are kept.

    Examples
    --------
    >>> longer = lambda two: "first" if len(two.first) > len(two.second) else "second"
    >>> longer(TwoItems("Which is better?", None, "a long answer", "no"))
    'first'
    """
    done = Verdicts(Counter())
    about = client.get(name)
    question = about["settings"].get("question") or "Which is better?"
    while most is None or done.questions < most:
        found = client.next(name, voter)
        event = found.get("event")
        if event is None:
            return
        items = {item["id"]: item for item in found["items"]}
        one, other = (_text(items[shown["id"]]) for shown in event["shown"])
        prompt = None if found.get("context") is None else str(found["context"])
        verdict = ask(TwoItems(question, prompt, one, other))
        if both_orders and verdict != "skip":
            again = ask(TwoItems(question, prompt, other, one))
            if _SWAPPED.get(again, again) != verdict:
                done.contradictions += 1
                verdict = "skip" if again == "skip" else "tie"
        winner = {"first": 0, "second": 1}.get(verdict)
        said = verdict if winner is None else event["shown"][winner]["id"]
        client.tell(name, event["event_id"], said, voter=voter, kind="judge")
        done.counts[verdict] += 1
        yield done


def _text(item: Mapping[str, Any]) -> str:
    return str(item.get("text") or item.get("features") or item["id"])


class ChatEndpoint:
    """A language model behind an OpenAI-compatible `/chat/completions`, as a judge.

    Parameters
    ----------
    address : str
        The address up to `/chat/completions`, such as `http://localhost:11434/v1`.
    model : str
        The model's name there.
    key : str, optional
        Sent as a bearer token.
    instructions : str, optional
        The system message; it must make the model reply with A, B or T.
    timeout, retries : float, int
        Seconds for a reply, and how often a failed request is sent again, after growing pauses.
    """

    def __init__(
        self, address: str, model: str, *, key: str | None = None, instructions: str | None = None,
        timeout: float = 120.0, retries: int = 6,
    ) -> None:  # fmt: skip
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = httpx.Client(headers=headers, timeout=timeout)
        self._address, self.model, self._retries = address.rstrip("/"), model, retries
        self._instructions = instructions or _INSTRUCTIONS
        self.prompt_tokens = self.completion_tokens = 0
        """Tokens so far, as the endpoint counts them."""

    def __call__(self, two: TwoItems) -> Verdict:
        prompt = f"{two.prompt}\n\n" if two.prompt else ""
        text = f"{two.question}\n\n{prompt}[A]\n{two.first}\n[/A]\n\n[B]\n{two.second}\n[/B]"
        messages = [{"role": "system", "content": self._instructions}, {"role": "user", "content": text}]
        reply = self._reply({"model": self.model, "messages": messages, "temperature": 0})
        usage = reply.get("usage") or {}
        self.prompt_tokens += usage.get("prompt_tokens") or 0
        self.completion_tokens += usage.get("completion_tokens") or 0
        return verdict_in(str(reply["choices"][0]["message"]["content"] or ""))

    def _reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        problem = ""
        for attempt in range(self._retries + 1):
            if attempt:
                time.sleep(min(_LONGEST_WAIT, random.uniform(0.5, 1.0) * 2.0 ** (attempt - 1)))
            try:
                reply = self._http.post(f"{self._address}/chat/completions", json=body)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if reply.is_success:
                try:
                    found: dict[str, Any] = reply.json()
                    found["choices"][0]["message"]["content"]
                except (ValueError, KeyError, IndexError, TypeError):
                    raise JudgeError(f"{self._address} sent no chat completion: {reply.text[:200]!r}") from None
                return found
            problem = f"status {reply.status_code}: {reply.text[:200]}"
            if reply.status_code not in _AGAIN:
                break
        raise JudgeError(f"{self._address} gave no answer ({problem})")


def verdict_in(text: str) -> Verdict:
    """The verdict of a reply: its last letter A, B or T that stands alone; "skip" without one.

    >>> verdict_in("B"), verdict_in("Both are fine, but A is shorter: **A**"), verdict_in("I cannot say.")
    ('second', 'first', 'skip')
    """
    found = re.findall(r"\b([ABT])\b", text.removesuffix("."))
    return _LETTERS[found[-1]] if found else "skip"
