"""Times steps of training a small transformer: what `tilescope capture` costs a program.

    python3 training_step.py [--sizes 16x1024,1x128] [--blocks 20] [--steps 10] [--count]
    tilescope capture -o DIRECTORY -- python3 training_step.py ...

Prints a line of JSON for each size (batch x length): milliseconds a step of each block of steps (the host waits for the GPU after
each block, as a training loop that logs every few steps) and a hash of the weights. Seeds are fixed and PyTorch is asked for
deterministic kernels: the hashes with and without a capture must be equal. --count adds the kernel launches of a step by PyTorch's
profiler, which cannot run beside a capture.
"""
import argparse
import hashlib
import json
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts: repeatable sums

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

WIDTH, HEADS, LAYERS, WORDS = 1024, 16, 5, 8192


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.norm_1(x)).chunk(3, dim=-1))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, WIDTH)
        x = x + self.out(o)
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


def launches_of(step):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as run:
        step()
        torch.cuda.synchronize()
    kinds = ("Memcpy", "Memset")
    return sum(1 for e in run.events() if e.device_type == torch.autograd.DeviceType.CUDA and not e.name.startswith(kinds))


def train(batch, length, blocks, steps, count):
    torch.manual_seed(1)
    words = nn.Embedding(WORDS, WIDTH)
    model = nn.ModuleList([words, *(Layer() for _ in range(LAYERS)), nn.Linear(WIDTH, WORDS)]).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    text = torch.randint(WORDS, (batch, length + 1), device="cuda")

    def step():
        x = model[0](text[:, :-1])
        for layer in model[1:]:
            x = layer(x)
        loss = F.cross_entropy(x.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    milliseconds = []
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        for _ in range(blocks):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(steps):
                step()
            torch.cuda.synchronize()
            milliseconds.append((time.perf_counter() - begin) * 1e3 / steps)
        weights = hashlib.sha256()
        for parameter in model.parameters():
            weights.update(parameter.detach().view(torch.uint8).cpu().numpy().tobytes())
        result = {"milliseconds": [round(each, 4) for each in milliseconds], "weights": weights.hexdigest()[:16],
                  "batch": batch, "length": length}
        if count:
            result["launches"] = launches_of(step)
    print(json.dumps(result), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="16x1024")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--count", action="store_true")
    arguments = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    for size in arguments.sizes.split(","):
        batch, length = (int(each) for each in size.split("x"))
        train(batch, length, arguments.blocks, arguments.steps, arguments.count)


if __name__ == "__main__":
    main()
