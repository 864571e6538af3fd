#!/bin/sh
# usage: check_format.sh CLANG_FORMAT SOURCE_DIR   fails when clang-format would change a C++ or CUDA file.
# Version 14 is not idempotent: `clang-format -i` may have to run twice.
cd "$2" || exit 2
# Few processes: each takes a while to start.
find src kernels validate reports -name node_modules -prune -o \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 -n 400 -P 2 "$1" --dry-run --Werror
