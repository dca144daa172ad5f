"""An HTTP connection within bounds: how many there are, how long a request's head is, how long it takes to arrive."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conquer.service.http.bounds import Bounds
from conquer.service.http.whole import JOINED, WHOLE, Hangup, plain_reply, refusal

_FIELDS = 100
_HEAD_BYTES = 32 << 10
_URL_BYTES = 8 << 10
_PIPELINED = 100
_RATE = 32 << 10
"""Bytes a second that a body must come with in the long run."""
_LINGER = 2.0
"""Seconds in which the last reply of a connection that is read no more can arrive."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's own, with one deadline for head and body, and bounds on all that it keeps before a request is whole.

    A reply sent before its request was whole closes the connection, after what is still coming has been read and
    dropped: closing at once would take the reply away from the client. Once what is left of a reply has not moved for
    four times `seconds`, nobody is reading.
    """

    bounds = Bounds()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._refusal: tuple[int, str, str] | None = None
        self._hangup: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._address: str | None = None
        self._began = self._moved = self._idle = 0.0
        self._body = self._quiet = 0
        self._extensions: dict[str, Any] = {WHOLE: self.send_whole}
        self.url, self.headers = b"", []
        self._headed, self._whole, self._keeps = False, True, False
        self._lingers, self._deaf, self._stopping = False, False, False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        reason = self.bounds.enter(address)
        if reason:
            transport.write(refusal(503, "connections", reason, b"retry-after: 1\r\n"))
            transport.close()
            return
        self._address = address
        self._hangup = Hangup(self)
        # Whatever is left to send is watched: closing waits for it, however little it is.
        transport.set_write_buffer_limits(high=0)
        self._began = self._moved = self.loop.time()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._address is not None:
            self.bounds.leave(self._address)
            self._address = None
        self._stop_waiting()
        self._stop_waiting_for_reader()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        self._extensions = {}
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if len(data) > _HEAD_BYTES and (self._whole or not self._headed):
            # A head may be in it, which is looked at before more of it is kept.
            for at in range(0, len(data), _HEAD_BYTES):
                self.data_received(data[at : at + _HEAD_BYTES])
            return
        if self._deaf:
            return
        self._moved = self.loop.time()
        self._quiet += len(data)
        super().data_received(data)
        # Once for what has come, not for each header: most requests are whole by now, and need no clock.
        if not self._whole:
            if not self._deaf and (refusal := self._too_much()):
                self._refuse(*refusal)
            elif not self._deaf:
                self._wait()
        elif self._timer is None and self.cycle.response_complete:
            # Line ends between two requests begin none, and have stopped the clock of an idle connection.
            self._began = self._moved
            self._wait()

    def _too_much(self) -> tuple[int, str, str] | None:
        """What is wrong with the head so far, or with what follows the body; a line without end is among it."""
        if len(self.url) > _URL_BYTES:
            return 414, "url_too_long", f"a URL may have {_URL_BYTES} bytes"
        if len(self.headers) > _FIELDS or self._quiet > _HEAD_BYTES:
            return 431, "head_too_large", f"a request may have {_FIELDS} headers with {_HEAD_BYTES} bytes"
        return None

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _PIPELINED:
            self._stop((429, "pipelined", f"{_PIPELINED} requests of this connection are waiting"))
        super().on_message_begin()
        self._body = 0
        self._headed = self._whole = False
        self._began = self._moved

    def on_headers_complete(self) -> None:
        if self._quiet > _HEAD_BYTES:
            # It came with more behind it: only its own bytes count.
            self._quiet = sum(len(name) + len(value) for name, value in self.headers)
        if refusal := self._too_much():
            self._stop(refusal)
        super().on_headers_complete()
        self._headed, self._quiet = True, 0
        # What follows a chunked body is no header: it is counted, and nobody reads it.
        self.headers = []
        self.scope["extensions"] = self._extensions
        self.cycle.transport = self._hangup
        # Until the body is there the connection cannot be used again.
        self._keeps, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._quiet = 0
        self._whole = True
        self._stop_waiting()
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps and not self._stopping
        super().on_message_complete()
        if self._lingers:
            self.transport.close()

    def on_response_complete(self) -> None:
        self._hangup.flush()
        self._after_reply()

    def _after_reply(self) -> None:
        """What follows any reply: the next request, or a pause."""
        self.server_state.total_requests += 1
        if self.transport.is_closing() and not self._lingers:
            return
        self.flow.resume_reading()
        if self._lingers:
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_at_idle_in(self.timeout_keep_alive)

    def _look_at_idle_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        """One clock for all pauses of a connection: setting and stopping one for each costs more than a look now and
        then at how long this one has lasted.
        """

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has been idle for its time; one in use gets a clock again when it pauses."""
        self.timeout_keep_alive_task = None
        if not self._whole or not self.cycle.response_complete:
            return
        left = self._idle + self.timeout_keep_alive - self.loop.time()
        if left > 0.001:
            self._look_at_idle_in(left)
        else:
            super().timeout_keep_alive_handler()

    def send_whole(self, scope: Any, status: int, body: bytes) -> bool:
        """Send a JSON reply in one write, without the steps that streams need; False where it has to take them."""
        cycle = self.cycle
        if (
            cycle.scope is not scope  # another request has come behind it
            or not cycle.keep_alive
            or cycle.response_started
            or cycle.disconnected
            or cycle.access_log
            or self.flow.write_paused
            or len(body) > JOINED
            or scope["method"] == "HEAD"
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        self.transport.write(plain_reply(status, cycle.default_headers, body))
        cycle.on_response()
        return True

    def shutdown(self) -> None:
        self._stopping = True
        super().shutdown()

    def finish(self) -> None:
        """The reply is written and the connection ends: at once, or when the rest of the request has been dropped."""
        self._hangup.flush()
        if self._whole or self.transport.is_closing():
            self.transport.close()
            return
        self._lingers = True
        self._began = self._moved = self.loop.time()
        self.transport.write_eof()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        self._stop_waiting_for_reader()
        super().resume_writing()

    def _wait_for_reader(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(4 * self.bounds.seconds, self._look_at_reader, left)

    def _look_at_reader(self, before: int) -> None:
        """Who takes some of it reads, however slowly. Closing would wait for the buffer, so the connection is cut."""
        if self.transport.get_write_buffer_size() < before:
            self._wait_for_reader()
        else:
            self._unread = None
            self.transport.abort()

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.bounds.seconds, self._look)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """The deadline, moved on by what has come meanwhile, or the end."""
        now, seconds = self.loop.time(), self.bounds.seconds
        self._timer = None
        if self.flow.read_paused:
            # It is this server that does not read.
            self._began, self._moved = self._began + seconds, now
        allowed = seconds if self._lingers else seconds + self._body / _RATE
        due = min(self._began + allowed, self._moved + seconds)
        if due - now > 0.001:
            self._timer = self.loop.call_at(due, self._look)
        elif self._headed and not self._whole and not self._lingers:
            self._refuse(408, "slow", f"the body did not arrive in {seconds:g} s and {_RATE >> 10} KB a second")
        else:
            self.transport.close()

    def _stop(self, refusal: tuple[int, str, str]) -> None:
        """Refuse from within the parser, which then calls `send_400_response`."""
        self._refusal = refusal
        raise ValueError(refusal[2])

    def send_400_response(self, msg: str) -> None:
        self._refuse(*(self._refusal or (400, "malformed", msg)))

    def _refuse(self, status: int, code: str, message: str) -> None:
        """The connection's last reply; nothing more is read. Cut where another reply is still being made."""
        self._stop_waiting()
        self._deaf = True
        self.headers, self.url = [], b""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not self._headed or cycle.response_started or self.pipeline:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if self._lingers or self.transport.is_closing():
            self.transport.close()
            return
        self.transport.write(refusal(status, code, message))
        self.transport.write_eof()
        self.flow.resume_reading()
        self._timer = self.loop.call_later(min(_LINGER, self.bounds.seconds), self.transport.close)
