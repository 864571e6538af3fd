#!/bin/sh
# usage: check_sizes.sh SOURCE_DIR   no source file over 400 lines, no folder over 25 files without sub-folders (tests
# are not counted), no line of C++ or CUDA over 120 columns, README under 900 words
cd "$1" || exit 2
status=0
sources() {
  find src kernels validate reports docs -name node_modules -prune -o \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \
    -o -name '*.py' -o -name '*.sh' -o -name '*.cmake' -o -name '*.mjs' \) -print
}
long=$(sources | xargs wc -l | awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines; at most 400: split it by idea" }')
[ -z "$long" ] || { echo "$long"; status=1; }
# Folders of sources, how many files they hold and whether they hold folders.
full=$(find src kernels validate reports docs -name node_modules -prune -o ! -name '*_test.cpp' -printf '%y %h %f\n' | awk '
  $1 == "d" { inside[$2] = 1 }
  $1 == "f" { ++files[$2]; if ($3 ~ /\.(cpp|h|cu|cuh|py|sh|cmake|mjs)$/) source[$2] = 1 }
  END { for (f in source) if (files[f] > 25 && !inside[f]) print f ": " files[f] " files; at most 25: make sub-folders" }')
[ -z "$full" ] || { echo "$full"; status=1; }
wide=$(sources | grep -E '\.(cpp|h|cu|cuh)$' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' | cut -d: -f1,2)
[ -z "$wide" ] || { echo "over 120 columns:"; echo "$wide"; status=1; }
words=$(wc -w < README.md)
[ "$words" -lt 900 ] || { echo "README.md: $words words; under 900: move detail to docs/"; status=1; }
exit $status
