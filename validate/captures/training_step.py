"""Times steps of training a small transformer: what `tilescope capture` costs a program.

    python3 training_step.py [--batch 16] [--length 1024] [--blocks 20] [--steps 10]
    tilescope capture -o DIRECTORY -- python3 training_step.py ...

Prints one line of JSON: milliseconds a step of each block of steps (the host waits for the GPU after each block, as a training loop
that logs every few steps) and a hash of the weights. Seeds are fixed: the hashes with and without a capture must be equal.
"""
import argparse
import hashlib
import json
import time

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name, value in (("batch", 16), ("length", 1024), ("blocks", 20), ("steps", 10)):
        parser.add_argument("--" + name, type=int, default=value)
    sizes = parser.parse_args()
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    words = nn.Embedding(WORDS, WIDTH)
    model = nn.ModuleList([words, *(Layer() for _ in range(LAYERS)), nn.Linear(WIDTH, WORDS)]).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    text = torch.randint(WORDS, (sizes.batch, sizes.length + 1), device="cuda")

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
        for _ in range(sizes.blocks):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(sizes.steps):
                step()
            torch.cuda.synchronize()
            milliseconds.append((time.perf_counter() - begin) * 1e3 / sizes.steps)
    weights = hashlib.sha256()
    for parameter in model.parameters():
        weights.update(parameter.detach().view(torch.uint8).cpu().numpy().tobytes())
    print(json.dumps({"milliseconds": [round(each, 4) for each in milliseconds], "weights": weights.hexdigest()[:16],
                      "batch": sizes.batch, "length": sizes.length}))


if __name__ == "__main__":
    main()
