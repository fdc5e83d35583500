"""Seconds of exact kernel matrices of the three networks, beside the floor of their products; JSON
on stdout.

`python benchmarks/kernels.py --rows 10000`. `wall` and `processor` are the best of `--repeats` runs
after one run that compiles; on a GPU only `wall` says something. `product` is one matrix product of
the inputs, what a linear kernel would take.
"""

import argparse
import json
import time

import jax
import numpy as np

from separatrix.theory.kernels import KernelSpec, shallow_kernel

BITS, WINDOW = 32, 5
SPECS = {
    "FCN, ReLU": KernelSpec("full", bias_scale=1.0),
    "LCN and CNN, ReLU, a readout per position": KernelSpec("local", WINDOW, bias_scale=1.0),
    "CNN, ReLU, pooled": KernelSpec("shared", 4, 4, readout="pooled", bias_scale=1.0),
    "LCN, ReLU, pooled": KernelSpec("local", 4, 4, readout="pooled", bias_scale=1.0),
    "FCN, tanh": KernelSpec("full", activation="tanh", bias_scale=1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    x = np.random.default_rng(0).choice([-1.0, 1.0], (options.rows, BITS)).astype(np.float32)
    began = time.perf_counter()
    (x @ x.T).sum()
    figures = {"product": {"wall": time.perf_counter() - began}}
    for name, spec in SPECS.items():
        shallow_kernel(spec, x[: min(2048, options.rows)], x)  # compiles, but for the block's size
        best = [np.inf, np.inf]
        for _ in range(options.repeats + 1):
            began, busy = time.perf_counter(), time.process_time()
            shallow_kernel(spec, x)
            spent = time.perf_counter() - began, time.process_time() - busy
            best = [min(pair) for pair in zip(best, spent)]
        figures[name] = {"wall": round(best[0], 2), "processor": round(best[1], 2)}
    device = jax.devices()[0].device_kind
    print(json.dumps({"rows": options.rows, "device": device, "seconds": figures}, indent=1))


if __name__ == "__main__":
    main()
