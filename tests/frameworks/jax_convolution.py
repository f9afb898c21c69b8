"""A small convolutional network trained by JAX: its convolutions go through cuDNN. It asserts nothing about losses; it
prints what it did.

  jax_convolution.py [--steps N] [--fft]

With --fft the images go to frequencies and back first, through cuFFT.
"""
import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SIZE, RATE = 32, 32, 1e-2
SHAPES = [(3, 3, 3, 64), (3, 3, 64, 128), (3, 3, 128, 128)]


def loss_of(filters, images, labels, fft):
    x = jnp.fft.ifft2(jnp.fft.fft2(images, axes=(1, 2)), axes=(1, 2)).real if fft else images
    for number, one in enumerate(filters):
        x = jax.lax.conv_general_dilated(x, one, (1 + (number > 0),) * 2, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
    return jnp.mean((x.mean((1, 2)) - labels) ** 2)


@functools.partial(jax.jit, static_argnums=3)
def update(filters, images, labels, fft):
    gradients = jax.grad(loss_of)(filters, images, labels, fft)
    return [a - RATE * b for a, b in zip(filters, gradients)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--fft", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    filters = [jnp.full(shape, 0.01) for shape in SHAPES]
    for _ in range(options.steps):
        images = random.standard_normal((BATCH, SIZE, SIZE, 3), dtype=np.float32)
        filters = update(filters, images, random.standard_normal((BATCH, 1), dtype=np.float32), options.fft)
    jax.block_until_ready(filters)
    print(f"{options.steps} steps")


main()
