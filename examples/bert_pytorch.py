"""Fine-tuning of a small BERT-like classifier with PyTorch: batches of 8 sentences of varying length, gradients of 4
micro-steps accumulated.

  bert_pytorch.py [--steps N] [--pad] [--pinned] [--quiet] [--amp] [--compile]

As it is, each micro-step uploads its batch from pageable memory and reads the loss back. --pinned uploads from page-locked
memory, ahead; --quiet reads the loss once a step; --compile makes few kernels of many.
"""
import argparse

import torch
from torch import nn

from bert_data import CLASSES, LONGEST, MICRO_STEPS, WORDS, micro_batches

WIDTH, HEADS, LAYERS = 256, 4, 4


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LONGEST, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, words, mask):
        places = torch.arange(words.shape[1], device=words.device)
        states = self.encoder(self.words(words) + self.places(places), src_key_padding_mask=mask)
        return self.head(states[:, 0])


def batches(options):
    for words, mask, labels in micro_batches(options.steps, options.pad):
        batch = torch.from_numpy(words).long(), torch.from_numpy(mask) == 0, torch.from_numpy(labels).long()
        yield [tensor.pin_memory() for tensor in batch] if options.pinned else batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=36)
    for switch in ("pad", "pinned", "quiet", "amp", "compile"):
        parser.add_argument("--" + switch, action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = Bert().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if options.compile:
        model = torch.compile(model)
    for micro, batch in enumerate(batches(options)):
        words, mask, labels = (tensor.to("cuda", non_blocking=options.pinned) for tensor in batch)
        with torch.autocast("cuda", torch.bfloat16, enabled=options.amp):
            loss = nn.functional.cross_entropy(model(words, mask), labels) / MICRO_STEPS
        loss.backward()
        is_last = micro % MICRO_STEPS == MICRO_STEPS - 1
        if is_last:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if is_last or not options.quiet:
            loss.item()
    torch.cuda.synchronize()
    print(f"{options.steps} steps")


main()
