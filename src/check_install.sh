#!/bin/sh
# usage: check_install.sh CMAKE BUILD_DIR
# Installs into an empty folder, moves it, and asks the program there: it must answer from its own data alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --install "$2" --prefix "$folder/first" > /dev/null
mv "$folder/first" "$folder/moved"
cd "$folder"
unset TILESCOPE_DATA
program="$folder/moved/bin/tilescope"
"$program" predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --tile q=128,kv=64,warps=4 --format json > here.json
"$2/tilescope" predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --tile q=128,kv=64,warps=4 --format json > built.json
cmp here.json built.json || { echo "the installed program answers otherwise than the built one"; exit 1; }
# Without its own data it must say so, not fall back on the tree it was built from.
mv moved/share/tilescope/models moved/share/tilescope/away
status=0
"$program" predict --hardware h200_sxm --kernel fused_mma --q-len 4k > without.txt 2>&1 || status=$?
[ "$status" = 2 ] && grep -q TILESCOPE_DATA without.txt || { echo "without its data the program exits with $status and says:"; cat without.txt; exit 1; }
