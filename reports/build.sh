#!/bin/sh
# Builds what the HTML report is made of into one folder: reports/build.sh OUT_DIR
# Needs node >= 18 and npm; the packages and their hashes are fixed by package-lock.json.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: reports/build.sh OUT_DIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
for tool in node npm; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "reports/build.sh: $tool was not found; install nodejs and npm (apt-get install nodejs npm)" >&2
    exit 3
  fi
done
cd "$here"
# npm writes node_modules/.package-lock.json last, so it is newer than the lock only after a complete install.
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
fi
node bundle.mjs "$out"
