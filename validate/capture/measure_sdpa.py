"""Measures the attention kernels that ship in PyTorch: counters, launches, times and correctness, one record per point.

usage: measure_sdpa.py --library=libtilescope_third_party.so --experiment=FILE --output=FOLDER [--data=FOLDER]
           [--revision=TEXT] [--only=TEXT] [--launches]

This script makes the tensors and the calls. The library counts, and adds the records to FOLDER/EXPERIMENT.jsonl. The
script calls each kernel by its ATen operator, so that no dispatcher chooses another one. --only keeps the points whose
id contains TEXT. --launches prints the launches of each point and measures nothing. Needs PyTorch with CUDA and
permission to read counters.
"""
import ctypes
import json
import os
import sys

import torch

import oracle

aten = torch.ops.aten
CALLBACK = ctypes.CFUNCTYPE(None)

class Inputs:
    """Random tensors of a point, standard normal, the same every time. The heads of a token are contiguous, as a
    projection writes them, and are viewed as [batch, heads, length, head_dim]. No kernel here needs a copy."""

    def __init__(self, point):
        torch.manual_seed(1)
        p = point
        self.dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[p["dtype"]]
        self.causal = p["mask"] == "causal"
        self.q = self.normal(p["batch"], p["heads_q"], p["q_len"], p["head_dim"])
        self.k = self.normal(p["batch"], p["heads_kv"], p["kv_len"], p["head_dim"])
        self.v = self.normal(p["batch"], p["heads_kv"], p["kv_len"], p["head_dim"])

    def normal(self, batch, heads, length, head_dim):
        return torch.randn(batch, length, heads, head_dim, device="cuda", dtype=self.dtype).transpose(1, 2)

def flash_forward(x):
    def run():
        return aten._scaled_dot_product_flash_attention(x.q, x.k, x.v, 0.0, x.causal, False)
    return run, oracle.forward

def efficient_forward(x):
    def run():
        return aten._scaled_dot_product_efficient_attention(x.q, x.k, x.v, None, True, 0.0, x.causal)
    return run, oracle.forward

def cudnn_forward(x):
    def run():
        return aten._scaled_dot_product_cudnn_attention(x.q, x.k, x.v, None, True, 0.0, x.causal, False)
    return run, oracle.forward

def flash_backward(x):
    o, l, cum_q, cum_k, q_len, kv_len, seed, offset, _ = flash_forward(x)[0]()
    x.d_o = x.normal(*o.shape)
    x.o = o

    def run():
        return aten._scaled_dot_product_flash_attention_backward(
            x.d_o, x.q, x.k, x.v, o, l, cum_q, cum_k, q_len, kv_len, 0.0, x.causal, seed, offset)
    return run, oracle.backward

KERNELS = {
    "pytorch_flash2": flash_forward,
    "pytorch_flash2_split": flash_forward,
    "pytorch_flash2_backward_d64": flash_backward,
    "pytorch_flash2_backward_d128": flash_backward,
    "pytorch_flash2_backward_d256": flash_backward,
    "pytorch_efficient": efficient_forward,
    "cudnn_forward": cudnn_forward,
}

class Library:
    """The functions of third_party.cpp."""

    def __init__(self, path):
        self.library = ctypes.CDLL(os.path.abspath(path))
        text = ctypes.c_char_p
        for name, arguments in {"tilescope_open": [text, text, text], "tilescope_launches": [CALLBACK],
                                "tilescope_measure": [ctypes.c_int, CALLBACK, CALLBACK, text, text]}.items():
            function = getattr(self.library, name)
            function.argtypes, function.restype = arguments, text

    def call(self, name, *arguments):
        encoded = [a.encode() if isinstance(a, str) else a for a in arguments]
        answer = json.loads(getattr(self.library, name)(*encoded))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

def graph_of(run):
    """The call as a CUDA graph: replaying it needs almost no host time, so that short kernels can be timed."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph

def describe(launch):
    return (f"  {launch['kernel'][:300]}\n    grid {launch['grid']} block {launch['block']} "
            f"registers {launch['registers']} smem {launch['static_smem']}+{launch['dynamic_smem']} "
            f"local {launch['local_bytes']} blocks/SM {launch['blocks_per_unit']}")

def measure(library, index, point, options):
    """Whether the result was right."""
    inputs = Inputs(point)
    run, check = KERNELS[point["kernel"]](inputs)
    outputs = run()
    torch.cuda.synchronize()
    call = CALLBACK(lambda: (run(), None)[1])
    launches = library.call("tilescope_launches", call)["launches"]
    if options["launches"]:
        print("\n".join(describe(launch) for launch in launches))
        return True
    if point["splits"] > 1 and launches[0]["grid"][1] != point["splits"]:
        raise RuntimeError(f"the keys are split into {launches[0]['grid'][1]} parts")
    correctness = check(inputs, outputs)
    if not correctness["passed"]:
        print(f"  WRONG RESULT: error {correctness['max_error']:.3g}, tolerance {correctness['tolerance']:.3g}")
    graph = graph_of(run)
    timed = CALLBACK(graph.replay)
    answer = library.call("tilescope_measure", index, call, timed, json.dumps(correctness), options["output"])
    steady = sorted(answer["steady"])
    error, tolerance = correctness["max_error"], correctness["tolerance"]
    print(f"  {steady[len(steady) // 2] * 1e6:.1f} us, error {error:.2g} of {tolerance:.2g}")
    return correctness["passed"]

def read_options(arguments):
    options = {"library": "libtilescope_third_party.so", "experiment": "", "output": "", "data": ".",
               "revision": "unknown", "only": "", "launches": False}
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in options:
            sys.exit(f"unknown argument {argument}\n{__doc__}")
        options[name] = True if name == "launches" else value
    if not options["experiment"] or not (options["output"] or options["launches"]):
        sys.exit(__doc__)
    return options

def main(arguments):
    options = read_options(arguments)
    torch.zeros(1, device="cuda")
    library = Library(options["library"])
    points = library.call("tilescope_open", options["data"], options["experiment"], options["revision"])["points"]
    wrong = []
    for index, point in enumerate(points):
        if options["only"] not in point["id"]:
            continue
        print(point["id"], flush=True)
        try:
            if not measure(library, index, point, options):
                wrong.append(point["id"])
        except RuntimeError as error:
            print(f"  not measured: {error}", flush=True)
        torch.cuda.empty_cache()
    if wrong:
        print(f"{len(wrong)} points have a wrong result: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
