"""Least squares by the normal equations in PyTorch, one batch a step: a product, a Cholesky factorization and a solution.

  pytorch_solve.py [--steps N] [--checked]

--checked factorizes with torch.linalg.cholesky, which reads back whether it succeeded; else with cholesky_ex, which does not.
"""
import argparse

import torch

ROWS, WIDTH, WANTED = 2048, 256, 16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--checked", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    weights = torch.zeros(WIDTH, WANTED, device="cuda")
    for _ in range(options.steps):
        inputs, targets = torch.rand(ROWS, WIDTH).to("cuda"), torch.rand(ROWS, WANTED).to("cuda")
        squares = inputs.T @ inputs
        factor = torch.linalg.cholesky(squares) if options.checked else torch.linalg.cholesky_ex(squares).L
        weights = 0.9 * weights + 0.1 * torch.cholesky_solve(inputs.T @ targets, factor)
    torch.cuda.synchronize()
    print(f"{options.steps} steps, {tuple(weights.shape)}")


main()
