"""`python -m benchmarks.boards`: run the measurement of boards in a folder, resuming what was begun."""

from pathlib import Path
from typing import Any

import typer

from benchmarks.boards.run import run_boards
from benchmarks.boards.spec import BoardsSpec
from conquer.cli.options import filled
from conquer.cli.study import Cluster, Jobs, Out, Publish


@filled(BoardsSpec)
def main(
    given: dict[str, Any], jobs: Jobs = 2, cluster: Cluster = None, out: Out = Path("boards"), publish: Publish = None
) -> None:
    """Measure how often boards claim something false at any look, and how few answers an order needs."""
    run_boards(BoardsSpec(**given), jobs=jobs, cluster=cluster, out=out, publish=publish)


if __name__ == "__main__":
    typer.run(main)
