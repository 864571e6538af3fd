#!/bin/sh
# The gate as CI runs it: counters of ncu become records, and records are compared with the baseline.
# gate.sh [--update-baseline]; TILESCOPE names the program. Exit status 1: a row got worse.
set -eu
cd "$(dirname "$0")"
tilescope=${TILESCOPE:-tilescope} out=${OUT:-build}
mkdir -p "$out"
"$tilescope" import "${COUNTERS:-counters.csv}" --hardware h200_sxm --kernel my_attention.kernel.yaml \
  --point "heads_q=16 q_len=8k head_dim=128 mask=causal dtype=bf16" --records "$out/gate.jsonl" --quiet >"$out/import.txt"
exec "$tilescope" validate --recorded "$out/gate.jsonl" --baseline "${BASELINE:-baseline.json}" "$@" \
  --experiment tolerances.yaml --junit "$out/validate.xml" --markdown "$out/summary.md" --quiet
