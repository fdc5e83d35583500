"""Specs: every valid combination constructs and makes its round trips; every invalid value is one
sentence.
"""

import dataclasses
import fractions
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    UnknownNameError,
    check_integer,
    check_number,
    shown,
)
from separatrix.spec import Spec, digest, from_message, importable, to_message

positive = st.floats(1e-3, 1e3)
ordinary = st.floats(-1e3, 1e3)
counts = st.integers(1, 50)


@st.composite
def signal_tasks(draw):
    patches = draw(st.integers(2, 30))
    label = draw(st.sampled_from(["sign", "product"]))
    position = "random" if label == "product" else draw(st.sampled_from(["random", "fixed"]))
    signals = (
        2 if label == "product" else 1 if position == "fixed" else draw(st.integers(1, patches))
    )
    share = st.none() | st.floats(0, 1)
    noise = draw(st.sampled_from(["gaussian", "laplace", "uniform", "sign"]))
    return sx.SignalTask(
        patches,
        draw(counts),
        draw(positive),
        position,
        signals,
        label,
        noise,
        draw(share),
        draw(share),
    )


@st.composite
def pattern_tasks(draw):
    bits = draw(st.integers(1, 40))
    rule = draw(st.sampled_from(["parity", "random", "table"]))
    window = draw(st.integers(1, min(bits, 40 if rule == "parity" else 6)))
    spread = draw(st.booleans())
    start = 0 if spread else draw(st.integers(0, bits - window))
    table = (
        tuple(draw(st.lists(st.sampled_from([-1, 1]), min_size=2**window, max_size=2**window)))
        if rule == "table"
        else ()
    )
    chance = draw(st.floats(0, 1, exclude_min=True))
    return sx.PatternTask(
        bits,
        window,
        start,
        rule,
        draw(st.integers(0, 2**31 - 1)),
        table,
        chance,
        spread,
        draw(st.booleans()),
    )


activations = st.one_of(
    st.just(sx.ReLU()),
    st.just(sx.Tanh()),
    st.builds(sx.ClippedReLU, positive),
    st.builds(sx.LSA, st.floats(0, 10)),
)
initials = st.builds(
    sx.Initial,
    st.sampled_from(["scaled", "normal", "directions", "signs"]),
    positive,
    st.floats(0, 10),
)
schedules = st.one_of(
    ordinary,
    st.builds(sx.Constant, ordinary),
    st.builds(sx.Ramp, ordinary, ordinary, st.floats(0.01, 1)),
    st.builds(sx.Stages, ordinary, ordinary),
)


@st.composite
def networks(draw):
    connectivity = draw(st.sampled_from(["full", "local", "shared"]))
    per_axis = st.integers(1, 5) | st.tuples(st.integers(1, 5), st.integers(1, 5))
    field = None if connectivity == "full" else draw(per_axis)
    initial = draw(initials)
    bias = initial.weights == "signs" or draw(st.booleans())
    readout = draw(st.sampled_from(["positions", "pooled", "sum"]))
    options = {
        "activation": draw(activations),
        "readout": readout,
        "bias": bias,
        "offset": draw(st.booleans()),
    }
    start = (
        sx.CNN(2, draw(counts), **options)
        if connectivity == "full" and draw(st.booleans())
        else None
    )
    return sx.Network(
        connectivity, draw(counts), field, draw(per_axis), initial=initial, start=start, **options
    )


@st.composite
def learners(draw):
    oracle = draw(st.sampled_from(["empirical", "online", "population"]))
    batch = {"empirical": draw(st.integers(0, 99)), "online": draw(counts), "population": 0}[oracle]
    optimizer, options = draw(
        st.sampled_from(
            [
                ("sgd", ()),
                ("sgd", (("momentum", 0.9), ("nesterov", True))),
                ("adam", (("b1", 0.5),)),
                ("adadelta", ()),
            ]
        )
    )
    stop = draw(
        st.builds(
            sx.Stop,
            target=st.none() | ordinary,
            metric=st.sampled_from(["risk", "loss"]),
            plateau=st.none() | st.floats(0, 1),
            patience=counts,
            ceiling=st.floats(0, 1e9),
        )
    )
    train = tuple(
        draw(
            st.lists(
                st.sampled_from(["weights", "bias", "readout", "offset"]),
                min_size=1,
                max_size=4,
                unique=True,
            )
        )
    )
    return sx.Learner(
        draw(schedules),
        draw(counts),
        draw(st.sampled_from(["hinge", "logistic", "squared", "correlation"])),
        oracle,
        batch,
        optimizer,
        options,
        draw(st.sampled_from(["none", "ball", "sphere"])),
        train=train,
        stop=stop,
    )


@st.composite
def trials(draw):
    task = draw(signal_tasks() | pattern_tasks())
    learner = draw(learners())
    network = draw(st.sampled_from([sx.FCN(3), sx.LCN(1), sx.CNN(1, 4, activation=sx.LSA(0.1))]))
    probes = ("risk", "alignment") if isinstance(task, sx.SignalTask) else ("loss", "weight_norm")
    measure = sx.Measure(probes, draw(counts), draw(counts), draw(st.sampled_from(["even", "log"])))
    samples = draw(counts) if learner.oracle == "empirical" else 0
    return sx.Trial(task, network, learner, samples, draw(st.integers(0, 2**63 - 1)), measure)


specs = st.one_of(signal_tasks(), pattern_tasks(), networks(), learners(), trials())


def _without_defaults(spec):
    out = {"type": type(spec).__name__}
    for field in dataclasses.fields(spec):
        item = getattr(spec, field.name)
        if (
            field.default is not dataclasses.MISSING
            and item == field.default
            and type(item) is type(field.default)
        ):
            continue
        out[field.name] = (
            _without_defaults(item) if isinstance(item, Spec) else spec.describe()[field.name]
        )
    return out


@settings(max_examples=150)
@given(specs)
def test_every_valid_combination_makes_its_round_trips(spec):
    plain = spec.describe()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["type"] == type(spec).__name__
    assert list(plain)[1:] == [field.name for field in dataclasses.fields(spec)]

    assert importable(spec)
    again = from_message(json.loads(json.dumps(to_message(spec))))
    assert again == spec
    assert type(again) is type(spec)
    assert hash(again) == hash(spec)
    assert again.describe() == plain
    assert digest(again.describe()) == digest(plain)

    assert spec.replace() == spec
    assert (
        spec.replace(**{f.name: getattr(spec, f.name) for f in dataclasses.fields(spec)}).describe()
        == plain
    )

    # The identity: what is said, without what stands at its default, and from it the whole spec
    # follows again.
    said = json.loads(spec.canonical())
    assert said == _without_defaults(spec)
    columns = spec.columns()
    assert not any(isinstance(item, dict | list | tuple) for item in columns.values())
    assert columns["type"] == plain["type"]


VALID = {
    "SignalTask": sx.SignalTask(4, 3, 0.3),
    "PatternTask": sx.PatternTask(8, 3),
    "Network": sx.CNN(2, 3),
    "full Network": sx.FCN(3),
    "Initial": sx.Initial(),
    "ClippedReLU": sx.ClippedReLU(),
    "LSA": sx.LSA(),
    "Learner": sx.Learner(1.0, 5),
    "Constant": sx.Constant(1.0),
    "Ramp": sx.Ramp(0.0, 1.0),
    "Stages": sx.Stages(0.0, 1.0),
    "Stop": sx.Stop(),
    "Measure": sx.Measure(),
    "Trial": sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(2), sx.Learner(1.0, 5), 8),
}
STRANGE = [
    None,
    "",
    "nonsense",
    "1",
    b"1",
    float("nan"),
    float("inf"),
    -float("inf"),
    True,
    False,
    -1,
    0,
    1,
    2,
    3.5,
    10**30,
    10**400,
    -(10**400),
    10**5000,
    np.float32(0.5),
    np.float64("nan"),
    np.int64(2),
    np.bool_(True),
    np.ones(2),
    1j,
    (),
    (1,),
    (1, -1),
    (1.5,),
    ("x",),
    (None,),
    ((1, 2), (3,)),
    (("a", 10**5000),),
    (float("nan"),),
    [],
    [1],
    {},
    {"a": 1},
    {1},
    object(),
    int,
    len,
    sx.ReLU(),
    sx.Stop(),
    sx.FCN(1),
    sx.SignalTask(2, 2, 1.0),
    sx.Constant(1.0),
    fractions.Fraction(1, 3),
]


@pytest.mark.filterwarnings(
    "ignore:A JAX array is being set as static"
)  # equinox says so before the spec refuses it
@pytest.mark.parametrize("which", VALID)
def test_every_strange_value_in_every_field_is_accepted_and_hashable_or_refused_in_one_sentence(
    which,
):
    spec = VALID[which]
    for field in dataclasses.fields(spec):
        for strange in STRANGE:
            try:
                made = spec.replace(**{field.name: strange})
            except SeparatrixError as error:
                sentence = str(error)
                assert "\n" not in sentence, sentence
                assert len(sentence) < 600, sentence  # the longest lists all probes
                if isinstance(error, ParameterError):
                    assert re.fullmatch(r"the `[\w ]+` of [\w ]+ must be .+, got .+", sentence), (
                        sentence
                    )
                continue
            # What is accepted must be usable: it has an identity, survives the trip to a worker,
            # and names a type.
            assert digest(made.describe())
            assert (
                from_message(json.loads(json.dumps(to_message(made)))).describe() == made.describe()
            )


REFUSED = [
    (lambda: sx.SignalTask(0, 3, 0.3), "patches"),
    (lambda: sx.SignalTask(True, 3, 0.3), "patches"),
    (lambda: sx.SignalTask("4", 3, 0.3), "patches"),
    (lambda: sx.SignalTask(4.0, 3, 0.3), "patches"),
    (lambda: sx.SignalTask(2**31, 3, 0.3), "patches"),
    (lambda: sx.SignalTask(4, None, 0.3), "dimension"),
    (lambda: sx.SignalTask(4, 3, 0.0), "noise"),
    (lambda: sx.SignalTask(4, 3, "loud"), "noise"),
    (lambda: sx.SignalTask(4, 3, float("nan")), "noise"),
    (lambda: sx.SignalTask(4, 3, 10**400), "noise"),
    (lambda: sx.SignalTask(4, 3, 0.3, signals=5), "signals"),
    (lambda: sx.SignalTask(4, 3, 0.3, label="product"), "signals"),
    (lambda: sx.SignalTask(4, 3, 0.3, position="fixed", signals=2), "signals"),
    (lambda: sx.SignalTask(4, 3, 0.3, position=None), "position"),
    (lambda: sx.SignalTask(4, 3, 0.3, dependence=1.5), "dependence"),
    (lambda: sx.PatternTask("8", 3), "bits"),
    (lambda: sx.PatternTask(8, 9), "window"),
    (lambda: sx.PatternTask(8, 3, start=6), "start"),
    (lambda: sx.PatternTask(8, 3, start=1, spread=True), "start"),
    (lambda: sx.PatternTask(8, 3, spread="yes"), "spread"),
    (lambda: sx.PatternTask(30, 21, rule="random"), "window"),
    (lambda: sx.PatternTask(8, 1, rule="table"), "table"),
    (lambda: sx.PatternTask(8, 1, rule="table", table=(1, 0)), "table"),
    (lambda: sx.PatternTask(8, 1, rule="table", table=None), "table"),
    (lambda: sx.PatternTask(8, 1, table=(1, -1)), "table"),
    (lambda: sx.PatternTask(8, 3, probability=0.0), "probability"),
    (lambda: sx.FCN(3, field=2), "field"),
    (lambda: sx.CNN(None), "field"),
    (lambda: sx.CNN(0), "field"),
    (lambda: sx.CNN(2.5), "field"),
    (lambda: sx.CNN((1, 2, 3)), "field"),
    (lambda: sx.CNN(2, stride=None), "stride"),
    (lambda: sx.CNN(2, stride=(0, 1)), "stride"),
    (lambda: sx.CNN(2, bias=1), "bias"),
    (lambda: sx.CNN(2, bias=False, initial=sx.Initial("signs")), "bias"),
    (lambda: sx.CNN(2, activation=None), "activation"),
    (lambda: sx.CNN(2, activation="relu"), "activation"),
    (lambda: sx.CNN(2, initial=sx.ReLU()), "initial"),
    (lambda: sx.FCN(2, start=sx.ReLU()), "start"),
    (lambda: sx.FCN(2, readout="sum", start=sx.CNN(2, readout="pooled")), "start"),
    (lambda: sx.FCN(2, bias=False, start=sx.CNN(2)), "start"),
    (lambda: sx.Learner("fast", 5), "rate"),
    (lambda: sx.Learner(float("nan"), 5), "level"),
    (lambda: sx.Learner(None, 5), "rate"),
    (lambda: sx.Learner(1.0, 0), "steps"),
    (lambda: sx.Learner(1.0, 5, oracle="online"), "batch"),
    (lambda: sx.Learner(1.0, 5, oracle="population", batch=3), "batch"),
    (lambda: sx.Learner(1.0, 5, optimizer="addam"), "optimizer"),
    (lambda: sx.Learner(1.0, 5, optimizer="lbfgs"), "optimizer"),
    (lambda: sx.Learner(1.0, 5, optimizer="adam", options=(("b1", "x"),)), "optimizer"),
    (lambda: sx.Learner(1.0, 5, options=(("momentum", float("nan")),)), "options"),
    (lambda: sx.Learner(1.0, 5, options=[("momentum", 0.9)]), "options"),
    (lambda: sx.Learner(1.0, 5, train=()), "train"),
    (lambda: sx.Learner(1.0, 5, train=None), "train"),
    (lambda: sx.Learner(1.0, 5, train=("weight",)), "train"),
    (lambda: sx.Learner(1.0, 5, stop=None), "stop"),
    (lambda: sx.Learner(1.0, 5, lsa_bias="ramp"), "lsa_bias"),
    (lambda: sx.Stop(plateau=2.0), "plateau"),
    (lambda: sx.Measure(probes="risk"), "probes"),
    (lambda: sx.Measure(test=0), "test"),
    (lambda: VALID["Trial"].replace(task=None), "task"),
    (lambda: VALID["Trial"].replace(network=sx.Learner(1.0, 5)), "network"),
    (lambda: VALID["Trial"].replace(samples=0), "samples"),
    (lambda: VALID["Trial"].replace(learner=sx.Learner(1.0, 5, oracle="population")), "samples"),
    (lambda: VALID["Trial"].replace(seed=-1), "seed"),
    (lambda: VALID["Trial"].replace(seed=2**63), "seed"),
    (lambda: VALID["Trial"].replace(network=sx.CNN(5)), "field"),
    (lambda: VALID["Trial"].replace(network=sx.CNN((2, 2))), "field"),
    (lambda: VALID["Trial"].replace(learner=sx.Learner(1.0, 5, lsa_bias=0.1)), "lsa_bias"),
]


@pytest.mark.parametrize("make, name", REFUSED)
def test_invalid_values_are_refused_by_name(make, name):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name
    assert f"the `{name}` of " in str(caught.value)
    assert str(caught.value).endswith(f"got {shown(caught.value.value)}")


def test_unknown_probes_suggest_the_nearest_and_may_have_any_type():
    with pytest.raises(UnknownNameError, match="did you mean `alignment`"):
        sx.Measure(("alignmnt",))
    with pytest.raises(UnknownNameError):
        sx.Measure((5,))


def test_replace_names_the_parameters_that_there_are():
    with pytest.raises(
        SeparatrixError, match=r"SignalTask has no parameter `sigma`; it has .*`noise`"
    ):
        sx.SignalTask(4, 3, 0.3).replace(sigma=1.0)


def test_equal_numbers_of_other_types_are_the_same_spec():
    plain = sx.SignalTask(4, 3, 1.0)
    for other in [
        sx.SignalTask(4, 3, 1),
        sx.SignalTask(np.int64(4), np.int32(3), np.float32(1)),
        sx.SignalTask(4, 3, fractions.Fraction(1)),
    ]:
        assert other == plain
        assert digest(other.describe()) == digest(plain.describe())
        assert type(other.noise) is float
        assert type(other.patches) is int
    assert (
        sx.Learner(1, 5) == sx.Learner(np.int64(1), np.int64(5)) == sx.Learner(sx.Constant(1.0), 5)
    )


def test_digest_tells_plain_values_apart_and_refuses_nan():
    values = [0, "0", None, [], {}, [0], {"a": 0}, {"a": None}, 0.5, False]
    assert len({digest(v) for v in values}) == len(values)
    with pytest.raises(ValueError):
        digest(float("nan"))


def test_columns_nest_with_dots_and_write_tuples_as_json():
    columns = sx.Learner(1.0, 5, train=("weights", "readout")).columns()
    assert columns["rate.type"] == "Constant"
    assert columns["rate.level"] == 1.0
    assert columns["train"] == '["weights", "readout"]'
    assert columns["lsa_bias"] is None


def test_specs_that_another_process_cannot_import_are_known():
    class Local(Spec):
        pass

    assert not importable(Local())
    assert importable(VALID["Trial"])


def test_specs_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        sx.SignalTask(4, 3, 0.3).noise = 1.0


@given(st.integers() | st.floats() | st.text() | st.none() | st.booleans())
def test_checks_accept_exactly_what_they_say(given_value):
    def accepted(check, **bounds):
        try:
            check("Owner", "name", given_value, **bounds)
        except ParameterError:
            return False
        return True

    is_int = isinstance(given_value, int) and not isinstance(given_value, bool)
    is_number = is_int or (isinstance(given_value, float) and np.isfinite(given_value))
    assert accepted(check_integer, low=-5, high=5) == (is_int and -5 <= given_value <= 5)
    assert accepted(check_number, low=0, open_low=True) == (is_number and given_value > 0)
    assert accepted(check_number, high=1.0) == (is_number and given_value <= 1)


def test_values_too_long_or_impossible_to_show_are_cut():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    assert len(shown("x" * 1000)) == 60
    assert "Mute" in shown(Mute())
    assert "int" in shown(10**5000)
