"""Downloads against a real local server that breaks connections, changes files and refuses ranges."""

import gzip
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from conquer.data import download
from conquer.data.download import Dataset

BODY = bytes(i * 31 % 251 for i in range(300_000))
fetch = partial(download.fetch, delay=0)


def strong(body: bytes) -> str:
    return '"' + hashlib.sha256(body).hexdigest()[:8] + '"'


def dated(body: bytes) -> str:
    return f"Sun, 15 Nov 2026 00:00:{hashlib.sha256(body).digest()[0] % 60:02} GMT"


class Flaky(BaseHTTPRequestHandler):
    """Sends `burst` bytes a connection and hangs up; obeys ranges unless told not to."""

    body, burst, ranges, requests = BODY, 100_000, True, 0
    busy, length, shift = 0, True, 0
    validators: Mapping[str, Callable[[bytes], str]] = MappingProxyType({"ETag": strong})

    def do_GET(self) -> None:
        cls = type(self)
        cls.requests += 1
        if self.path.startswith("/absent"):
            self.send_error(404)
            return
        if cls.requests <= cls.busy:
            self.send_error(503)
            return
        tags = {name: make(cls.body) for name, make in cls.validators.items()}
        known = [tag for tag in tags.values() if not tag.startswith("W/")]
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        if not cls.ranges or self.headers.get("If-Range", (known or [""])[0]) not in (known or [""]):
            start = 0
        if start and start >= len(cls.body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(cls.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = max(0, start - cls.shift)
        rest = cls.body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(cls.body) - 1}/{len(cls.body)}")
        if cls.length:
            self.send_header("Content-Length", str(len(rest)))
        for name, tag in tags.items():
            self.send_header(name, tag)
        self.end_headers()
        self.wfile.write(rest[: cls.burst])
        if len(rest) > cls.burst:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[type[Flaky], str]]:
    handler = type("Handler", (Flaky,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield handler, f"http://127.0.0.1:{http.server_address[1]}/file.bin"
        http.shutdown()
        thread.join()


def test_broken_connections_are_resumed(server, tmp_path: Path) -> None:
    handler, url = server
    seen = []
    path = fetch(url, tmp_path, lambda name, done, total: seen.append((done, total)))
    assert path.read_bytes() == BODY
    assert handler.requests == 3
    assert seen[-1] == (len(BODY), len(BODY))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.bin", "file.bin.sha256"]
    assert fetch(url, tmp_path) == path
    assert handler.requests == 3


def test_a_second_command_goes_on_where_the_first_stopped(server, tmp_path: Path) -> None:
    handler, url = server
    (tmp_path / "file.bin.part").write_bytes(BODY[:250_000])
    (tmp_path / "file.bin.etag").write_text(strong(BODY))
    fetch(url, tmp_path)
    assert handler.requests == 1
    (tmp_path / "file.bin").rename(tmp_path / "file.bin.part")
    assert fetch(url, tmp_path).read_bytes() == BODY


def test_a_server_without_ranges_is_read_from_the_start(server, tmp_path: Path) -> None:
    handler, url = server
    handler.ranges, handler.burst = False, len(BODY)
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    assert fetch(url, tmp_path).read_bytes() == BODY


@pytest.mark.parametrize(
    ("validators", "resumes"),
    [
        ({"ETag": strong}, True),
        ({"ETag": lambda body: 'W/"same"', "Last-Modified": dated}, True),
        ({"Last-Modified": dated}, True),
        ({"ETag": lambda body: 'W/"same"'}, False),
        ({}, False),
    ],
)
def test_bytes_of_two_versions_are_never_joined(server, tmp_path: Path, validators, resumes: bool) -> None:
    handler, url = server
    handler.validators, handler.burst = validators, 200_000
    begun: list[bool] = []
    sizes: list[int] = []
    for body in (BODY, BODY[::-1]):
        folder = tmp_path / str(len(begun))
        folder.mkdir()
        handler.body = BODY
        assert download._transfer(url, folder / "file.bin.part", lambda *_: None)
        handler.body, handler.burst = body, len(BODY)
        sizes.clear()
        assert fetch(url, folder, lambda name, done, total: sizes.append(done)).read_bytes() == body
        begun.append(sizes[0] > 200_000)
        handler.burst = 200_000
    assert begun == [resumes, False]


def test_a_range_other_than_the_one_asked_for(server, tmp_path: Path) -> None:
    handler, url = server
    handler.shift = 7
    assert download._transfer(url, tmp_path / "file.bin.part", lambda *_: None)
    handler.burst = len(BODY)
    assert fetch(url, tmp_path).read_bytes() == BODY


def test_a_cut_body_of_unknown_length_is_not_taken_for_whole(server, tmp_path: Path) -> None:
    handler, url = server
    noise = hashlib.shake_128(b"noise").digest(250_000)
    handler.body, handler.length = gzip.compress(noise), False
    url = url.replace("file.bin", "file.json.gz")
    assert gzip.decompress(fetch(url, tmp_path).read_bytes()) == noise
    assert handler.requests == 3
    (tmp_path / "file.json.gz").unlink()
    handler.ranges = False
    with pytest.raises(download.DownloadError, match=r"the connection broke.* 100,000 bytes are kept"):
        fetch(url, tmp_path)
    assert not (tmp_path / "file.json.gz").exists()


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", gzip.compress(BODY)[:-4], b""])
def test_a_complete_answer_that_is_no_gzip_file(server, tmp_path: Path, body: bytes) -> None:
    handler, url = server
    handler.body = body
    with pytest.raises(download.DownloadError, match=r"x.gz is not a complete gzip file .*; .*x.gz.part; delete it"):
        fetch(url.replace("file.bin", "x.gz"), tmp_path)
    assert not (tmp_path / "x.gz.sha256").exists()


def test_a_busy_server_is_asked_again(server, tmp_path: Path) -> None:
    handler, url = server
    handler.busy, handler.burst = 3, len(BODY)
    assert fetch(url, tmp_path).read_bytes() == BODY
    assert handler.requests == 4
    handler.busy = 100
    with pytest.raises(download.DownloadError, match=r"answered 503 Service Unavailable; 0 bytes .* to start again"):
        fetch(url.replace("file", "other"), tmp_path)
    assert handler.requests == 9


def test_local_faults_are_named(server, tmp_path: Path) -> None:
    _, url = server
    (tmp_path / "file.bin.part").mkdir()
    with pytest.raises(download.DownloadError, match="Is a directory"):
        fetch(url, tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file.bin.part").symlink_to("/dev/full")
    with pytest.raises(download.DownloadError, match="No space left"):
        fetch(url, tmp_path / "full")
    (tmp_path / "plain").touch()
    with pytest.raises(OSError, match="plain"):
        download.get("ud/English-EWT", tmp_path / "plain")


def test_following_the_advice_after_the_publisher_changed_a_file(server, tmp_path: Path) -> None:
    handler, url = server
    handler.burst = len(BODY)
    path = fetch(url, tmp_path)
    handler.body = BODY[::-1]
    path.unlink()
    with pytest.raises(download.DownloadError, match=r"delete it .*, and .*file.bin.sha256 as well") as caught:
        fetch(url, tmp_path)
    for name in ("file.bin.part", "file.bin.sha256"):
        assert name in str(caught.value)
        (tmp_path / name).unlink()
    assert fetch(url, tmp_path).read_bytes() == BODY[::-1]
    (tmp_path / "file.bin.sha256").write_bytes(b"")
    assert fetch(url, tmp_path) == path


def test_a_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path: Path) -> None:
    handler, url = server
    handler.burst = 1000
    assert download._transfer(url, tmp_path / "file.bin.part", lambda *_: None)
    handler.body, handler.burst = BODY[::-1], len(BODY)
    assert fetch(url, tmp_path).read_bytes() == BODY[::-1]


def test_no_progress_is_an_error_that_keeps_the_bytes(server, tmp_path: Path) -> None:
    handler, url = server
    (tmp_path / "file.bin.part").write_bytes(BODY[:1000])
    (tmp_path / "file.bin.etag").write_text(strong(BODY))
    handler.burst = 0
    with pytest.raises(download.DownloadError, match=r"broke; 1,000 bytes are kept in .*file.bin.part; .* to resume"):
        fetch(url, tmp_path)
    assert (tmp_path / "file.bin.part").stat().st_size == 1000


def test_checksums(server, tmp_path: Path) -> None:
    handler, url = server
    handler.burst = len(BODY)
    (tmp_path / "file.bin.sha256").write_text("00ff  file.bin")
    with pytest.raises(download.DownloadError, match="expected 00ff"):
        fetch(url, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    (tmp_path / "file.bin.sha256").unlink()
    path = fetch(url, tmp_path)
    path.write_bytes(b"edited")
    with pytest.raises(download.DownloadError, match="delete"):
        fetch(url, tmp_path)


def test_offline_and_absent(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, url = server
    with pytest.raises(download.DownloadError, match="answered 404"):
        fetch(url.replace("file.bin", "absent.bin"), tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/x.bin"
    with pytest.raises(download.DownloadError, match="could not download .*Connection refused"):
        fetch(dead, tmp_path)
    known = {"made/up": Dataset("made/up", "d", "l", (url, dead), 3)}
    monkeypatch.setattr(download, "datasets", lambda: known)
    assert ("size", "unknown (could not ask: [Errno 111] Connection refused)") in list(download.details("made/up"))
    assert list(download.listing()) == [("made/up", "3", "d")]
    with pytest.raises(download.DownloadError, match="did you mean made/up"):
        download.get("made/upp", tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_the_catalogue_is_complete() -> None:
    known = download.datasets()
    assert len(known) == 24 + 29 + 34 + 3
    for dataset in known.values():
        assert dataset.licence
        assert all(url.startswith("http") for url in dataset.files)
