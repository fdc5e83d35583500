"""A run's folder in a browser on this machine: read only, for this machine only, for those who know
the address only.

The page asks for the run's state every two seconds. Beside it only files of the run's `report/` are
given out.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import secrets
import socketserver
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jinja2
from markupsafe import Markup

from separatrix.errors import SeparatrixError
from separatrix.report.content import MARKS
from separatrix.report.live import Watcher

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
}
FRESH = 1.0  # seconds for which one look serves all who ask
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# A file from the folder may come from anywhere: it gets an origin of its own, so that it can
# neither ask this server nor be asked.
FILE_POLICY = "sandbox allow-scripts allow-downloads; connect-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def live_page(folder: str) -> tuple[str, str]:
    """The live page, and its security policy: its own style and script, requests to its own server,
    nothing else.

    >>> html, policy = live_page("<b>")
    >>> "<b>" in html, "default-src 'none'" in policy
    (False, True)
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("separatrix.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )

    def part(name: str) -> str:
        return environment.loader.get_source(environment, name)[0]  # pyright: ignore[reportOptionalMemberAccess]

    style, script = part("page.css") + part("live.css"), part("live.js")
    given = {
        "folder": folder,
        "marks": json.dumps(MARKS, ensure_ascii=False),
        "style": Markup(style),
        "script": Markup(script),
    }
    html = environment.get_template("live.html.jinja").render(**given)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in (style, script)
    ]
    sources = f"style-src {hashes[0]}; script-src {hashes[1]}; connect-src 'self'"
    return (
        html,
        f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )


def file_of(folder: Path, path: str) -> Path | None:
    """The file of the run's report that a path means; None for anything else, such as folders and
    links that lead out.

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
    found = Path(os.path.realpath(root.joinpath(*parts[1:])))
    if not root.is_relative_to(os.path.realpath(folder)) or not found.is_relative_to(root):
        return None
    try:
        return found if found.suffix in TYPES and found.is_file() else None
    except OSError:  # such as a name that is too long
        return None


class LiveServer(http.server.ThreadingHTTPServer):
    """Serves a run's folder on 127.0.0.1, at a port and under a word that nobody can guess: `url`
    has both.

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
        self._look: tuple[float, bytes] = (float("-inf"), b"")
        self.page, self.policy = live_page(str(folder))
        try:
            super().__init__(("127.0.0.1", port), _Answer)
        except (OSError, OverflowError) as error:
            raise SeparatrixError(
                f"cannot listen on port {port}: {getattr(error, 'strerror', None) or error}; leave --port out"
            ) from error

    def server_bind(self) -> None:
        """Take the port; the machine's name, for which the base class may ask the network, is not
        needed.
        """
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_port}/{self.word}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which a browser on this machine may ask; a page of another name that
        leads here is refused.
        """
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    def state(self) -> bytes:
        """What the folder tells now, as JSON."""
        with self._lock:
            if time.monotonic() - self._look[0] > FRESH:
                report = (self.folder / "report" / "index.html").is_file()
                told = self._watcher.look().plain() | {"report": report}
                self._look = (
                    time.monotonic(),
                    json.dumps(told, ensure_ascii=False, allow_nan=False).encode(),
                )
            return self._look[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error to print."""


class _Answer(http.server.BaseHTTPRequestHandler):
    server: LiveServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version, sys_version = "separatrix", ""
    timeout = 20  # seconds that a connection may be silent

    def do_GET(self) -> None:
        """Answer, or say no with one of 403 (another host), 404 (no such thing here)."""
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            return self._send(403, b"this server answers to this machine only\n")
        path = unquote(urlsplit(self.path).path).removeprefix("/")
        word, slash, rest = path.partition("/")
        if not slash or not hmac.compare_digest(
            word.encode(errors="replace"), self.server.word.encode()
        ):
            return self._send(404, b"not found\n")
        if rest == "":
            return self._send(200, self.server.page.encode(), TYPES[".html"], self.server.policy)
        if rest == "live.json":
            return self._send(200, self.server.state(), "application/json; charset=utf-8")
        found = file_of(self.server.folder, rest)
        try:
            data = None if found is None else found.read_bytes()
        except OSError:
            data = None
        if found is None or data is None:
            return self._send(404, b"not found\n")
        return self._send(200, data, TYPES[found.suffix], FILE_POLICY)

    do_HEAD = do_GET

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The base class looks for do_METHOD: every other method gets one answer.
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
        """Nothing is printed for each request."""
