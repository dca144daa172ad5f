"""Collect the pages of the site in out/pages: docs/, the pages at the root, and the generated references.

Run by `make docs`. Links between pages are rewritten; links to files that are not on the site become plain text.
"""

import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "out" / "pages"
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PARTS = {
    "Ask and tell": (
        "session.session.Session",
        "session.session_file.save",
        "session.session_file.load",
        "session.ledger.replay",
    ),
    "Learners": ("registry.make", "registry.algorithms", "types.Learner", "types.Choice", "types.Offer", "types.Query"),
    "Features": ("features.featurizer.Featurizer", "features.featurizer.featurize", "rows.SparseRows"),
    "Boards": ("boards.Board", "boards.BoardSettings", "boards.Stop"),
    "Votes and voters": ("fitting.fit", "types.Source", "learners.voters.Voter"),
    "Client": ("client.Client", "client.RemoteOffer", "client.Receipt", "client.ServiceError"),
    "Simulation": ("rows.Rounds", "simulation.simulate", "simulation.Trace", "judges.LawJudge", "metrics"),
    "Logs": ("session.ledger.MemoryLedger", "offpolicy"),
    "Theory": ("theory", "reference"),
    "Data": ("data.reviews.read", "data.reviews.Review"),
    "Extending": ("extending.rule", "extending.rival", "policies.Policy", "conformance.check_algorithm"),
}


def target_of(page: Path, link: str) -> str | None:
    """Return the target on the site of a link in `page`, or None if the site has no such file."""
    path, hash_, anchor = link.partition("#")
    if "://" in link or link.startswith("mailto:") or not path:
        return link
    place = (page.parent / path).resolve()
    if not place.is_relative_to(ROOT):
        return None
    name = str(place.relative_to(ROOT))
    if name.startswith("examples/"):
        new = "examples.md"
    elif name in ROOT_PAGES:
        new = ROOT_PAGES[name]
    elif name.startswith("docs/") and place.is_file():
        new = name.removeprefix("docs/")
    else:
        return None
    source = str(page.relative_to(ROOT))
    # All examples are one page at the top level.
    here = Path("" if source.startswith("examples/") else ROOT_PAGES.get(source, source.removeprefix("docs/"))).parent
    up = "/".join([".."] * len(here.parts))
    return (f"{up}/{new}" if up else new) + hash_ + anchor


def rewritten(page: Path) -> str:
    """Return the text of a page with its links rewritten for the site."""

    def replace(match: re.Match[str]) -> str:
        image, words, link = match.groups()
        target = target_of(page, link)
        return words if target is None else f"{image}[{words}]({target})"

    return LINK.sub(replace, page.read_text(encoding="utf-8"))


def api() -> str:
    """Return the Python reference, made from docstrings."""
    parts = ["# Python\n\nThe public names of `conquer` and its modules.\n"]
    for title, names in PARTS.items():
        parts.append(f"## {title}\n")
        parts += [f"::: conquer.{name}\n" for name in names]
    return "\n".join(parts)


def http() -> str:
    """Return the HTTP reference, made from the OpenAPI document."""
    from conquer.service.web.app import document

    found = document()
    schemas = found["components"]["schemas"]
    lines = ["# HTTP", "", "From the OpenAPI document that the service sends at `/openapi.json`.", ""]
    lines += ["Send a key in the header `Authorization: Bearer ...`; each route names the role it needs.", ""]
    for path, methods in found["paths"].items():
        for method, one in methods.items():
            lines += [f"## `{method.upper()} {path}`", "", f"{one['summary']}. Role: {one['x-role']}.", ""]
            asked = [p["name"] for p in one["parameters"] if p["in"] == "query"]
            lines += [f"Query: {', '.join(f'`{name}`' for name in asked)}.", ""] if asked else []
            body = one.get("requestBody", {}).get("content", {})
            for kind, content in body.items():
                lines += [f"Takes `{kind}`{_named(content['schema'])}.", ""]
            for code, reply in one["responses"].items():
                for kind, content in reply.get("content", {}).items() if code.startswith("2") else ():
                    lines += [f"Replies {code}, `{kind}`{_named(content['schema'])}.", ""]
    lines += ["## Schemas", ""]
    for name, schema in sorted(schemas.items()):
        lines += [f"### {name}", "", *_fields(schema)]
    return "\n".join(lines) + "\n"


def _named(schema: dict[str, object]) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f": [{name}](#{name.lower()})" if name else ""


def _fields(schema: dict[str, dict[str, object]]) -> list[str]:
    """Return a schema's description and a table of its fields."""
    text = [str(schema.get("description", "")), ""] if schema.get("description") else []
    fields = schema.get("properties", {})
    if not fields:
        return [*text, "No fields." if schema.get("type") == "object" else "", ""]
    rows = [f"| `{name}` | {_kind(one)} | {_default(name, one, schema)} |" for name, one in fields.items()]
    return [*text, "| field | type | default |", "|---|---|---|", *rows, ""]


def _kind(one: object) -> str:
    if not isinstance(one, dict):
        return "anything"
    if "$ref" in one:
        return _named(one).removeprefix(": ")
    if "anyOf" in one:
        return " or ".join(_kind(each) for each in one["anyOf"])
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if one.get("type") == "array":
        return f"list of {_kind(one.get('items', {}))}"
    limits = [f"{word} {one[key]}" for key, word in _LIMITS.items() if key in one]
    return " ".join([str(one.get("type", "anything")), *limits])


_LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "maxLength": "of at most"}


def _default(name: str, one: object, schema: dict[str, dict[str, object]]) -> str:
    if name in schema.get("required", ()):
        return "required"
    return f"`{one['default']!r}`" if isinstance(one, dict) and "default" in one else ""


def commands() -> str:
    """Return the command reference, made from `--help`."""
    import typer

    from conquer.cli import app

    lines = ["# Commands", "", "`conquer COMMAND`, or `python -m conquer COMMAND`.", ""]
    lines += ["`conquer --install-completion` installs completion for your shell.", ""]

    def walk(command: Any, name: str) -> None:
        if children := getattr(command, "commands", None):
            for child, inner in sorted(children.items()):
                walk(inner, f"{name} {child}")
            return
        with typer.Context(command, info_name=name, max_content_width=96) as context:
            lines.extend([f"## {name}", "", "```text", command.get_help(context).rstrip(), "```", ""])

    walk(typer.main.get_command(app), "conquer")
    return "\n".join(lines)


def examples() -> str:
    """Return all examples' READMEs and programs as one page."""
    parts = ["# Examples\n\nEach is a folder of `examples/`; a test runs its program.\n"]
    for page in sorted((ROOT / "examples").glob("*/README.md")):
        text = re.sub(r"^#", "##", rewritten(page), flags=re.MULTILINE)
        programs = [path for path in sorted(page.parent.glob("*.py")) if path.name != "__init__.py"]
        shown = [
            f"### {path.name}\n\n```python\n{path.read_text(encoding='utf-8').rstrip()}\n```\n" for path in programs
        ]
        parts += [text, *shown]
    return "\n".join(parts)


def collect() -> Path:
    """Write all pages to out/pages and return the folder."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in sorted((ROOT / "docs").rglob("*")):
        place = PAGES / page.relative_to(ROOT / "docs")
        if page.suffix not in (".md", ".png", ".css", ".svg", ".html", ".json", ".csv"):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            place.write_text(rewritten(page), encoding="utf-8")
        else:
            shutil.copy(page, place)
    for name, new in ROOT_PAGES.items():
        (PAGES / new).write_text(rewritten(ROOT / name), encoding="utf-8")
    for name, made in (("api", api()), ("http", http()), ("commands", commands()), ("examples", examples())):
        (PAGES / f"{name}.md").write_text(made, encoding="utf-8")
    return PAGES


if __name__ == "__main__":
    print(collect())
