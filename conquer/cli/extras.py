"""Optional parts: what each needs, and a clear word where it is missing."""

EXTRAS = {
    "study": ("jinja2", "joblib", "matplotlib", "polars", "sklearn"),
    "cluster": ("distributed",),
    "serve": ("itsdangerous", "msgspec", "prometheus_client", "sqlalchemy", "uvicorn"),
    "parse": ("conllu", "matplotlib", "polars"),
    "bench": ("matplotlib", "polars", "sklearn"),
}


def need(extra: str) -> None:
    """Stop before the work, and say how to go on, where an optional part is not installed."""
    from importlib.util import find_spec

    if missing := [name for name in EXTRAS[extra] if find_spec(name) is None]:
        raise ImportError(f"{', '.join(missing)} not installed; run: pip install 'conquer-bandits[{extra}]'")
