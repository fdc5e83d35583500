"""The command as a whole: help, errors in one sentence, exit status."""

import os
import shlex
import subprocess
import sys

import pytest
from command_line import ESCAPE, one_sentence
from hypothesis import example, given
from hypothesis import strategies as st

import separatrix as sx
from separatrix.cli import main

HEAVY = {"jax", "numpy", "pandas", "pyarrow", "matplotlib", "scipy", "equinox", "optax"}


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["verify", "--help"],
        ["report", "--help"],
        ["doctor", "--help"],
    ],
)
def test_help_and_version_load_nothing_heavy(argv):
    check = (
        "import sys\n"
        f"sys.argv = ['separatrix', *{argv!r}]\n"
        "from separatrix.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code or 0\n"
        f"heavy = {HEAVY!r} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    assert (
        sx.__version__ in done.stdout
        if argv == ["--version"]
        else "Usage: separatrix" in done.stdout
    )


@pytest.mark.parametrize(
    "argv, words",
    [
        (["run", "signal-frist"], "there is no study `signal-frist`; did you mean `signal-first`"),
        (["run", ""], "there is no study ``"),
        (
            ["run", "signal-first", "--scale", "tiny"],
            "must be one of 'quick', 'laptop', 'full', got 'tiny'",
        ),
        (
            ["run", "signal-first", "--budget", "soon"],
            "a budget must be a positive time such as 90s, 2m or 1h, got 'soon'",
        ),
        (["run", "signal-first", "--budget", "0"], "a budget must be a positive time"),
        (["run", "signal-first", "--budget", "-5s"], "a budget must be a positive time"),
        (
            ["run", "signal-first", "--set", "seeds"],
            "a change must have the form study.setting=value, got 'seeds'",
        ),
        (["run", "signal-first", "--set", "seeds=many"], "must be an integer, got 'many'"),
        (["run", "signal-first", "--set", "seedz=1"], "did you mean `seed` or `seeds`"),
        (
            ["run", "signal-first", "--set", "pattern-readout.bits=3"],
            "there is no study in this run `pattern-readout`",
        ),
        (
            ["run", "signal-first", "--set", "seeds=0"],
            "the `seeds` of signal-first must be an integer >= 2, got 0",
        ),
        (
            ["run", "signal-first", "--set", "noise=-1"],
            "the `noise` of SignalTask must be a number > 0, got -1.0",
        ),
        (
            ["run", "signal-first", "--set", "steps=0"],
            "the `steps` of Learner must be an integer >= 1, got 0",
        ),
        (
            ["verify", "--set", "seeds=3"],
            "a change must name its study, as in signal-first.seeds=3",
        ),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_mistakes_are_one_sentence(cli, argv, words, dry):
    one_sentence(cli(*argv, *(["--dry-run"] if dry else [])), words)


@pytest.mark.parametrize(
    "argv",
    [
        ["fly"],
        ["run"],
        ["run", "signal-first", "extra"],
        ["run", "signal-first", "--fly"],
        ["run", "signal-first", "--seed", "x"],
        ["run", "signal-first", "--seed", "-1"],
        ["run", "signal-first", "--seed", "1000001"],
        ["run", "signal-first", "--workers", "-2"],
        ["run", "signal-first", "--scale"],
        ["report"],
        ["list", "--quietly"],
    ],
)
def test_usage_errors_end_with_status_2(cli, argv):
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    assert "Error: " in err
    assert ESCAPE not in err


def test_without_arguments_the_help_is_shown(cli):
    code, out, err = cli()
    assert code in (0, 2)  # versions of typer differ
    assert "Usage: separatrix" in out + err


def test_ctrl_c_before_any_trial_is_one_sentence(cli, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("separatrix.studies.jobs", interrupt)
    one_sentence(cli("run", "signal-first"), "interrupted")


def test_an_unforeseen_error_is_one_sentence_too(cli, monkeypatch, capfd):
    def fail(*_):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("separatrix.studies.jobs", fail)
    monkeypatch.setattr(sys, "argv", ["separatrix", "run", "signal-first"])
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capfd.readouterr()
    assert (end.value.code, out) == (1, "")
    assert err == (
        "separatrix: internal error, please report it: RuntimeError: first line "
        "(SEPARATRIX_DEBUG=1 shows where)\n"
    )
    monkeypatch.setenv("SEPARATRIX_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main.main()


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


values = st.one_of(
    texts,
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["", "seeds=", "noise=1e400", "windows=()", "90s", "1e3m"]),
)


options = st.lists(
    st.tuples(
        st.sampled_from(
            ["--scale", "--seed", "--budget", "--set", "--workers", "--fly", "-q", "--json"]
        ),
        values,
    ).map(list),
    max_size=4,
)


@given(st.sampled_from(["signal-first", "pattern-readout"]), options, st.lists(texts, max_size=1))
@example("signal-first", [["--set", "seeds=99999999999999999999"]], [])
@example("signal-first", [["--set", "patches=99999999999999999999"]], [])
@example("signal-first", [["--set", "samples=2147483647"]], [])
@example("signal-first", [["--set", "bias=-1"]], [])
@example("pattern-readout", [["--set", "windows=9" * 3]], [])
@example("pattern-readout", [["--budget", "9" * 400]], [])
@example("pattern-readout", [["--budget", "٣s"]], [])
def test_any_arguments_end_with_a_status_and_no_traceback(study, options, more):
    words = [
        word
        for option in options
        for word in (option[:1] if option[0] in ("-q", "--json") else option)
    ]
    ends_well(["run", study, "--dry-run", *words, *more])


@given(st.lists(texts, max_size=4))
@example(["--", "run"])
@example(["run", "--out"])
def test_any_words_end_with_a_status_and_no_traceback(words):
    ends_well([*words, "--dry-run"] if words[:1] in (["run"], ["verify"]) else words)


def ends_well(argv):
    with pytest.MonkeyPatch.context() as patch, open(os.devnull, "w") as nowhere:
        patch.setattr(sys, "argv", ["separatrix", *argv])
        patch.setattr(sys, "stdout", nowhere)
        said = []
        patch.setattr(main, "_fail", lambda sentence: said.append(sentence) or sys.exit(1))
        patch.setattr(sys, "stderr", nowhere)
        with pytest.raises(SystemExit) as end:
            main.main()
    assert (end.value.code or 0) in (0, 1, 2)
    assert all("internal error" not in sentence and "\n" not in sentence for sentence in said)


def separatrix(*argv, before="", **options):
    """Run the command in a shell, as its own process."""
    command = shlex.join([sys.executable, "-m", "separatrix.cli.main", *argv])
    return subprocess.run(
        f"{before}{command}{options.pop('after', '')}",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | options,
    )


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux does it")


@LINUX
@pytest.mark.parametrize(
    "argument, case, words",
    [
        ("list", {"after": " > /dev/full"}, "cannot write to standard output: No space left on"),
        ("--version", {"after": " > /dev/full"}, "cannot write to standard output: No space"),
        ("list", {"before": "ulimit -v 900000; "}, "address space (ulimit -v) is 900000 KiB"),
    ],
)
def test_surroundings_that_do_not_fit_are_one_sentence(argument, case, words):
    said = separatrix(argument, PYTHONUNBUFFERED="", **case)
    assert said.returncode == 1
    assert words in said.stderr
    assert len(said.stderr.splitlines()) == 1


@LINUX
def test_a_closed_output_and_a_terminal_without_unicode_are_no_errors():
    closed = separatrix("list", after=" >&- 2>&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    ascii_only = separatrix(
        "list", "--claims", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0"
    )
    assert ascii_only.returncode == 0, ascii_only.stderr
    assert ascii_only.stdout.isascii()


@pytest.mark.parametrize("command", ["report", "watch", "serve", "run"])
def test_a_name_that_is_too_long_is_one_sentence(command):
    long = "x" * 300
    argv = ["equivariance", "--out", long] if command == "run" else [long]
    said = separatrix(command, *argv)
    assert said.returncode == 1
    assert "internal error" not in said.stderr
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "error, words",
    [
        (MemoryError(), "not enough memory"),
        (PermissionError(13, "Permission denied", "/no/x"), "Permission denied ('/no/x')"),
        (OSError(28, "No space left on device"), "cannot write to standard output"),
    ],
)
def test_errors_of_the_system_are_not_called_internal(monkeypatch, capfd, error, words):
    def fail(**_):
        raise error

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setattr(main, "_forget_output", lambda: None)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 1
    said = capfd.readouterr().err
    assert words in said
    assert "internal" not in said
