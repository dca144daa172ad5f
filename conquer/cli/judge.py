"""The command of judges: judge."""

import os
from pathlib import Path
from typing import Annotated

import typer

from conquer.cli.extras import need
from conquer.cli.progress import showing


def judge(
    name: Annotated[str, typer.Argument(help="The served model, with uploaded items.")],
    endpoint: Annotated[str, typer.Option(help="An OpenAI-compatible address, such as http://localhost:11434/v1.")],
    model: Annotated[str, typer.Option(help="The language model's name there.")],
    server: Annotated[str, typer.Option(help="The service.")] = "http://127.0.0.1:8000",
    voter: Annotated[
        str | None, typer.Option(help="The name its answers get. Not given: the language model's.")
    ] = None,
    questions: Annotated[int | None, typer.Option(help="At most this many. Not given: until none is left.")] = None,
    one_order: Annotated[
        bool,
        typer.Option("--one-order", help="Ask once. Otherwise twice, A and B exchanged; a contradiction is a tie."),
    ] = False,
    instructions: Annotated[
        Path | None, typer.Option(help="A file with other instructions; the reply must be A, B or T.")
    ] = None,
    price: Annotated[
        tuple[float, float] | None, typer.Option(help="Price of a million tokens read, and of a million written.")
    ] = None,
) -> None:
    """Let a language model answer a served model's questions, as a voter of kind judge.

    Run again to continue. Keys come from the environment: CONQUER_KEY for the service, JUDGE_KEY for the endpoint.
    """
    need("client")
    from conquer.client import Client, ServiceError
    from conquer.judging import ChatEndpoint, JudgeError, Verdicts
    from conquer.judging import judge as run

    told = None if instructions is None else instructions.read_text()
    ask = ChatEndpoint(endpoint, model, key=os.environ.get("JUDGE_KEY"), instructions=told)
    done = None
    try:
        with Client(server, key=os.environ.get("CONQUER_KEY")) as client, showing(f"{model} judges") as progress:
            answered: Verdicts
            for answered in run(client, name, ask, voter or model, most=questions, both_orders=not one_order):
                done = answered
                progress(f"{model} judges", questions or 0, done.questions)
    except (JudgeError, ServiceError) as error:
        raise ValueError(str(error)) from None
    finally:
        if done is not None:
            heard = ", ".join(f"{word} {count}" for word, count in sorted(done.counts.items()))
            typer.echo(f"{done.questions} questions: {heard}; {done.contradictions} contradictions of its own")
            cost = (
                ""
                if price is None
                else f", {(ask.prompt_tokens * price[0] + ask.completion_tokens * price[1]) / 1e6:.4f}"
            )
            typer.echo(f"{ask.prompt_tokens:,} tokens read, {ask.completion_tokens:,} written{cost}")
    if done is None:
        typer.echo(f"nothing is left to ask {voter or model}")
