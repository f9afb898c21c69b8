"""Least squares by the normal equations in JAX, one batch a step: a product, a Cholesky factorization and a solution.

  jax_solve.py [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np

ROWS, WIDTH, WANTED = 2048, 256, 16


@jax.jit
def step(weights, inputs, targets):
    factor = jax.scipy.linalg.cho_factor(inputs.T @ inputs)
    return 0.9 * weights + 0.1 * jax.scipy.linalg.cho_solve(factor, inputs.T @ targets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    random, weights = np.random.default_rng(1), jnp.zeros((WIDTH, WANTED))
    for _ in range(options.steps):
        weights = step(weights, random.random((ROWS, WIDTH), np.float32), random.random((ROWS, WANTED), np.float32))
    jax.block_until_ready(weights)
    print(f"{options.steps} steps, {weights.shape}")


main()
