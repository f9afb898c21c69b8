"""Two processes, one device each, that train by PyTorch's DistributedDataParallel and accumulate gradients of 2 micro-steps:
each micro-step reduces them, unless --no-sync leaves the first ones out. Started by torchrun.

  torchrun --nproc-per-node 2 pytorch_ddp.py [--steps N] [--no-sync]
"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MICRO_STEPS, WIDTH = 2, 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-sync", action="store_true")
    options = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    torch.manual_seed(1)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(4))).cuda()
    model = DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.ones(64, WIDTH, device="cuda")
    for _ in range(options.steps):
        for micro in range(MICRO_STEPS):
            is_last = micro == MICRO_STEPS - 1
            with model.no_sync() if options.no_sync and not is_last else contextlib.nullcontext():
                model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print(f"{options.steps} steps on {dist.Backend.NCCL} with 2 devices")


main()
