#!/usr/bin/env python3
"""Marks the loads of local memory in a cubin for compute capability 9.0 as last uses: LDL becomes LDL.LU.

    validate/tools/last_use/mark_last_use.py IN.cubin OUT.cubin

Bit 85 of an instruction is the mark; spills that nvcc makes itself have it. Check with `nvdisasm -c OUT.cubin`.
"""
import struct
import sys

OPCODE, LDL = 0xFFF, 0x983
KIND, WIDE = 0xFFFFFF, 0x100A00  # of 64 bits, which only the sweeps use
MARK = 1 << 21                   # in the upper half


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        code = bytearray(file.read())
    marked = 0
    for at in range(0, len(code) - 15, 8):
        low, high = struct.unpack_from("<QQ", code, at)
        if low & OPCODE == LDL and high & KIND == WIDE:
            struct.pack_into("<Q", code, at + 8, high | MARK)
            marked += 1
    if marked == 0:
        sys.exit(f"{sys.argv[1]}: no LDL.64 found")
    with open(sys.argv[2], "wb") as file:
        file.write(code)
    print(f"{marked} loads marked")


if __name__ == "__main__":
    main()
