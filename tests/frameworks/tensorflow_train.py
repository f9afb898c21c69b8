"""A small convolutional network trained by TensorFlow: one tf.function a step, batches from tf.data. It asserts nothing
about losses; it prints what it did.

  tensorflow_train.py [--steps N] [--item]
"""
import argparse

import numpy as np
import tensorflow as tf

BATCH, SIZE, CLASSES = 32, 32, 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--item", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    shapes = [(3, 3, 3, 64), (3, 3, 64, 128), (128, CLASSES)]
    variables = [tf.Variable(random.standard_normal(shape, dtype=np.float32)) for shape in shapes]

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            x = tf.nn.relu(tf.nn.conv2d(images, variables[0], 1, "SAME"))
            x = tf.nn.relu(tf.nn.conv2d(x, variables[1], 2, "SAME"))
            scores = tf.reduce_mean(x, (1, 2)) @ variables[2]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(1e-2 * gradient)
        return loss

    images = random.standard_normal((options.steps, BATCH, SIZE, SIZE, 3), dtype=np.float32)
    labels = random.integers(0, CLASSES, (options.steps, BATCH))
    for batch in tf.data.Dataset.from_tensor_slices((images, labels)):
        loss = step(*batch)
        if options.item:
            loss.numpy()
    loss.numpy()
    print(f"{options.steps} steps on {len(tf.config.list_physical_devices('GPU'))} device")


main()
