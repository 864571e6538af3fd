#!/usr/bin/env python3
"""Writes NAME.steps.zst for a build whose machine code is not at hand, from the steps of another build of the same source.

    derived_steps.py FOLDER NAME...      of kernels whose NAME.code.json has `derived_from`; needs zstd

What the source says of the difference is in `per_exponential` and `per_score` of NAME.code.json, as counts. Here it is done to
the instructions: `--use_fast_math` leaves out what makes 2^x of tiny results exact (a comparison with -126, a product by 0.5
before and a square behind), and lets a product and the sum that takes it become one multiply-add. Instructions keep their order
and theirs are the registers and stall counts of those that stay; what an instruction waited for that is left out, the next one
waits for. The number that is left out must be about that of NAME.code.json.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from code_json import note_steps  # noqa: E402

EXACT = re.compile(r"FSETP\.GEU\.AND P\d, PT, \|?R\d+\|?, -126, PT|@!P\d FMUL (R\d+), (R\d+), (0\.5|\2)$")
PRODUCT = re.compile(r"FMUL (R\d+), (\S+), (UR\d+)$")
SUM = re.compile(r"FADD (R\d+), -(R\d+), (R\d+)$")
FEW = 8  # products that something else takes, too
WRITES = re.compile(r"(?:@!?P\d )?\S+ (R\d+),")


def fields_of(line):
    stall, result, operands, waits, hint, text = line.split(" ", 5)
    return [int(stall), int(result), int(operands), int(waits), int(hint), text]


def fused(code):
    """Sums of a product become multiply-adds; the product goes where sums alone take it."""
    product_in, taken, sums = {}, {}, {}
    for number, instruction in enumerate(code):
        text = instruction[5]
        found = SUM.match(text)
        product = product_in.get(found[3]) if found else None
        for register in re.findall(r"\bR\d+", text.split(",", 1)[1] if "," in text else ""):
            if register in product_in:
                taken.setdefault(product_in[register], set()).add(number)
        written = WRITES.match(text)
        if written:
            product_in.pop(written[1], None)
        if product is not None:
            sums[number] = product
        if PRODUCT.match(text):
            product_in[PRODUCT.match(text)[1]] = number
    gone = {product for product, numbers in taken.items() if all(sums.get(number) == product for number in numbers)}
    for number, product in sums.items():
        if product in gone:
            target, row, _ = SUM.match(code[number][5]).groups()
            _, value, scale = PRODUCT.match(code[product][5]).groups()
            code[number][5] = f"FFMA {target}, {value}, {scale}, -{row}"
    return gone


def rewritten(lines, rules):
    """A section's lines under the rules of a code.json's entry."""
    code = [fields_of(line) for line in lines]
    gone = {number for number, instruction in enumerate(code) if "per_exponential" in rules and EXACT.match(instruction[5])}
    gone |= fused(code) if "per_score" in rules else set()
    out, waits = [], 0
    for number, instruction in enumerate(code):
        waits |= instruction[3]
        if number not in gone:
            instruction[3], waits = waits, 0
            out.append(" ".join(map(str, instruction)))
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        file = folder / f"{name}.code.json"
        header = json.loads(file.read_text())
        entry = next(entry for entry in header["nests"] if "derived_from" in entry)
        origin = folder / f"{entry['derived_from']}.steps.zst"
        known = {kernel["kernel"]: kernel for kernel in json.loads((folder / f"{entry['derived_from']}.code.json").read_text())["kernels"]}
        text, section, symbol = "", None, None
        sections = []
        for line in subprocess.run(["zstd", "-dc", origin], capture_output=True, text=True, check=True).stdout.splitlines():
            if line.startswith("# "):
                symbol = line[2:]
            elif line[0].isalpha():
                section = line
                sections.append((symbol, section, []))
            else:
                sections[-1][2].append(line)
        named, asked = None, {kernel["kernel"] for kernel in header["kernels"]}
        for symbol, section, lines in sections:
            if f"derived from {symbol}" not in asked:
                continue
            text += f"# derived from {symbol}\n" if symbol != named else ""
            named = symbol
            left = rewritten(lines, entry)
            if section == "step":
                of, exponentials = known[symbol]["of"], sum("MUFU.EX2" in line for line in lines)
                scores = of["tile_q"] * of["tile_kv"] // (32 * known[symbol]["warps"])
                fewer = -(entry.get("per_exponential", {}).get("instructions", 0) * exponentials + entry.get("per_score", {}).get("instructions", 0) * scores)
                if abs(len(lines) - len(left) - fewer) > FEW:
                    sys.exit(f"{file}: {len(lines) - len(left)} instructions of {symbol} go, {fewer} of 'per_exponential' and 'per_score'")
            text += section + "\n" + "\n".join(left) + "\n"
        place = file.with_name(f"{name}.steps.zst")
        subprocess.run(["zstd", "-19", "-q", "-f", f"--stream-size={len(text.encode())}", "-o", place], input=text.encode(), check=True)
        note_steps(file)


if __name__ == "__main__":
    main()
