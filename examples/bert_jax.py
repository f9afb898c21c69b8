"""Fine-tuning of a small BERT-like classifier with JAX: batches of 8 sentences of varying length, gradients of 4 micro-steps
accumulated.

  bert_jax.py [--steps N] [--pad] [--scan] [--prefetch] [--devices]

As it is, each new length is compiled, the micro-steps are a Python loop that uploads NumPy arrays, and all but one device idle.
--pad brings all sentences to one length, --scan makes one compiled call of a step, --prefetch uploads the next step's batches
ahead, --devices shares each batch among all devices.
"""
import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bert_data import CLASSES, LONGEST, MICRO_STEPS, WORDS, micro_batches

WIDTH, HEADS, LAYERS, RATE = 256, 4, 4, 1e-4


def initial_parameters():
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 8 * LAYERS + 3))
    normal = lambda *shape: 0.02 * jax.random.normal(next(keys), shape)
    layer = lambda: {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH),
                     "down": normal(4 * WIDTH, WIDTH), "norm": jnp.ones((2, WIDTH))}
    return {"words": normal(WORDS, WIDTH), "places": normal(LONGEST, WIDTH), "head": normal(WIDTH, CLASSES),
            "layers": [layer() for _ in range(LAYERS)]}


def normalised(x, scale):
    return scale * (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def encoded(layer, x, mask):
    batch, length, _ = x.shape
    query, key, value = jnp.split((x @ layer["qkv"]).reshape(batch, length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(WIDTH / HEADS)
    scores = jax.nn.softmax(scores - 1e9 * (1 - mask[:, None, None, :]))
    attended = jnp.einsum("bhqk,bkhd->bqhd", scores, value).reshape(x.shape)
    x = normalised(x + attended @ layer["out"], layer["norm"][0])
    return normalised(x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], layer["norm"][1])


def loss_of(parameters, words, mask, labels):
    x = parameters["words"][words] + parameters["places"][: words.shape[1]]
    for layer in parameters["layers"]:
        x = encoded(layer, x, mask)
    scores = jax.nn.log_softmax(x[:, 0] @ parameters["head"])
    return -jnp.take_along_axis(scores, labels[:, None], 1).mean() / MICRO_STEPS


def add(left, right):
    return jax.tree.map(jnp.add, left, right)


def nothing_like(parameters):
    return jax.tree.map(jnp.zeros_like, parameters)


def adam(parameters, state, gradients):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state[0], gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state[1], gradients)
    return jax.tree.map(lambda p, m, v: p - RATE * m / (jnp.sqrt(v) + 1e-8), parameters, first, second), (first, second)


@jax.jit
def micro_step(parameters, gradients, words, mask, labels):
    loss, new = jax.value_and_grad(loss_of)(parameters, words, mask, labels)
    return add(gradients, new), loss


@functools.partial(jax.jit, donate_argnums=(0, 1))
def update(parameters, state, gradients):
    return adam(parameters, state, gradients)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def whole_step(parameters, state, words, mask, labels):
    accumulate = lambda gradients, batch: micro_step(parameters, gradients, *batch)
    gradients, losses = jax.lax.scan(accumulate, nothing_like(parameters), (words, mask, labels))
    return (*adam(parameters, state, gradients), losses.sum())


def steps(options):
    """The micro-batches of each step: a list, or one array a kind with --scan."""
    batches = micro_batches(options.steps, options.pad or options.scan)
    for _ in range(options.steps):
        step = [next(batches) for _ in range(MICRO_STEPS)]
        yield tuple(np.stack(arrays) for arrays in zip(*step)) if options.scan else step


def uploaded(batches, options, mesh):
    axes = (None, "data") if options.scan else ("data",)
    return jax.device_put(batches, NamedSharding(mesh, PartitionSpec(*axes)))


def ahead(batches):
    """One further than asked for, so that its upload runs beside the step before it."""
    following = next(batches)
    for batch in batches:
        yield following
        following = batch
    yield following


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=36)
    for switch in ("pad", "scan", "prefetch", "devices"):
        parser.add_argument("--" + switch, action="store_true")
    options = parser.parse_args()
    mesh = Mesh(np.array(jax.devices() if options.devices else jax.devices()[:1]), ("data",))
    parameters = jax.device_put(initial_parameters(), NamedSharding(mesh, PartitionSpec()))
    state = nothing_like(parameters), nothing_like(parameters)
    batches = steps(options)
    if options.prefetch or options.devices:
        batches = (uploaded(batch, options, mesh) for batch in batches)
    if options.prefetch:
        batches = ahead(batches)
    for batch in batches:
        if options.scan:
            parameters, state, loss = whole_step(parameters, state, *batch)
        else:
            gradients = nothing_like(parameters)
            for micro in batch:
                gradients, loss = micro_step(parameters, gradients, *micro)
            parameters, state = update(parameters, state, gradients)
        float(loss)
    jax.block_until_ready(parameters)
    print(f"{options.steps} steps on {mesh.size} of {jax.device_count()} devices")


main()
