"""`separatrix bound`: a theorem's bound for given sizes, term by term."""

from typing import Annotated, Any

import typer

from separatrix.cli.options import Json
from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError

THEOREMS = ("theorem4", "corollary5", "theorem12")


def bound(
    theorem: Annotated[
        str, typer.Argument(help=f"One of {', '.join(THEOREMS)} (Malach & Shalev-Shwartz).")
    ],
    n: Annotated[int, typer.Option("--n", help="Bits of an input.")],
    k: Annotated[int, typer.Option("--k", help="Bits of the pattern.")],
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
    json: Json = False,
) -> None:
    """Print a theorem's bound term by term, and whether it is vacuous."""
    from separatrix.cli.output import print_json

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
    terms = {
        "theorem4": lambda: _theorem4(n, k, q, steps, delta, ceiling, epsilon, local),
        "corollary5": lambda: _corollary5(n, k, delta, ceiling, epsilon, local),
        "theorem12": lambda: _theorem12(n, k, q, ceiling),
    }[theorem]()
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
