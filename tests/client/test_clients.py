"""The client's reading of replies and failures, without a server: which requests are sent again, and the errors."""

import pickle
import subprocess
import sys

import httpx
import pytest

from conquer.client import Client, ServiceError

ITEMS = [{"id": "a", "vector": [1.0, 0.0]}, {"id": "b", "vector": [0.0, 1.0]}]
POSED = {"event_id": "e", "query": "duel", "shown": [{"id": "a"}, {"id": "b"}], "left": "a", "scores": [0, 0]}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("conquer.client.time.sleep", lambda seconds: None)


def client_of(*replies, **options):
    """A client of a server that gives these replies, or raises these errors, in turn; and the requests it saw."""
    seen, left = [], list(replies)

    def handle(request):
        seen.append(request)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    client = Client("http://there", **options)
    client._http = httpx.Client(transport=httpx.MockTransport(handle), base_url=client.address)
    return client, seen


def test_an_error_can_be_sent_to_another_process():
    error = ServiceError(404, "unknown_model", "there is no model 'teas'")
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.status, copied.code, copied.message, str(copied)) == (404, error.code, error.message, str(error))


def test_without_its_extra_it_says_what_to_install():
    code = "import sys; sys.modules['httpx'] = None; import conquer.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "ImportError: conquer.client needs httpx; run: pip install 'conquer-bandits[client]'"


@pytest.mark.parametrize("address", ["127.0.0.1:8000", "ftp://there", "", None])
def test_an_address_that_leads_nowhere_is_refused_at_once(address):
    with pytest.raises(ValueError, match="address must begin with http:// or https://, got"):
        Client(address)


def test_what_the_call_itself_does_wrong_is_not_sent_again():
    client, seen = client_of(httpx.LocalProtocolError("Illegal header value"))
    with pytest.raises(httpx.LocalProtocolError):
        client.ask("teas", ITEMS)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>Sign in</html>", "Sign in"),
        (b'{"ok": true}', "ok"),
        (b"[1]", "1"),
        (b'{"event_id": 1, "query": "duel", "shown": [7], "left": "a", "scores": []}', "shown"),
        (b"", "empty"),
    ],
    ids=["page", "other", "list", "odd", "empty"],
)
def test_a_success_that_is_not_a_reply_of_the_service_is_an_error(content, says):
    client, _ = client_of(httpx.Response(200, content=content))
    for call in (lambda: client.ask("teas", ITEMS), lambda: client.tell("teas", "e", "a")):
        with pytest.raises(ServiceError, match=r"200 unreadable: this is not a reply of the service.*" + says):
            call()


@pytest.mark.parametrize("status", [502, 504])
def test_what_may_have_been_done_goes_again_only_where_it_repeats(status):
    client, seen = client_of(httpx.Response(status), httpx.Response(201, json={"name": "teas"}))
    with pytest.raises(ServiceError, match=str(status)):
        client.create("teas")
    assert len(seen) == 1
    client, seen = client_of(httpx.Response(status), httpx.Response(200, json=POSED))
    assert client.ask("teas", ITEMS).id == "e"
    assert seen[0].content == seen[1].content  # the same event id, so that nothing is asked twice


@pytest.mark.parametrize("status", [429, 503])
def test_where_nothing_was_done_every_call_goes_again(status):
    client, seen = client_of(httpx.Response(status), httpx.Response(201, json={"name": "teas"}))
    assert client.create("teas") == {"name": "teas"}
    assert len(seen) == 2


def test_a_long_retry_after_is_raised_at_once(monkeypatch):
    busy = {"error": {"code": "too_many_requests", "message": "come back later"}}
    client, seen = client_of(httpx.Response(429, json=busy, headers={"retry-after": "31"}))
    with pytest.raises(ServiceError, match="429 too_many_requests: come back later"):
        client.ask("teas", ITEMS)
    assert len(seen) == 1
    waited = []
    monkeypatch.setattr("conquer.client.time.sleep", waited.append)
    client, _ = client_of(httpx.Response(429, headers={"retry-after": "7"}), httpx.Response(200, json=POSED))
    client.ask("teas", ITEMS)
    assert waited == [7.0]


def test_names_of_dots_do_not_lead_elsewhere():
    client, seen = client_of(httpx.Response(200, json={"status": "learnt"}))
    client.tell("..", "..", "a")
    client.tell("teas", ".", "a")
    assert [request.url.raw_path for request in seen] == [
        b"/v1/models/%2E%2E/events/%2E%2E/answer",
        b"/v1/models/teas/events/%2E/answer",
    ]


def test_an_event_id_that_was_given_is_sent_as_it_is():
    client, seen = client_of(httpx.Response(200, json=POSED))
    client.ask("teas", ITEMS, event_id="")
    assert b'"event_id":""' in seen[0].content.replace(b" ", b"")
