#!/usr/bin/env python3
"""Writes NAME.steps.zst for a build whose machine code is not at hand, from the steps of another build of the same source.

    derived_steps.py FOLDER NAME...      of kernels whose NAME.code.json has `derived_from`; needs zstd

What the source says of the difference is in `per_exponential` and `per_score` of NAME.code.json, as counts. Here it is done
to the instructions: `--use_fast_math` leaves out what makes 2^x of tiny results exact (a comparison with -126, a product by
0.5 before and a square behind); without UNFUSE_FMA a product and the sum that takes it are one multiply-add. Instructions
that stay keep their order, registers and stall counts; what one that is left out waited for, the next one waits for. The
number that is left out must be about that of NAME.code.json.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from code_json import steps_file  # noqa: E402
from step_programs import write_steps  # noqa: E402

EXACT = re.compile(r"FSETP\.GEU\.AND P\d, PT, \|?R\d+\|?, -126, PT|@!P\d FMUL (R\d+), (R\d+), (0\.5|\2)$")
PRODUCT = re.compile(r"FMUL (R\d+), (\S+), (UR\d+)$")
SUM = re.compile(r"FADD (R\d+), -(R\d+), (R\d+)$")
RESULT = re.compile(r"(?:@!?U?P\d+ )?(\S+) (?:P\d, )?R(\d+),")
FEW = 4  # products that something else takes, too


def written(text):
    """Registers in which an instruction leaves its result, by the suffixes of its opcode."""
    found = RESULT.match(text)
    if not found or found[1].startswith(("ST", "RED", "LDGSTS")):
        return []
    parts = found[1].split(".")
    width = 4 if parts[0] == "HMMA" and parts[2] == "F32" or {"4", "128"} & set(parts) else \
        2 if parts[0] == "HMMA" or {"2", "64", "WIDE"} & set(parts) else 1
    return [f"R{int(found[2]) + i}" for i in range(width)]


def fused(code):
    """Sums of a product become multiply-adds; the product goes where sums alone take it.

    The multiply-add reads its score where the product was: that register is free for it until then."""
    product_in, taken, sums = {}, {}, {}
    for number, text in enumerate(code):
        found = SUM.match(text)
        product = product_in.get(found[3]) if found else None
        for register in re.findall(r"\bR\d+", text.split(",", 1)[1] if "," in text else ""):
            if register in product_in:
                taken.setdefault(product_in[register], set()).add(number)
        for register in written(text):
            product_in.pop(register, None)
        if product is not None:
            sums[number] = product
        if PRODUCT.match(text):
            product_in[PRODUCT.match(text)[1]] = number
    gone = {product for product, numbers in taken.items() if all(sums.get(number) == product for number in numbers)}
    for number, product in sums.items():
        if product in gone:
            target, row, score = SUM.match(code[number]).groups()
            code[number] = f"FFMA {target}, {score}, {PRODUCT.match(code[product])[3]}, -{row}"
    return gone


def rewritten(lines, rules):
    """A section's lines under the rules of a code.json's entry."""
    code = [line.split(" ", 5)[5] for line in lines]
    gone = {number for number, text in enumerate(code) if "per_exponential" in rules and EXACT.match(text)}
    gone |= fused(code) if "per_score" in rules else set()
    out, waited = [], 0
    for number, (line, text) in enumerate(zip(lines, code)):
        stall, result, operands, waits, hint, _ = line.split(" ", 5)
        waited |= int(waits)
        if number not in gone:
            out.append(f"{stall} {result} {operands} {waited} {hint} {text}")
            waited = 0
    return out


def sections_of(file):
    """Symbol, section and lines of steps beside a code.json."""
    found, symbol = [], None
    text = subprocess.run(["zstd", "-dc", steps_file(file)], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        if line.startswith("# "):
            symbol = line[2:]
        elif line[0].isalpha():
            found.append((symbol, line, []))
        else:
            found[-1][2].append(line)
    return found


def check_count(file, kernel, rules, lines, left):
    """Ends with a message where other instructions of a step are left out than code.json says."""
    fewer = {rule: -rules.get(rule, {}).get("instructions", 0) for rule in ("per_exponential", "per_score")}
    scores = kernel["of"]["tile_q"] * kernel["of"]["tile_kv"] // (32 * kernel["warps"])
    stated = fewer["per_exponential"] * sum("MUFU.EX2" in line for line in lines) + fewer["per_score"] * scores
    if abs(len(lines) - len(left) - stated) > FEW:
        sys.exit(f"{file}: {len(lines) - len(left)} instructions of {kernel['kernel']} go, "
                 f"'per_exponential' and 'per_score' say {stated}")


def derived_text(file):
    """The steps of a code.json that has `derived_from`."""
    header = json.loads(file.read_text())
    rules = next(entry for entry in header["nests"] if "derived_from" in entry)
    kernels, text, named = {kernel["kernel"]: kernel for kernel in header["kernels"]}, "", None
    for symbol, section, lines in sections_of(file.with_name(f"{rules['derived_from']}.code.json")):
        kernel = kernels.get(f"derived from {symbol}")
        if not kernel:
            continue
        left = rewritten(lines, rules)
        if section == "step":
            check_count(file, kernel, rules, lines, left)
        text += (f"# derived from {symbol}\n" if symbol != named else "") + "\n".join([section, *left]) + "\n"
        named = symbol
    return text


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        file = pathlib.Path(sys.argv[1]) / f"{name}.code.json"
        write_steps(file, derived_text(file))


if __name__ == "__main__":
    main()
