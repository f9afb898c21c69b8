"""train_torch.py plain|compile|graphs|profile|ddp [STEPS]: a small deterministic training in PyTorch; prints the loss every 10 steps.
profile: with PyTorch's own profiler on the last steps, printing how many kernels it saw. ddp: DistributedDataParallel over NCCL, alone."""
import os
import shutil
import sys
import tempfile

import torch

how = sys.argv[1]
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 16)).to(device)
if how == "ddp":
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    meeting = tempfile.mkdtemp()
    torch.distributed.init_process_group("nccl", init_method=f"file://{meeting}/store", rank=0, world_size=1)
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs = torch.randn(128, 256, device=device)
targets = torch.randint(0, 16, (128,), device=device)


def step():
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    return loss


def captured():
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


run = {"plain": lambda: step, "profile": lambda: step, "ddp": lambda: step, "compile": lambda: torch.compile(step), "graphs": captured}[how]()


def loop(count):
    for number in range(count):
        loss = run()
        if number % 10 == 9:
            print(f"step {number + 1} loss {loss.item():.6f}")


loop(steps)
if how == "profile":
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        loop(20)
        torch.cuda.synchronize()
    kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print(f"the program's own profiler saw {len(kernels)} operations on the device")
    loop(20)
torch.cuda.synchronize()
if how == "ddp":
    torch.distributed.destroy_process_group()
    shutil.rmtree(meeting, ignore_errors=True)
print("done")
