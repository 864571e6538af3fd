#!/usr/bin/env python3
"""Random loops, to compare `inspect --simulate` with a GPU on code that nobody chose.

    random_loops.py source SEED COUNT > loops.cu
    nvcc -std=c++20 -O3 -arch=sm_90a -I kernels -I validate/tools/sm_rules -o loops loops.cu && ./loops > clocks.txt
    nvcc -std=c++20 -O3 -arch=sm_90a -I kernels -I validate/tools/sm_rules -cubin loops.cu
    random_loops.py steps TILESCOPE loops.cubin clocks.txt > steps.txt   # nvdisasm where `tilescope inspect` finds it

A loop has 96 to 192 operations of 2 to 7 kinds, on random registers, in random order or in runs. `loops` prints the
clocks of a pass of a block with one, two and four warps a scheduler. `steps` writes, for the test, of each loop:
"# loop NUMBER 0 0 1 1 0", a line "! WARPS 1 CLOCKS" for each number of warps, and a line an instruction, as
simulated_steps.py does.
"""
import json
import pathlib
import random
import re
import subprocess
import sys

from simulated_steps import main_loop_lines

FLOATS, INTEGERS, SUMS, OPERANDS = 24, 16, 6, 8
PLAIN = {  # PTX, letters of result and operands: f floats, x integers, a the thread's address
    "fmul": ("mul.rn.f32 {}, {}, {};", "fff"), "fadd": ("add.rn.f32 {}, {}, {};", "fff"),
    "ffma": ("fma.rn.f32 {}, {}, {}, {};", "ffff"), "fmnmx": ("max.f32 {}, {}, {};", "fff"),
    "ex2": ("ex2.approx.ftz.f32 {}, {};", "ff"), "f2fp": ("cvt.rn.f16x2.f32 {}, {}, {};", "xff"),
    "lop3": ("lop3.b32 {}, {}, {}, {}, 0x96;", "xxxx"), "iadd": ("add.u32 {}, {}, {};", "xxx"),
    "imad": ("mad.lo.u32 {}, {}, {}, {};", "xxxx"), "shf": ("shf.l.wrap.b32 {}, {}, {}, {};", "xxxx"),
    "prmt": ("prmt.b32 {}, {}, {}, 0x5410;", "xxx"), "mov": ("mov.b32 {}, {};", "xx"),
    "setsel": ("{{.reg .pred t; setp.gt.f32 t, {1}, {2}; selp.f32 {0}, {1}, {3}, t;}}", "ffff"),
    "shfl": ("shfl.sync.bfly.b32 {}, {}, 1, 0x1f, 0xffffffff;", "ff"), "lds": ("ld.shared.f32 {}, [{}];", "fa"),
}
KINDS = [*PLAIN, "sts", "ldsm", "mma8", "mma16"]


def asm(text, results, operands):
    """An asm statement; {} of `text` are results, then operands: pairs of constraint and expression."""
    numbered = text.format(*(f"%{i}" for i in range(len(results) + len(operands))))
    lists = (", ".join(f'"{kind}"({value})' for kind, value in each) for each in (results, operands))
    return f'asm volatile("{numbered}" : {" : ".join(lists)});'


def mma(rng, depth, number):
    sums = [("+f", f"c[{number % SUMS}][{i}]") for i in range(4)]
    a = [("r", f"m[{i}]") for i in range(depth // 4)]
    first = rng.randrange(4, OPERANDS - depth // 8 + 1)
    b = [("r", f"m[{first + i}]") for i in range(depth // 8)]
    places = [f"{{{i}}}" for i in range(4 + len(a) + len(b))]
    group = lambda some: "{{" + ", ".join(some) + "}}"
    c = group(places[:4])
    text = (f"mma.sync.aligned.m16n8k{depth}.row.col.f32.f16.f16.f32 {c}, {group(places[4:4 + len(a)])}, "
            f"{group(places[4 + len(a):])}, {c};")
    return asm(text, sums, a + b)


def operation(rng, kind, number, floats, integers):
    of = {"f": lambda: ("f", f"f[{rng.randrange(floats)}]"), "x": lambda: ("r", f"x[{rng.randrange(integers)}]"),
          "a": lambda: ("r", "at")}
    if kind in PLAIN:
        text, letters = PLAIN[kind]
        (constraint, result), *operands = [of[letter]() for letter in letters]
        return asm(text, [("=" + constraint, result)], operands)
    if kind == "sts":
        return asm("st.shared.f32 [{}], {};", [], [("r", "at"), of["f"]()])
    if kind == "ldsm":
        first = rng.choice([0, 4])
        return asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                   [("=r", f"m[{first + i}]") for i in range(4)], [("r", "rows")])
    return mma(rng, int(kind.removeprefix("mma")), number)


def loop(rng):
    """Its operations by kind, and its statements."""
    kinds = rng.sample(KINDS, rng.randint(2, 7))
    length, floats, integers = rng.choice([96, 128, 192]), rng.choice([8, 16, FLOATS]), rng.choice([8, INTEGERS])
    order = rng.choices(kinds, [rng.expovariate(1) + 0.05 for _ in kinds], k=length)
    if rng.random() < 0.4:  # runs of one kind
        run = rng.choice([4, 8, 16])
        order.sort(key=kinds.index)
        runs = [order[i:i + run] for i in range(0, length, run)]
        rng.shuffle(runs)
        order = sum(runs, [])
    return order, [operation(rng, kind, i, floats, integers) for i, kind in enumerate(order)]


def source(seed, count):
    rng = random.Random(seed)
    print(f"// {count} random loops: random_loops.py source {seed} {count}")
    print('#include "set_up.cuh"\n\nconstexpr int rounds = 100;')
    for number in range(count):
        order, statements = loop(rng)
        print(f"// {', '.join(f'{order.count(kind)} {kind}' for kind in sorted(set(order)))}\n"
              f"__global__ void __launch_bounds__(512) loop{number}(unsigned* out, unsigned a) {{\n"
              f"  __shared__ __align__(1024) float tile[1024];\n  float f[{FLOATS}], c[{SUMS}][4], all = 0;\n"
              f"  unsigned x[{INTEGERS}], m[{OPERANDS}];\n"
              "  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = 0;\n"
              f"  for (int i = 0; i < {FLOATS}; ++i) f[i] = threadIdx.x * a + i;\n"
              f"  for (int i = 0; i < {INTEGERS}; ++i) x[i] = threadIdx.x * a + 3 * i;\n"
              f"  for (int i = 0; i < {OPERANDS}; ++i) m[i] = threadIdx.x * a + i;\n"
              f"  for (int i = 0; i < {SUMS}; ++i)\n    for (int j = 0; j < 4; ++j) c[i][j] = a * i + j;\n"
              "  const unsigned at = shared_at(tile) + threadIdx.x % 32 * 4;\n"
              "  const unsigned rows = shared_at(tile) + threadIdx.x % 32 * 16;\n"
              "  __syncthreads();\n  const unsigned from = now();\n#pragma unroll 1\n"
              "  for (int round = 0; round < rounds; ++round) {")
        print("\n".join("    " + each for each in statements))
        print("  }\n  __syncthreads();\n  const unsigned clocks = now() - from;\n"
              f"  for (int i = 0; i < {FLOATS}; ++i) all += f[i];\n"
              f"  for (int i = 0; i < {INTEGERS}; ++i) all += x[i];\n"
              f"  for (int i = 0; i < {OPERANDS}; ++i) all += m[i];\n"
              f"  for (int i = 0; i < {SUMS}; ++i)\n    for (int j = 0; j < 4; ++j) all += c[i][j];\n"
              "  if (all == 12345.678f) out[1] = all;\n  if (threadIdx.x == 0) out[0] = clocks;\n}")
    print("template <class Loop>\nvoid measure(int number, Loop loop, unsigned* out) {\n"
          "  for (int warps : {4, 8, 16}) {\n    unsigned clocks = 0;\n"
          "    for (int i = 0; i < 2; ++i) loop<<<1, warps * 32>>>(out, 3);\n"
          "    CHECK(cudaMemcpy(&clocks, out, sizeof clocks, cudaMemcpyDeviceToHost));\n"
          '    std::printf("%d %d %.2f\\n", number, warps, clocks / double(rounds));\n  }\n}\nint main() {\n'
          "  unsigned* out = begin(2);")
    print("\n".join(f"  measure({number}, loop{number}, out);" for number in range(count)) + "\n}")


def steps(program, cubin, clocks):
    measured = {}
    for words in map(str.split, pathlib.Path(clocks).read_text().splitlines()):
        if len(words) == 3 and words[0].isdigit():
            measured.setdefault(int(words[0]), []).append((int(words[1]), float(words[2])))
    run = subprocess.run([program, "inspect", cubin, "--hardware", "h200_sxm", "--simulate", "--resident", "1",
                          "--instructions", "--format", "json"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{cubin}: {run.stderr}")
    by_number = {int(re.search(r"loop(\d+)P", each["kernel"])[1]): each for each in json.loads(run.stdout)["kernels"]}
    if by_number.keys() != measured.keys():
        sys.exit(f"{cubin} and {clocks} are not of the same loops")
    for number, found in sorted(by_number.items()):
        print(f"# loop {number} 0 0 1 1 0")
        for warps, of_pass in measured[number]:
            print(f"! {warps} 1 {of_pass}")
        print("\n".join(main_loop_lines(found, most="instructions")))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["source", seed, count]:
            source(int(seed), int(count))
        case ["steps", program, cubin, clocks]:
            steps(program, cubin, clocks)
        case _:
            sys.exit(__doc__)
