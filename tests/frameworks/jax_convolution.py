"""A small convolutional network trained by JAX: its convolutions go through cuDNN. It asserts nothing about losses; it
prints what it did.

  jax_convolution.py [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SIZE, RATE = 32, 32, 1e-2
SHAPES = [(3, 3, 3, 64), (3, 3, 64, 128), (3, 3, 128, 128)]


def loss_of(filters, images, labels):
    x = images
    for number, one in enumerate(filters):
        x = jax.lax.conv_general_dilated(x, one, (1 + (number > 0),) * 2, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
    return jnp.mean((x.mean((1, 2)) - labels) ** 2)


@jax.jit
def update(filters, images, labels):
    gradients = jax.grad(loss_of)(filters, images, labels)
    return [a - RATE * b for a, b in zip(filters, gradients)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    filters = [jnp.full(shape, 0.01) for shape in SHAPES]
    for _ in range(options.steps):
        images = random.standard_normal((BATCH, SIZE, SIZE, 3), dtype=np.float32)
        filters = update(filters, images, random.standard_normal((BATCH, 1), dtype=np.float32))
    jax.block_until_ready(filters)
    print(f"{options.steps} steps")


main()
