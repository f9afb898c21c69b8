"""A small transformer trained by PyTorch, with switches for what training loops do differently. Its kernels may compute
nothing (on the simulated GPU), so it asserts nothing about losses; it prints what it did.

  pytorch_transformer.py [--steps N] [--item] [--pinned] [--workers N] [--amp] [--graph] [--compile] [--profile FILE]
                         [--results DIR]

--results writes what the GPU's memory held as losses and batches, the model's and the optimizer's state, and the processor's
and the wall time of all but the first steps to DIR.
"""
import argparse
import contextlib
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH, WIDTH, HEADS, LAYERS, WORDS = 8, 128, 256, 4, 2, 1000
SETTLED = 5  # steps after which times are taken


class Sentences(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randint(WORDS, (LENGTH,), generator=generator), torch.randint(2, (), generator=generator)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, words):
        return self.head(self.encoder(self.embedding(words))[:, 0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--profile")
    parser.add_argument("--results", type=pathlib.Path)
    for switch in ("item", "pinned", "amp", "graph", "compile"):
        parser.add_argument("--" + switch, action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    device = torch.device("cuda")
    model = Classifier().to(device)
    if options.compile:
        model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=options.graph)
    scaler = torch.amp.GradScaler(enabled=options.amp)

    def forward_and_back(words, labels):
        with torch.autocast("cuda", torch.float16, enabled=options.amp):
            loss = nn.functional.cross_entropy(model(words), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    loader = DataLoader(Sentences(options.steps * BATCH), BATCH, num_workers=options.workers, pin_memory=options.pinned,
                        persistent_workers=False)
    if options.graph:
        words = torch.zeros(BATCH, LENGTH, dtype=torch.long, device=device)
        labels = torch.zeros(BATCH, dtype=torch.long, device=device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                optimizer.zero_grad(set_to_none=True)
                forward_and_back(words, labels)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = forward_and_back(words, labels)
    profiler, losses, batches = contextlib.nullcontext(), [], []
    if options.profile:
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                      torch.profiler.ProfilerActivity.CUDA])
    with profiler:
        for step, (new_words, new_labels) in enumerate(loader):
            if step == SETTLED:
                cpu, wall = time.process_time(), time.perf_counter()
            if options.graph:
                words.copy_(new_words, non_blocking=options.pinned)
                labels.copy_(new_labels, non_blocking=options.pinned)
                graph.replay()
            else:
                words = new_words.to(device, non_blocking=options.pinned)
                labels = new_labels.to(device, non_blocking=options.pinned)
                optimizer.zero_grad(set_to_none=True)
                loss = forward_and_back(words, labels)
            if options.item or options.results:
                losses.append(loss.item())
            if options.results:
                batches.append((words.cpu(), labels.cpu()))
        torch.cuda.synchronize()
    if options.profile:
        profiler.export_chrome_trace(options.profile)
    if options.results:
        (options.results / "losses").write_text("".join(f"{loss.hex()}\n" for loss in losses))
        torch.save({"batches": batches, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                   options.results / "state")
        (options.results / "times").write_text(f"{time.process_time() - cpu} {time.perf_counter() - wall}")
    print(f"{options.steps} steps")


main()
