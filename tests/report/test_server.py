"""The server of the live page: it only reads, for this machine only, and only serves the report."""

import http.client
import json
import socket
import threading

import pytest
from sample_run import make_run

from separatrix.errors import SeparatrixError
from separatrix.report.server import LiveServer, file_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = make_run(tmp_path_factory.mktemp("served") / "run")
    with LiveServer(folder) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, method="GET", host=None, body=None):
    """Status, headers and text of an answer; the path is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def contents(folder):
    return {
        file: (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_the_page_and_the_state(server):
    before = contents(server.folder)
    status, headers, text = ask(server, f"/{server.word}/")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer", "the address is a secret"
    assert headers["Cache-Control"] == "no-store"
    assert headers.get("Access-Control-Allow-Origin") is None
    assert "<h1>Separatrix</h1>" in text
    status, headers, text = ask(server, f"/{server.word}/live.json")
    told = json.loads(text)
    assert (told["trials"], told["report"]) == (5, True)
    assert told["going"] == {
        "studies": ["sample", "other"],
        "study": "other",
        "what": "thresholds",
        "done": 3,
        "total": 12,
        "ended": False,
    }
    assert [each["text"] for each in told["thresholds"]] == ["41.5 [30.0, 55.0]", "at least 512"]
    assert told["studies"][0]["verdicts"] == {"refuted": 1, "supported": 1, "undecided": 1}
    assert contents(server.folder) == before, "nothing is written"


def test_the_report_and_its_files_are_given_out_in_an_origin_of_their_own(server):
    status, headers, text = ask(server, f"/{server.word}/report/index.html")
    assert status == 200
    assert "The CNN&#39;s risk is lower" in text
    assert (
        "sandbox allow-scripts allow-downloads; connect-src 'none'"
        in headers["Content-Security-Policy"]
    )
    for path, kind in (
        ("report/data/sample-curves.csv", "text/csv"),
        ("report/figures/sample-map.svg", "image/svg+xml"),
    ):
        status, headers, text = ask(server, f"/{server.word}/{path}")
        assert status == 200
        assert headers["Content-Type"].startswith(kind)
        assert int(headers["Content-Length"]) == len(text.encode())


def test_the_head_of_an_answer_has_no_body(server):
    status, headers, text = ask(server, f"/{server.word}/", "HEAD")
    assert (status, text) == (200, "")
    assert int(headers["Content-Length"]) > 1000


@pytest.mark.parametrize(
    "path",
    [
        "claims.json",
        "manifest.json",
        "ledger",
        "ledger/",
        "live.json/",
        "report",
        "report/",
        "report/data",
        "report/data/",
        "report//index.html",
        "report/../claims.json",
        "report/%2e%2e/claims.json",
        "report/..%2fclaims.json",
        "report/%5c..%5cclaims.json",
        "../run/claims.json",
        "report/./index.html",
        "report/index.html%00.csv",
        "report/.hidden.html",
        "report/secret.html",
        "report/out/claims.html",
        "report/no.html",
        "report/data/sample-curves.csv/x",
        "%ff%fe",
        "report/" + "a" * 5000 + ".html",
    ],
)
def test_nothing_else_is_given_out(server, tmp_path, path):
    report = server.folder / "report"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "claims.html").write_text("secret")
    (report / ".hidden.html").write_text("secret")
    for name, target in (("secret.html", outside / "claims.html"), ("out", outside)):
        (report / name).unlink(missing_ok=True)
        (report / name).symlink_to(target)
    status, headers, text = ask(server, f"/{server.word}/{path}")
    assert status == 404
    assert text == "not found\n"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_link_inside_the_report_is_followed_and_a_report_that_leads_out_is_not(tmp_path):
    report = tmp_path / "run" / "report"
    report.mkdir(parents=True)
    (report / "a.html").write_text("a")
    (report / "b.html").symlink_to(report / "a.html")
    assert file_of(tmp_path / "run", "report/b.html") is not None
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report").symlink_to(report)
    assert file_of(tmp_path / "other", "report/a.html") is None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/live.json",
        "/index.html",
        "//live.json",
        "/x/live.json",
        "*",
        "http://127.0.0.1/live.json",
    ],
)
def test_without_the_word_there_is_nothing(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example", " "],
)
def test_other_hosts_are_refused(server, host):
    """A page of another name whose address was made to lead here (DNS rebinding) sends its own
    name.
    """
    assert ask(server, f"/{server.word}/live.json", host=host)[0] == 403


def test_this_machine_may_be_called_localhost(server):
    assert (
        ask(server, f"/{server.word}/live.json", host=f"LocalHost:{server.server_port}")[0] == 200
    )


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "MKCOL", "get"]
)
def test_only_reading(server, method):
    before = contents(server.folder)
    status, headers, _ = ask(server, f"/{server.word}/live.json", method, body=b"{}")
    assert status == 405
    assert headers["Allow"] == "GET, HEAD"
    assert contents(server.folder) == before


def test_it_listens_on_the_loopback_only_and_words_differ(server, tmp_path):
    assert server.server_address[0] == "127.0.0.1"
    with LiveServer(make_run(tmp_path / "run")) as other:
        assert other.server_port != server.server_port
        assert other.word != server.word
        assert len(other.word) >= 20
    with pytest.raises(SeparatrixError, match=f"cannot listen on port {server.server_port}"):
        LiveServer(tmp_path / "run", server.server_port)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(SeparatrixError, match="is not a folder of results"):
        LiveServer(tmp_path)


def raw(server, data, wait=5.0):
    """What the server answers to bytes that are perhaps no request."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=wait) as one:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := one.recv(65536):
            answer += piece
        return answer


@pytest.mark.parametrize(
    "data",
    [
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(200)) + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\xff\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
    ],
)
def test_malformed_requests_get_the_same_headers(server, data):
    data = data.replace(b"PORT", str(server.server_port).encode())
    head = raw(server, data).split(b"\r\n\r\n")[0].decode("latin-1")
    if b"HTTP" in data or head:  # a request of HTTP 0.9 has no headers to answer with
        assert "Content-Security-Policy: default-src 'none'" in head
        assert "X-Content-Type-Options: nosniff" in head
        assert "text/html" not in head


def test_files_have_a_policy_that_begins_with_nothing(server):
    status, headers, _ = ask(server, f"/{server.word}/report/index.html")
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_a_slow_client_is_dropped(server, monkeypatch):
    monkeypatch.setattr("separatrix.report.server.SLOW", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as one:
        one.sendall(b"GET / HTTP/1.1\r\nX-")  # and never the rest
        assert one.recv(1000) == b""


def test_too_many_clients_are_turned_away(server, monkeypatch):
    monkeypatch.setattr("separatrix.report.server.CONNECTIONS", -1000)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(server, f"/{server.word}/")
