"""Downloads against a real local server that breaks connections, changes files and refuses ranges."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conquer.data import catalogue, download
from conquer.data.catalogue import Dataset, Remote

BODY = bytes(i * 31 % 251 for i in range(300_000))


class Flaky(BaseHTTPRequestHandler):
    """Sends `burst` bytes a connection and hangs up; obeys ranges unless told not to."""

    body, burst, ranges, requests = BODY, 100_000, True, 0

    def do_GET(self) -> None:
        cls = type(self)
        cls.requests += 1
        if self.path.startswith("/absent"):
            self.send_error(404)
            return
        tag = '"' + hashlib.sha256(cls.body).hexdigest()[:8] + '"'
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        if not cls.ranges or self.headers.get("If-Range", tag) != tag:
            start = 0
        if start >= len(cls.body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(cls.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        rest = cls.body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(cls.body) - 1}/{len(cls.body)}")
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", tag)
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
    path = download.fetch(Remote(url), tmp_path, lambda name, done, total: seen.append((done, total)))
    assert path.read_bytes() == BODY
    assert handler.requests == 3
    assert seen[-1] == (len(BODY), len(BODY))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.bin", "file.bin.sha256"]
    assert download.fetch(Remote(url), tmp_path) == path
    assert handler.requests == 3


def test_a_second_command_goes_on_where_the_first_stopped(server, tmp_path: Path) -> None:
    handler, url = server
    (tmp_path / "file.bin.part").write_bytes(BODY[:250_000])
    download.fetch(Remote(url), tmp_path)
    assert handler.requests == 1
    (tmp_path / "file.bin").rename(tmp_path / "file.bin.part")
    assert download.fetch(Remote(url), tmp_path).read_bytes() == BODY


def test_a_server_without_ranges_is_read_from_the_start(server, tmp_path: Path) -> None:
    handler, url = server
    handler.ranges, handler.burst = False, len(BODY)
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    assert download.fetch(Remote(url), tmp_path).read_bytes() == BODY


def test_a_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path: Path) -> None:
    handler, url = server
    handler.burst = 1000
    stuck = download._transfer(Remote(url), tmp_path / "file.bin.part", lambda *_: None)
    assert not stuck
    handler.body, handler.burst = BODY[::-1], len(BODY)
    assert download.fetch(Remote(url), tmp_path).read_bytes() == BODY[::-1]


def test_no_progress_is_an_error_that_keeps_the_bytes(server, tmp_path: Path) -> None:
    handler, url = server
    (tmp_path / "file.bin.part").write_bytes(BODY[:1000])
    handler.burst = 0
    with pytest.raises(download.DownloadError, match=r"online\? 1,000 bytes are kept in .*file.bin.part"):
        download.fetch(Remote(url), tmp_path)
    assert (tmp_path / "file.bin.part").stat().st_size == 1000


def test_checksums(server, tmp_path: Path) -> None:
    handler, url = server
    handler.burst = len(BODY)
    with pytest.raises(download.DownloadError, match="expected 00ff"):
        download.fetch(Remote(url, "00ff"), tmp_path)
    assert not (tmp_path / "file.bin").exists()
    good = hashlib.sha256(BODY).hexdigest()
    path = download.fetch(Remote(url, good), tmp_path)
    path.write_bytes(b"edited")
    with pytest.raises(download.DownloadError, match="delete"):
        download.fetch(Remote(url), tmp_path)


def test_offline_and_absent(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, url = server
    with pytest.raises(download.DownloadError, match="answered 404"):
        download.fetch(Remote(url.replace("file.bin", "absent.bin")), tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/x.bin"
    with pytest.raises(download.DownloadError, match="Is this machine online"):
        download.fetch(Remote(dead), tmp_path)
    known = {"made/up": Dataset("made/up", "d", "l", (Remote(url), Remote(dead)), 3)}
    monkeypatch.setattr(download, "datasets", lambda: known)
    assert ("size", "unknown (could not ask: [Errno 111] Connection refused)") in list(download.details("made/up"))
    assert list(download.listing()) == [("made/up", "3", "d")]
    with pytest.raises(download.DownloadError, match="did you mean made/up"):
        download.get("made/upp", tmp_path)


def test_the_catalogue_is_complete() -> None:
    known = catalogue.datasets()
    assert len(known) == 24 + 29 + 34 + 3
    for dataset in known.values():
        assert dataset.licence
        assert all(file.url.startswith("http") and file.name for file in dataset.files)
