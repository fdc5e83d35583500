"""Pickles that Dask reads in the driver call nothing."""

import os
import pickle

import distributed.client
import distributed.protocol
import distributed.protocol.pickle as protocol
import pytest
from distributed.protocol import Serialize
from distributed.protocol.serialize import ToPickle

from separatrix.engine.execute.secure import (
    PlainPickle,
    Refused,
    no_pickles,
    security_of,
    temporary_certificate,
)
from separatrix.errors import SeparatrixError


class Planted:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("wrap", [ToPickle, Serialize])
def test_a_message_with_a_pickle_calls_nothing(tmp_path, wrap):
    frames = distributed.protocol.dumps({"op": "x", "result": wrap(Planted(tmp_path / "ran"))})
    with no_pickles():
        message = distributed.protocol.loads(frames)
    assert isinstance(message["result"], Refused)
    assert not (tmp_path / "ran").exists()
    distributed.protocol.loads(frames)  # without the guard it does run
    assert (tmp_path / "ran").exists()


def test_plain_values_and_exceptions_are_read():
    with no_pickles():
        for value in (1, 2.5, "a", b"b", [1, (2, {3})], {"k": None}, True):
            assert protocol.loads(protocol.dumps(value)) == value
        error = protocol.loads(protocol.dumps(ValueError("no")))
        assert isinstance(error, ValueError)
        assert error.args == ("no",)
        killed = distributed.KilledWorker("task", "worker", 3)
        assert isinstance(protocol.loads(protocol.dumps(killed)), distributed.KilledWorker)
        for function in (os.system, eval, getattr, type, __import__):
            assert protocol.loads(protocol.dumps(function)) is Refused


def test_the_guard_ends_with_the_last_driver():
    with no_pickles():
        with no_pickles():
            pass
        assert isinstance(protocol.pickle, PlainPickle)
        assert isinstance(distributed.client.pickle, PlainPickle)
    assert protocol.pickle is pickle
    assert distributed.client.pickle is pickle


def test_a_dask_that_reads_pickles_in_another_way_is_refused(monkeypatch):
    monkeypatch.setattr(protocol, "loads", pickle.loads)
    with pytest.raises(SeparatrixError, match="cannot be refused"), no_pickles():
        pass
    assert protocol.pickle is pickle


def test_certificates_differ_and_are_demanded(monkeypatch):
    first, second = temporary_certificate(), temporary_certificate()
    assert first[0] != second[0]
    security = security_of(*first)
    assert security.require_encryption
    assert security.get_connection_args("client")["ssl_context"].verify_mode.name == "CERT_REQUIRED"
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    with pytest.raises(SeparatrixError, match=r"needs the package `cryptography`"):
        temporary_certificate()
