"""`separatrix bound`: a theorem's bound, or a floor, for given sizes, term by term."""

from typing import Annotated, Any

import typer

from separatrix.cli.options import Json, one_of
from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError

THEOREMS = ("theorem4", "corollary5", "theorem12", "floor")


def bound(
    theorem: Annotated[
        str,
        typer.Argument(
            help="A theorem of Malach & Shalev-Shwartz, or floor: the samples that no equivariant "
            "learner can do without (the task of Lahoti et al.).",
            **one_of(*THEOREMS),
        ),
    ],
    n: Annotated[int, typer.Option("--n", help="Bits of an input.")] = 0,
    k: Annotated[int, typer.Option("--k", help="Bits of the pattern; patches (floor).")] = 0,
    q: Annotated[float, typer.Option("--q", help="Number of filters or hidden units.")] = 0.0,
    steps: Annotated[
        float, typer.Option("--T", help="Steps of gradient descent (theorem4).")
    ] = 0.0,
    delta: Annotated[float, typer.Option("--delta", help="Probability of failure.")] = 0.05,
    ceiling: Annotated[float, typer.Option("--c", help="Upper bound of |σ|.")] = 1.0,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="The loss to reach; prints the smallest q and T.")
    ] = 0.0,
    local: Annotated[
        bool,
        typer.Option(
            "--local", help="For a locally connected network (theorem4, corollary5; Section 3.1)."
        ),
    ] = False,
    network: Annotated[
        str,
        typer.Option("--network", help="The network (floor).", **one_of("CNN", "LCN", "FCN")),
    ] = "",
    d: Annotated[int, typer.Option("--d", help="Dimension of a patch (floor).")] = 0,
    noise: Annotated[
        float | None, typer.Option("--noise", help="Standard deviation of the noise (floor).")
    ] = None,
    alignment: Annotated[
        float | None,
        typer.Option("--alignment", help="The patch alignment to reach (floor). [default: 0.8]"),
    ] = None,
    risk: Annotated[float | None, typer.Option("--risk", help="The risk to reach (floor).")] = None,
    json: Json = False,
) -> None:
    """Print a theorem's bound term by term, and whether it is vacuous; or a floor."""
    from separatrix.cli.output import print_json

    if theorem == "floor":
        terms = evaluate_floor(network, k, d, noise, alignment, risk)
    else:
        terms = evaluate(theorem, n, k, q, steps, delta, ceiling, epsilon, local)
    if json:
        print_json(terms)
        return
    for name, value in terms.items():
        print(f"{name:22} {_shown(value)}")


def evaluate(
    theorem: str,
    n: int,
    k: int,
    q: float = 0.0,
    steps: float = 0.0,
    delta: float = 0.05,
    ceiling: float = 1.0,
    epsilon: float = 0.0,
    local: bool = False,
) -> dict[str, Any]:
    """The terms of a theorem's bound with its verdict, as plain values.

    A size of 0 means that it is not given.

    >>> evaluate("theorem4", n=4, k=2, q=8192, steps=5000)["verdict"]
    'the average loss is at most 0.9144, with probability at least 0.95'
    >>> evaluate("theorem4", n=64, k=6, q=1e6, steps=1e6)["verdict"]
    'vacuous: the zero network has loss 1 already'
    >>> evaluate("theorem4", n=4, k=6, q=10, steps=10)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `window` of theorem4 must be an integer in [1, 4], got 6
    """
    if theorem not in THEOREMS:
        raise UnknownNameError("theorem", theorem, THEOREMS)
    if n < 1:
        raise SeparatrixError(f"{theorem} needs --n (an integer >= 1), the bits of an input")
    terms = {
        "theorem4": lambda: _theorem4(n, k, q, steps, delta, ceiling, epsilon, local),
        "corollary5": lambda: _corollary5(n, k, delta, ceiling, epsilon, local),
        "theorem12": lambda: _theorem12(n, k, q, ceiling),
    }[theorem]()
    return {name: _plain(value) for name, value in terms.items()}


def evaluate_floor(
    network: str,
    k: int,
    d: int,
    noise: float | None,
    alignment: float | None = None,
    risk: float | None = None,
) -> dict[str, Any]:
    """The floor of a network at one cell, with what it is compared with, as plain values.

    Without a target the patch alignment 0.8 is asked for.

    >>> evaluate_floor("FCN", k=20, d=20, noise=0.3)["samples at least"]
    1411
    >>> evaluate_floor("FCN", k=20, d=20, noise=0.3, alignment=1.5)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `alignment` of floor_samples must be a number in (0,
        1), got 1.5
    """
    from separatrix.theory.signal import bayes_risk, bounds_for, floor_samples, information_share

    missing = [
        name
        for name, given in (("--network", network), ("--d", d), ("--noise", noise is not None))
        if not given
    ]
    if missing or noise is None:
        raise SeparatrixError(f"floor needs {' and '.join(missing)}")
    if alignment is not None and risk is not None:
        raise SeparatrixError("floor needs one target: --alignment or --risk")
    if risk is None:
        alignment = 0.8 if alignment is None else alignment
        least = floor_samples(network, k, d, noise, alignment=alignment)
        target = f"patch alignment {alignment:g}"
    else:
        least = floor_samples(network, k, d, noise, risk=risk)
        target = f"risk {risk:g}"
    terms: dict[str, Any] = {"target": target, "samples at least": least}
    for bound in bounds_for(network):
        terms[f"{bound.side} bound, {bound.formula}"] = bound.value(k, d, noise)
    terms |= {
        "share of information": information_share(k, noise).risk,
        "Bayes risk": bayes_risk(k, noise).risk,
        "verdict": f"no learner that is equivariant under the {network}'s group reaches {target} "
        f"on average with fewer than {least} samples",
    }
    return {name: _plain(value) for name, value in terms.items()}


def _theorem4(
    n: int,
    k: int,
    q: float,
    steps: float,
    delta: float,
    ceiling: float,
    epsilon: float,
    local: bool,
) -> dict[str, Any]:
    from separatrix.theory.patterns import needed_filters, theorem4, theorem4_sizes

    sizes = {"--q": q, "--T": steps}
    if not epsilon and not all(sizes.values()):
        missing = " and ".join(name for name, size in sizes.items() if not size)
        raise SeparatrixError(
            f"theorem4 needs {missing} (a number >= 1), or --epsilon for the smallest sizes that "
            "promise that loss"
        )
    terms: dict[str, Any] = {}
    if all(sizes.values()):
        bound = theorem4(n, k, q, steps, delta, ceiling, local)
        terms = {
            "drift": bound.drift,
            "comparator": bound.comparator,
            "descent": bound.descent,
            "total": bound.total,
            "rate": bound.rate,
            "filters needed": needed_filters(k, delta),
        }
        terms |= {condition.text: bool(condition.met) for condition in bound.conditions}
        if not bound.applies:
            terms["verdict"] = "no promise: a condition is not met"
        elif bound.vacuous:
            terms["verdict"] = "vacuous: the zero network has loss 1 already"
        else:
            terms["verdict"] = (
                f"the average loss is at most {bound.total:.4g}, "
                f"with probability at least {1 - delta:g}"
            )
    if epsilon:
        smallest = theorem4_sizes(n, k, epsilon, delta, ceiling, local)
        terms |= {
            "smallest q": smallest.filters,
            "T at that q": smallest.steps,
            "q of the least work": smallest.cheapest_filters,
            "T of the least work": smallest.cheapest_steps,
        }
    return terms


def _corollary5(
    n: int, k: int, delta: float, ceiling: float, epsilon: float, local: bool
) -> dict[str, Any]:
    from separatrix.theory.patterns import corollary5, corollary5_promise

    if not epsilon:
        raise SeparatrixError("corollary5 needs --epsilon (a number > 0), the loss to reach")
    sizes = corollary5(n, k, epsilon, delta)
    promise = corollary5_promise(n, k, epsilon, delta, ceiling, local)
    return {
        "q, printed order": sizes.filters,
        "T, printed order": sizes.steps,
        "samples, printed order": sizes.samples,
        "q": promise.filters,
        "T": promise.steps,
        "weights": promise.weights,
        "VC dimension": promise.dimension,
        "samples": promise.samples,
        "verdict": f"with these q, T and samples the risk is at most {epsilon:g}, with probability "
        f"at least {1 - delta:g}; printed orders have every constant set to 1",
    }


def _theorem12(n: int, k: int, q: float, ceiling: float) -> dict[str, Any]:
    from separatrix.theory.patterns import theorem12

    if q < 0 or q != int(q):
        raise ParameterError("theorem12", "filters", "an integer >= 1", q)
    bound = theorem12(n, k, q or 1, ceiling)
    verdict = (
        "vacuous: no better than q, which follows from Parseval's identity"
        if bound.vacuous
        else "E||dL/dW||^2 is at most `first layer`"
    )
    return {
        "first layer": bound.first_layer,
        "readout": bound.readout,
        "sharper first layer": bound.sharper,
        "verdict": verdict,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool):
        return value
    number = float(value)
    if number in (float("inf"), float("-inf")):
        return "more than a float64 holds"
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
