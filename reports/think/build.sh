#!/bin/sh
# Builds the page to think on: reports/think/build.sh TILESCOPE REPORT_ASSETS BUILD_FOLDER
# Needs Emscripten (Debian's emscripten), cmake, ninja, node and npm. The source of yaml-cpp, the one library that has
# code of its own, comes from Debian's archive: Debian has no WebAssembly build of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
program=${1:?usage: reports/think/build.sh TILESCOPE REPORT_ASSETS BUILD_FOLDER}
assets=${2:?usage: reports/think/build.sh TILESCOPE REPORT_ASSETS BUILD_FOLDER}
out=${3:?usage: reports/think/build.sh TILESCOPE REPORT_ASSETS BUILD_FOLDER}
mkdir -p "$assets" "$out/apt/lists" "$out/apt/cache/archives/partial"
out=$(cd "$out" && pwd)
assets=$(cd "$assets" && pwd)
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
for tool in emcmake cmake ninja node npm apt-get; do
  command -v "$tool" >/dev/null 2>&1 || { echo "reports/think/build.sh: $tool was not found; make page installs it" >&2; exit 3; }
done

# A list of sources of its own: the system's has none, and stays as it is.
if [ ! -d "$out/yaml-cpp/src" ]; then
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    grep -v -- -security | sort -u >"$out/apt/sources.list"
  options="-qq -o Dir::Etc::SourceList=$out/apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$out/apt/lists -o Dir::Cache=$out/apt/cache -o APT::Sandbox::User=$(id -un)"
  apt-get $options update
  (cd "$out/apt" && apt-get $options source --download-only yaml-cpp >/dev/null)
  rm -rf "$out/yaml-cpp" "$out/yaml-cpp.tmp" && mkdir "$out/yaml-cpp.tmp"
  tar -xf "$out"/apt/yaml-cpp_*.orig.tar.* -C "$out/yaml-cpp.tmp" --strip-components 1
  mv "$out/yaml-cpp.tmp" "$out/yaml-cpp"
fi

# Emscripten's own scripts take their modules from Debian's folder, which a Node.js from elsewhere does not look into.
export NODE_PATH="/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}"
emcmake cmake -S "$top/src/wasm" -B "$out/wasm" -G Ninja -DTILESCOPE_YAML_CPP="$out/yaml-cpp" >"$out/cmake.log" 2>&1 || { cat "$out/cmake.log" >&2; exit 1; }
cmake --build "$out/wasm"
unset NODE_PATH
"$top/reports/build.sh" "$assets"
cd "$top/reports" && node think/build.mjs "$out/wasm" "$assets" "$program" "$out/think.html"
