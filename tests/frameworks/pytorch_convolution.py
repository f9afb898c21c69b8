"""A small convolutional network trained by PyTorch: convolutions and batch normalization go through cuDNN. It asserts
nothing about losses; it prints what it did.

  pytorch_convolution.py [--steps N] [--amp] [--fft]

With --fft the images go to frequencies and back first, through cuFFT.
"""
import argparse

import torch
from torch import nn

BATCH, SIZE, CLASSES = 32, 32, 10


def block(before, after, stride):
    return nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    for switch in ("amp", "fft"):
        parser.add_argument("--" + switch, action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = nn.Sequential(block(3, 64, 1), block(64, 128, 2), block(128, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(128, CLASSES)).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for _ in range(options.steps):
        images = torch.rand(BATCH, 3, SIZE, SIZE).to("cuda", memory_format=torch.channels_last)
        labels = torch.randint(CLASSES, (BATCH,)).to("cuda")
        if options.fft:
            images = torch.fft.ifft2(torch.fft.fft2(images)).real
        with torch.autocast("cuda", torch.float16, enabled=options.amp):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"{options.steps} steps with cuDNN {torch.backends.cudnn.version()}")


main()
