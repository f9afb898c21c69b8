"""A small network trained by JAX, with switches for what training loops do differently. Its kernels may compute nothing
(on the simulated GPU), so it asserts nothing about losses; it prints what it did.

  jax_train.py [--steps N] [--item] [--donate] [--scan K] [--lengths] [--prefetch] [--sharding] [--pmap] [--profile DIR]
               [--results DIR]

--results writes what the GPU's memory held as losses, batches and parameters, and the processor's and the wall time of all
but the first steps, to DIR.
"""
import argparse
import contextlib
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH, WIDTH, HIDDEN, RATE = 64, 256, 1024, 1e-2
SETTLED = 5  # steps after which times are taken


def loss_of(parameters, x, y):
    return jnp.mean((jnp.tanh(x @ parameters["in"]) @ parameters["out"] - y) ** 2)


def update(parameters, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
    return jax.tree.map(lambda a, b: a - RATE * b, parameters, gradients), loss


def batches(options, random):
    """NumPy arrays, one pair a step; with --lengths of another number of rows at every fifth step."""
    for step in range(options.steps):
        rows = BATCH + step // 5 if options.lengths else BATCH
        shape = (options.scan, rows, WIDTH) if options.scan else (rows, WIDTH)
        yield random.standard_normal(shape, dtype=np.float32), random.standard_normal(shape, dtype=np.float32)


def ahead(pairs, place):
    """The next pair is on its way to the device while the step before it runs."""
    waiting = None
    for pair in pairs:
        following = jax.device_put(pair, place)
        if waiting is not None:
            yield waiting
        waiting = following
    yield waiting


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--scan", type=int, default=0)
    parser.add_argument("--profile")
    parser.add_argument("--results", type=pathlib.Path)
    for switch in ("item", "donate", "lengths", "prefetch", "sharding", "pmap"):
        parser.add_argument("--" + switch, action="store_true")
    options = parser.parse_args()
    parameters = {"in": jnp.full((WIDTH, HIDDEN), 0.01), "out": jnp.full((HIDDEN, WIDTH), 0.01)}
    place = jax.devices()[0]
    step = update
    if options.scan:
        step = lambda parameters, xs, ys: jax.lax.scan(lambda carry, pair: update(carry, *pair), parameters, (xs, ys))
    if options.pmap:
        count = jax.local_device_count()
        parameters = jax.tree.map(lambda a: jnp.stack([a] * count), parameters)

        def shared(parameters, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
            gradients = jax.lax.pmean(gradients, "devices")
            return jax.tree.map(lambda a, b: a - RATE * b, parameters, gradients), loss

        step = jax.pmap(shared, axis_name="devices")
    else:
        step = jax.jit(step, donate_argnums=0 if options.donate else ())
    if options.sharding:
        mesh = Mesh(np.array(jax.devices()), ("data",))
        place = NamedSharding(mesh, PartitionSpec("data"))
        parameters = jax.device_put(parameters, NamedSharding(mesh, PartitionSpec()))
    pairs = batches(options, np.random.default_rng(1))
    if options.pmap:
        pairs = (tuple(a.reshape(count, -1, WIDTH) for a in pair) for pair in pairs)
    if options.prefetch:
        pairs = ahead(pairs, place)
    elif options.sharding:
        pairs = (jax.device_put(pair, place) for pair in pairs)
    with jax.profiler.trace(options.profile) if options.profile else contextlib.nullcontext():
        losses, seen = [], []
        for number, (x, y) in enumerate(pairs):
            if number == SETTLED:
                cpu, wall = time.process_time(), time.perf_counter()
            parameters, loss = step(parameters, x, y)
            if options.item or options.results:
                losses.append(np.asarray(loss))
            if options.results:
                seen.append((np.asarray(x), np.asarray(y)))
        jax.block_until_ready(parameters)
    if options.results:
        np.save(options.results / "losses", losses)
        np.save(options.results / "batches", seen)
        np.savez(options.results / "parameters", **parameters)
        (options.results / "times").write_text(f"{time.process_time() - cpu} {time.perf_counter() - wall}")
    print(f"{options.steps} steps on {jax.device_count()} devices")


main()
