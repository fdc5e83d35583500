"""A server that shows a run in a browser on this machine, and writes nothing.

It answers requests from this machine that know its secret address. The page asks for the state of
the run every two seconds; apart from that, the server only gives out files of the run's `report/`.
"""

import contextlib
import hmac
import http.server
import json
import os
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from markupsafe import Markup

from separatrix.errors import SeparatrixError
from separatrix.files import read_regular
from separatrix.report.content import MARKS
from separatrix.report.html import render, source_hash, template_source
from separatrix.report.live import Watcher

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
}
SLOW = 30.0  # seconds after which a connection ends, however much of it is sent by then
CONNECTIONS = 32  # at a time; further ones are closed at once
FRESH = 1.0  # seconds for which the state of the run is reused
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# A file from the folder may come from anywhere: the sandbox gives it an origin of its own, so that
# it cannot send requests to this server.
FILE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "font-src data:; sandbox allow-scripts allow-downloads; connect-src 'none'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def live_page(folder: str) -> tuple[str, str]:
    """The live page and its security policy.

    The policy allows the page's own style and script and requests to its own server.

    >>> html, policy = live_page("<b>")
    >>> "<b>" in html, "default-src 'none'" in policy
    (False, True)
    """
    style = template_source("page.css") + template_source("live.css")
    script = template_source("live.js")
    html = render(
        "live.html.jinja",
        folder=folder,
        marks=json.dumps(MARKS, ensure_ascii=False),
        style=Markup(style),
        script=Markup(script),
    )
    policy = (
        f"default-src 'none'; style-src '{source_hash(style)}'; "
        f"script-src '{source_hash(script)}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html, policy


def file_of(folder: Path, path: str) -> Path | None:
    """The file of the run's report at a path; None for anything else.

    Folders and links that lead out of the report count as anything else.

    >>> file_of(Path("no-such-folder"), "report/../claims.json") is None
    True
    """
    parts = path.split("/")
    if parts[0] != "report" or any(
        part in ("", ".", "..") or part.startswith(".") or "\\" in part or "\0" in part
        for part in parts
    ):
        return None
    root = Path(os.path.realpath(folder / "report"))
    file = Path(os.path.realpath(root.joinpath(*parts[1:])))
    if not root.is_relative_to(os.path.realpath(folder)) or not file.is_relative_to(root):
        return None
    try:
        return file if file.suffix in TYPES and file.is_file() else None
    except OSError:  # such as a name that is too long
        return None


class LiveServer(http.server.ThreadingHTTPServer):
    """Serves a run's folder on 127.0.0.1; `url` contains the port and a secret word.

    >>> import tempfile
    >>> from separatrix.engine.store.ledger import Ledger
    >>> with LiveServer(Ledger.open(tempfile.mkdtemp()).folder) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True

    def __init__(self, folder: str | os.PathLike[str], port: int = 0):
        self.folder = Path(folder)
        self.word = secrets.token_urlsafe(18)
        self._watcher = Watcher(folder)
        self._lock = threading.Lock()
        self._before = threading.active_count()
        self._state: tuple[float, bytes] = (float("-inf"), b"")
        self.page, self.policy = live_page(str(folder))
        try:
            super().__init__(("127.0.0.1", port), _RequestHandler)
        except (OSError, OverflowError) as error:
            raise SeparatrixError(
                f"cannot listen on port {port}: {getattr(error, 'strerror', None) or error}; "
                "leave --port out to use a free port"
            ) from error

    def server_bind(self) -> None:
        """Bind the port; unlike the base class, do not ask the network for the machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.word}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that a request may use.

        Others are refused: a page elsewhere may have a name that points to this machine.
        """
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    def state(self) -> bytes:
        """The state of the run, as JSON."""
        with self._lock:
            if time.monotonic() - self._state[0] > FRESH:
                report = (self.folder / "report" / "index.html").is_file()
                state = self._watcher.look().plain() | {"report": report}
                text = json.dumps(state, ensure_ascii=False, allow_nan=False)
                self._state = (time.monotonic(), text.encode())
            return self._state[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for another connection."""
        return threading.active_count() - self._before <= CONNECTIONS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser goes away."""


class _RequestHandler(http.server.BaseHTTPRequestHandler):
    server: LiveServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version, sys_version = "separatrix", ""
    timeout = 20  # seconds that a connection may be silent

    def handle(self) -> None:
        """Answer one request; a client that sends or reads too slowly is dropped."""
        timer = threading.Timer(SLOW, self._drop)
        timer.daemon = True
        timer.start()
        try:
            super().handle()
        finally:
            timer.cancel()

    def _drop(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that cannot be understood, with the headers of all other answers."""
        del message, explain
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = "HTTP/1.0"  # 0.9 has no headers
        self.close_connection = True
        self._send(code, b"this request cannot be understood\n")

    def do_GET(self) -> None:
        """Answer, or refuse with 403 (another host) or 404 (no such file)."""
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            return self._send(403, b"this server answers to this machine only\n")
        try:
            path = unquote(urlsplit(self.path).path).removeprefix("/")
        except ValueError:  # such as the address `http://[`
            return self.send_error(400)
        word, slash, rest = path.partition("/")
        if not slash or not hmac.compare_digest(
            word.encode(errors="replace"), self.server.word.encode()
        ):
            return self._send(404, b"not found\n")
        if rest == "":
            return self._send(200, self.server.page.encode(), TYPES[".html"], self.server.policy)
        if rest == "live.json":
            return self._send(200, self.server.state(), "application/json; charset=utf-8")
        file = file_of(self.server.folder, rest)
        try:
            data = None if file is None else read_regular(file)
        except OSError:
            data = None
        if file is None or data is None:
            return self._send(404, b"not found\n")
        return self._send(200, data, TYPES[file.suffix], FILE_POLICY)

    do_HEAD = do_GET

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The base class looks for do_METHOD; every method but GET and HEAD gets the same answer.
        if name.startswith("do_"):
            return lambda: self._send(405, b"this server only reads\n")
        raise AttributeError(name)

    def _send(
        self,
        status: int,
        data: bytes,
        kind: str = "text/plain; charset=utf-8",
        policy: str = "default-src 'none'",
    ) -> None:
        self.send_response(status)
        if status == 405:
            self.send_header("Allow", "GET, HEAD")
        for key, value in {
            **HEADERS,
            "Content-Security-Policy": policy,
            "Content-Type": kind,
            "Content-Length": str(len(data)),
        }.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for each request."""
