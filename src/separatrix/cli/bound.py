"""`separatrix bound`: what a theorem promises for given sizes, term by term."""

import json as as_text
from typing import Annotated, Any

import typer

from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError

THEOREMS = ("theorem4", "corollary5", "theorem12")


def bound(
    theorem: Annotated[
        str, typer.Argument(help=f"One of {', '.join(THEOREMS)} (Malach & Shalev-Shwartz).")
    ],
    n: Annotated[int, typer.Option("--n", help="Bits of an input.")],
    k: Annotated[int, typer.Option("--k", help="Bits of the pattern.")],
    q: Annotated[float, typer.Option("--q", help="Filters, or hidden units.")] = 0.0,
    steps: Annotated[
        float, typer.Option("--T", help="Steps of gradient descent (theorem4).")
    ] = 0.0,
    delta: Annotated[float, typer.Option("--delta", help="Probability of failure.")] = 0.05,
    ceiling: Annotated[float, typer.Option("--c", help="The bound on |σ|.")] = 1.0,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="The loss asked for; gives the smallest q and T.")
    ] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Print what a theorem promises, term by term, and whether it says anything."""
    found = evaluate(theorem, n, k, q, steps, delta, ceiling, epsilon)
    print(
        as_text.dumps(found, indent=1)
        if json
        else "\n".join(f"{name:22} {_shown(item)}" for name, item in found.items())
    )


def evaluate(
    theorem: str,
    n: int,
    k: int,
    q: float = 0.0,
    steps: float = 0.0,
    delta: float = 0.05,
    ceiling: float = 1.0,
    epsilon: float = 0.0,
) -> dict[str, Any]:
    """The terms of a theorem's bound with its verdict, as plain values. Sizes that are 0 were not
    given.

    >>> evaluate("theorem4", n=4, k=2, q=8192, steps=5000)["verdict"]
    'the average loss is at most 0.9144, with probability at least 0.95'
    >>> evaluate("theorem4", n=64, k=6, q=1e6, steps=1e6)["verdict"]
    'vacuous: the network that is zero has loss 1 already'
    >>> evaluate("theorem4", n=4, k=6, q=10, steps=10)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `window` of theorem4 must be an integer in [1, 4], got 6
    """
    if theorem not in THEOREMS:
        raise UnknownNameError("theorem", theorem, THEOREMS)
    out = {
        "theorem4": lambda: _theorem4(n, k, q, steps, delta, ceiling, epsilon),
        "corollary5": lambda: _corollary5(n, k, delta, epsilon),
        "theorem12": lambda: _theorem12(n, k, q, ceiling),
    }[theorem]()
    return {name: _plain(item) for name, item in out.items()}


def _theorem4(
    n: int, k: int, q: float, steps: float, delta: float, ceiling: float, epsilon: float
) -> dict[str, Any]:
    from separatrix.theory.patterns import needed_filters, theorem4, theorem4_sizes

    given = {"--q": q, "--T": steps}
    if not epsilon and not all(given.values()):
        missing = " and ".join(name for name, number in given.items() if not number)
        raise SeparatrixError(
            f"theorem4 needs {missing} (a number >= 1), or --epsilon for the smallest sizes that promise that loss"
        )
    out: dict[str, Any] = {}
    if all(given.values()):
        found = theorem4(n, k, q, steps, delta, ceiling)
        out = {
            "drift": found.drift,
            "comparator": found.comparator,
            "descent": found.descent,
            "total": found.total,
            "rate": found.rate,
        }
        out["filters needed"] = needed_filters(k, delta)
        out |= {condition.text: bool(condition.met) for condition in found.conditions}
        if not found.applies:
            out["verdict"] = "no promise: a condition is not met"
        elif found.vacuous:
            out["verdict"] = "vacuous: the network that is zero has loss 1 already"
        else:
            out["verdict"] = (
                f"the average loss is at most {found.total:.4g}, with probability at least {1 - delta:g}"
            )
    if epsilon:
        sizes = theorem4_sizes(n, k, epsilon, delta, ceiling)
        out |= {"smallest q": sizes.filters, "T at that q": sizes.steps}
        out |= {
            "q of the least work": sizes.cheapest_filters,
            "T of the least work": sizes.cheapest_steps,
        }
    return out


def _corollary5(n: int, k: int, delta: float, epsilon: float) -> dict[str, Any]:
    from separatrix.theory.patterns import corollary5

    if not epsilon:
        raise SeparatrixError("corollary5 needs --epsilon (a number > 0), the loss asked for")
    sizes = corollary5(n, k, epsilon, delta)
    return {
        "q": sizes.filters,
        "T": sizes.steps,
        "samples": sizes.samples,
        "q from theorem 4": sizes.filters_from_theorem4,
        "T from theorem 4": sizes.steps_from_theorem4,
        "verdict": f"orders of magnitude, not promises: {sizes.constants}",
    }


def _theorem12(n: int, k: int, q: float, ceiling: float) -> dict[str, Any]:
    from separatrix.theory.patterns import theorem12

    if q < 0 or q != int(q):
        raise ParameterError("theorem12", "filters", "an integer >= 1", q)
    found = theorem12(n, k, q or 1, ceiling)
    words = (
        "vacuous: no better than q, which Parseval gives for free"
        if found.vacuous
        else "E||dL/dW||^2 is at most `first layer`"
    )
    return {
        "first layer": found.first_layer,
        "readout": found.readout,
        "sharper first layer": found.sharper,
        "verdict": words,
    }


def _plain(item: Any) -> Any:
    if isinstance(item, str | bool):
        return item
    number = float(item)
    if number in (float("inf"), float("-inf")):
        return "more than a float64 holds"
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _shown(item: Any) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    return f"{item:.6g}" if isinstance(item, float) else str(item)
