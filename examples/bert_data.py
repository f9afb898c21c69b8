"""Sentences for bert_pytorch.py and bert_jax.py: the same for both, of varying length, made of numbers."""
import numpy as np

WORDS, CLASSES, BATCH, MICRO_STEPS = 8192, 2, 8, 4
SHORTEST, LONGEST, ROUND_TO = 32, 128, 16


def micro_batches(steps, pad):
    """(words, mask, labels) for each of steps * MICRO_STEPS: int32 [BATCH, length], float32 likewise, int32 [BATCH].

    length is that of the longest sentence, rounded up; always LONGEST with pad. Long sentences come late, as in a data set
    sorted by nothing.
    """
    random = np.random.default_rng(7)
    for micro in range(steps * MICRO_STEPS):
        most = min(LONGEST, SHORTEST + ROUND_TO * (1 + micro // (MICRO_STEPS * 6)))
        lengths = random.integers(SHORTEST // 2, most + 1, BATCH)
        length = LONGEST if pad else -(-int(lengths.max()) // ROUND_TO) * ROUND_TO
        mask = (np.arange(length) < lengths[:, None]).astype(np.float32)
        words = (random.integers(1, WORDS, (BATCH, length)) * mask).astype(np.int32)
        yield words, mask, random.integers(0, CLASSES, BATCH).astype(np.int32)
