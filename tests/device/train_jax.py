"""train_jax.py jit|plain [STEPS]: a small deterministic training in JAX; prints the loss every 10 steps."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")

import jax
import jax.numpy as jnp

how = sys.argv[1]
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 40
keys = jax.random.split(jax.random.PRNGKey(1), 4)
weights = [jax.random.normal(keys[0], (256, 512)) * 0.05, jax.random.normal(keys[1], (512, 16)) * 0.05]
inputs = jax.random.normal(keys[2], (128, 256))
targets = jax.random.randint(keys[3], (128,), 0, 16)


def loss_of(parameters):
    logits = jax.nn.gelu(inputs @ parameters[0]) @ parameters[1]
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(128), targets])


def step(parameters):
    loss, gradients = jax.value_and_grad(loss_of)(parameters)
    return [weight - 0.05 * gradient for weight, gradient in zip(parameters, gradients)], loss


run = jax.jit(step) if how == "jit" else step
for number in range(steps):
    weights, loss = run(weights)
    if number % 10 == 9:
        print(f"step {number + 1} loss {float(loss):.6f}")
print("done on", jax.devices()[0].platform)
