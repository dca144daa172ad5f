"""What the door recognises means the same to httptools: the same path, headers and body, and nothing behind them."""

from typing import Any

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conquer.service.http import door as doors
from conquer.service.http.door import Door

FIELDS = [
    b"Host: 127.0.0.1:8000",
    b"Content-Type: application/json",
    b"Content-Length: 7",
    b"Connection: keep-alive",
    b"Authorization: Bearer cnqr_abc",
    b"User-Agent: python-httpx/0.28",
    b"Accept: */*",
    b"Accept-Encoding: gzip, deflate",
    b"Accept-Language: *",
    b"Sec-Fetch-Mode: cors",
]
LINE, BODY = b"POST /v1/models/m-1/events/e.2_~/answer HTTP/1.1", b'{"a":1}'
SMALL = b"POST /v1/m HTTP/1.1\r\nHost: a\r\nAccept: b c\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}"
ROUTES = ["/v1/models/{name}/choose", "/v1/models/{name}/events/{event_id}/answer", "/v1/{name}", "/{name}"]
OTHERS = [
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: identity",
    b"Content-Length: 7",
    b"Content-Length: 0",
    b"Content-Length: +7",
    b"Content-Length: 07",
    b"Content-Length: 7, 7",
    b"Content-Length : 7",
    b"Content-Length:7",
    b"Content-Length: 7 ",
    b"content-length:\t7",
    b"Connection: close",
    b"Connection: upgrade",
    b"Connection: keep-alive, close",
    b"Connection: Keep-Alive",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b"Origin: http://a",
    b"Cookie: a=b",
    b"Host: b",
    b"X-Forwarded-For: 1.2.3.4",
    b" folded",
    b"",
    b"Accept: \x80",
    b"Accept:",
    b"Accept: a\rb",
    b"Accept: a\nHost: b",
    b"Accept: a\x00",
]


class Parsed:
    """What httptools tells of one request after the other."""

    def __init__(self, data: bytes) -> None:
        self.url, self.headers, self.body, self.begun, self.whole = b"", [], b"", 0, 0
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.whole += 1
        self.keeps = self.parser.should_keep_alive()


def a_door() -> Door[str]:
    """One whose targets are the paths of its routes."""
    return Door((path, path) for path in ROUTES)


def same(data: bytes) -> bool:
    """Whether the door takes these bytes; then httptools must read the same in them."""
    found = a_door().recognise(data)
    if found is None:
        return False
    target, values, head, body = found
    path = target.format(**values).encode()
    parsed = Parsed(data)
    url = httptools.parse_url(parsed.url)
    assert (parsed.begun, parsed.whole, parsed.keeps) == (1, 1, True)
    assert (parsed.parser.get_method(), parsed.parser.get_http_version()) == (b"POST", "1.1")
    assert not parsed.parser.should_upgrade()
    assert (parsed.url, url.path, url.query) == (path, path, None)
    assert parsed.headers == head.lines
    assert head.by_name == {name.decode(): value.decode() for name, value in parsed.headers}
    assert parsed.body == body
    assert head.length == len(body)
    return True


def made(line: bytes, fields: list[bytes], body: bytes) -> bytes:
    return b"\r\n".join([line, *fields, b"", body])


def test_plain_requests_are_recognised():
    assert same(SMALL)
    assert same(made(LINE, FIELDS, BODY))
    assert same(made(LINE, [b"hOST: x", b"content-length: 0"], b""))
    door = a_door()
    assert door.recognise(SMALL) == door.recognise(SMALL)


def test_the_first_route_of_a_path_has_it_and_only_whole_paths_count():
    def asked(path: str) -> Any:
        found = a_door().recognise(made(f"POST {path} HTTP/1.1".encode(), FIELDS, BODY))
        return found and found[:2]

    assert asked("/v1/models/a/choose") == ("/v1/models/{name}/choose", {"name": "a"})
    assert asked("/v1/models/choose/choose") == ("/v1/models/{name}/choose", {"name": "choose"})
    answer = "/v1/models/{name}/events/{event_id}/answer"
    assert asked("/v1/models/a/events/b/answer") == (answer, {"name": "a", "event_id": "b"})
    assert asked("/v1/models/events/events/answer/answer") == (answer, {"name": "events", "event_id": "answer"})
    assert asked("/v1/a") == ("/v1/{name}", {"name": "a"})
    assert asked("/v1.a") == ("/{name}", {"name": "v1.a"})
    for path in ("/v1/models/a/choose/batch", "/v1/models//choose", "/v1/models/a/b/choose", "/v1/a/", "/v1/"):
        assert asked(path) is None
    assert Door([]).recognise(SMALL) is None


@pytest.mark.parametrize("path", ["/v1/models", "/v1/{event_id}", "/v1/{event_id}/{name}", "/{name}/{event_id}/{x}"])
def test_a_door_leads_to_models_and_their_events(path):
    with pytest.raises(ValueError, match="must have a {name}"):
        Door([(path, path)])


@pytest.mark.parametrize("field", OTHERS)
def test_other_headers_are_left_to_the_parser(field):
    for at in range(len(FIELDS) + 1):
        assert not same(made(LINE, [*FIELDS[:at], field, *FIELDS[at:]], BODY))


@pytest.mark.parametrize(
    "data",
    [
        made(LINE, [b"Content-Length: 7"], BODY),
        made(LINE, [b"Host: a"], BODY),
        made(LINE, FIELDS, BODY + b"P"),
        made(LINE, FIELDS, BODY[:-1]),
        made(LINE, FIELDS, BODY) * 2,
        b"\r\n" + SMALL,
        *(made(line, FIELDS, BODY) for line in (b"GET /v1/m HTTP/1.1", b"post /v1/m HTTP/1.1", b"POST /v1/m HTTP/1.0")),
        *(made(b"POST %b HTTP/1.1" % path, FIELDS, BODY) for path in (b"/a?b", b"/a%20", b"*", b"http://a/b", b"/a#b")),
        made(b"POST /" + b"a" * 2000 + b" HTTP/1.1", FIELDS, BODY),
        made(LINE, [*FIELDS[1:], b"Host: " + b"a" * 3000], BODY),
    ],
)
def test_other_requests_are_left_to_the_parser(data):
    assert not same(data)


def test_any_change_of_one_byte_means_the_same_or_is_left_to_the_parser():
    """Every byte in place of every other, between any two, and each one left out."""
    taken = 0
    for at in range(len(SMALL) + 1):
        for byte in range(256):
            taken += same(SMALL[:at] + bytes([byte]) + SMALL[at + 1 :])
            taken += same(SMALL[:at] + bytes([byte]) + SMALL[at:])
        taken += same(SMALL[:at] + SMALL[at + 1 :])
    assert taken > 1000


pieces = st.one_of(
    st.sampled_from([*FIELDS, *OTHERS]),
    st.builds(
        lambda name, colon, value: name + colon + value,
        st.sampled_from([field.partition(b":")[0] for field in FIELDS]) | st.binary(max_size=5),
        st.sampled_from([b": ", b":", b" : ", b":\t"]),
        st.text(st.characters(max_codepoint=255), max_size=10).map(lambda text: text.encode("latin-1")),
    ),
)


@given(
    st.sampled_from([LINE, b"POST / HTTP/1.1", b"POST //a HTTP/1.1", b"POST /.. HTTP/1.1"]),
    st.permutations(FIELDS),
    st.integers(2, len(FIELDS)),
    st.lists(pieces, max_size=2),
    st.binary(max_size=12),
)
@example(LINE, FIELDS, 10, [], BODY)
def test_whatever_is_recognised_means_the_same(line, fields, count, more, body):
    usual = [b"Host: a", b"Content-Length: %d" % len(body)]
    usual += [one for one in fields[:count] if not one.startswith((b"Host:", b"Content-Length:"))]
    same(made(line, usual + more, body))


def test_no_more_heads_are_remembered_than_there_is_room_for():
    door = a_door()
    for number in range(3 * doors._REMEMBERED):
        door.recognise(made(LINE, [b"Host: %d" % number, b"Content-Length: 7"], BODY))
        assert len(door._heads) <= doors._REMEMBERED
