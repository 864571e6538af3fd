#!/bin/sh
# The shards of a sweep by GNU parallel, on this machine or on those of --sshloginfile (PARALLEL_OPTIONS), and their merge.
# Run it again after a failure: shards that are there are not predicted again.
#   SHARDS=100 parallel.sh sweep.csv --axis q_len=1k:128k:x2 --hardware h200_sxm ...
set -eu
output=$1
shift
program=${TILESCOPE:-tilescope}
# shellcheck disable=SC2086  # PARALLEL_OPTIONS are words
seq "${SHARDS:?is not set: the number of shards}" |
  parallel -q --will-cite --retries 3 ${PARALLEL_OPTIONS:-} \
    "$program" sweep --quiet --threads 1 --shard "{}/$SHARDS" -o "$output" "$@"
"$program" sweep merge -o "$output"
