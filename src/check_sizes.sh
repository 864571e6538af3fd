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
for folder in $(sources | sed 's|/[^/]*$||' | sort -u); do
  count=$(find "$folder" -maxdepth 1 -type f ! -name '*_test.cpp' | wc -l)
  inside=$(find "$folder" -mindepth 1 -maxdepth 1 -type d | wc -l)
  [ "$count" -le 25 ] || [ "$inside" -gt 0 ] || { echo "$folder: $count files; at most 25: make sub-folders"; status=1; }
done
wide=$(sources | grep -E '\.(cpp|h|cu|cuh)$' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' | cut -d: -f1,2)
[ -z "$wide" ] || { echo "over 120 columns:"; echo "$wide"; status=1; }
words=$(wc -w < README.md)
[ "$words" -lt 900 ] || { echo "README.md: $words words; under 900: move detail to docs/"; status=1; }
exit $status
