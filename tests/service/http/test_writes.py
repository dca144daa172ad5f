"""A reply's head and body leave in one write; a head that nothing follows leaves when the reply is complete."""

from types import SimpleNamespace

import pytest

from conquer.service.http.whole import JOINED, Hangup

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


@pytest.fixture
def wire():
    written, closed = [], []
    transport = SimpleNamespace(write=written.append, is_closing=lambda: False)
    hangup = Hangup(SimpleNamespace(transport=transport, finish=lambda: closed.append(True)))
    return SimpleNamespace(hangup=hangup, written=written)


def test_a_head_goes_with_its_body(wire):
    wire.hangup.write(HEAD)
    assert wire.written == []
    wire.hangup.write(b"body")
    wire.hangup.write(b"more")
    assert wire.written == [HEAD + b"body", b"more"]


def test_a_long_body_is_not_copied(wire):
    long = bytes(JOINED + 1)
    wire.hangup.write(HEAD)
    wire.hangup.write(long)
    assert wire.written == [HEAD, long]
    assert wire.written[1] is long


def test_a_head_alone_leaves_when_the_reply_is_complete(wire):
    wire.hangup.write(HEAD)
    wire.hangup.flush()
    wire.hangup.flush()
    assert wire.written == [HEAD]


def test_an_invitation_to_go_on_does_not_wait(wire):
    go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    wire.hangup.write(go_on)
    assert wire.written == [go_on]
