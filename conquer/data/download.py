"""Fetch public data sets over connections that break: resume where it stopped, check what arrived."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from conquer.data.catalogue import Dataset, Remote, datasets

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, bytes in all or None)."""

_CHUNK = 1 << 16
_ATTEMPTS = 5
_TIMEOUT = 30.0


class DownloadError(OSError):
    """A download that did not finish; the message says what is kept and what to do."""


def find(name: str) -> Dataset:
    """The data set of this name; the error lists near names.

    >>> find("ud/English-EWT").files[0].name
    'en_ewt-ud-train.conllu'
    """
    known = datasets()
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `conquer data list`"
        raise DownloadError(f"no data set {name!r}; {hint}")
    return known[name]


def listing() -> Iterator[tuple[str, str, str]]:
    """(name, reviews, description) of every data set, for `conquer data list`."""
    for dataset in datasets().values():
        yield dataset.name, f"{dataset.reviews:,}" if dataset.reviews else "-", dataset.description


def details(name: str) -> Iterator[tuple[str, str]]:
    """(label, value) lines about one data set, for `conquer data info`; asks the server for sizes where it can."""
    dataset = find(name)
    yield "name", dataset.name
    yield "description", dataset.description
    yield "licence", dataset.licence
    if dataset.reviews:
        yield "reviews", f"{dataset.reviews:,}"
    for remote in dataset.files:
        yield "file", remote.url
        yield "size", _size(remote)
        yield "sha256", remote.sha256 or "not published; recorded at the first download and checked ever after"


def get(name: str, folder: str | Path, progress: Progress = lambda name, done, total: None) -> list[Path]:
    """Download every file of a data set into `folder` and return their paths; what is already there is checked."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [fetch(remote, target, progress) for remote in find(name).files]


def fetch(remote: Remote, folder: Path, progress: Progress = lambda name, done, total: None) -> Path:
    """Download one file, resuming `<name>.part` if it is there; the finished file appears at once or not at all."""
    path, part = folder / remote.name, folder / (remote.name + ".part")
    record = folder / (remote.name + ".sha256")
    expected = remote.sha256 or (record.read_text().split()[0] if record.exists() else None)
    if path.exists():
        _check(path, expected, f"delete {path} and run the same command again")
        return path
    failures, before = 0, -1
    while True:
        try:
            if _transfer(remote, part, progress):
                break
            reason = "the connection broke"
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{remote.url}: the server answered {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        kept = part.stat().st_size if part.exists() else 0
        failures = 1 if kept > before else failures + 1
        before = kept
        if failures >= _ATTEMPTS:
            raise DownloadError(
                f"could not download {remote.url}: {reason}. Is this machine online? "
                f"{kept:,} bytes are kept in {part}; run the same command again to go on from there"
            )
    digest = _check(part, expected, f"the download is kept as {part}; delete it to start again")
    record.write_text(f"{digest}  {remote.name}\n")
    os.replace(part, path)
    _validator(part).unlink(missing_ok=True)
    return path


def _validator(part: Path) -> Path:
    return part.with_suffix(".etag")


def _transfer(remote: Remote, part: Path, progress: Progress) -> bool:
    """One connection's worth of bytes; True when the file is complete."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "conquer", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if _validator(part).exists():
            headers["If-Range"] = _validator(part).read_text()
    request = urllib.request.Request(remote.url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        with error:
            whole = error.headers.get("Content-Range", "").rpartition("/")[2]
        if whole == str(have):
            return True
        part.unlink()
        return False
    with response:
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if not resumed:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if tag and not tag.startswith("W/"):
            _validator(part).write_text(tag)
        with part.open("ab" if resumed else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                have += len(chunk)
                progress(remote.name, have, total)
    return total is None or have == total


def _check(path: Path, expected: str | None, remedy: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if expected is not None and digest != expected:
        raise DownloadError(f"{path} has SHA-256 {digest}, expected {expected}; {remedy}")
    return digest


def _size(remote: Remote) -> str:
    request = urllib.request.Request(remote.url, method="HEAD", headers={"User-Agent": "conquer"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            length = response.headers.get("Content-Length")
    except (OSError, http.client.HTTPException) as error:
        return f"unknown (could not ask: {getattr(error, 'reason', error)})"
    return f"{int(length):,} bytes" if length else "unknown (the server does not say)"
