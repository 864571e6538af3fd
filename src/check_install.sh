#!/bin/sh
# usage: check_install.sh CMAKE BUILD_DIR
# Installs into an empty folder, moves it, and asks the program there: it must answer from its own data alone. So must a
# program of 20 lines that is built against the installed package.
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
for file in share/man/man1/tilescope.1 share/man/man1/tilescope-predict.1 share/bash-completion/completions/tilescope \
    share/zsh/site-functions/_tilescope share/fish/vendor_completions.d/tilescope.fish; do
  [ -s "moved/$file" ] || { echo "not installed: $file"; exit 1; }
done
modules=$(find moved/lib* -name '_tilescope*.so')
if [ -n "$modules" ]; then
  case $modules in
    */python[0-9]*.[0-9]*/*/tilescope/_tilescope*.so) ;;
    *) echo "the Python module is installed where no Python looks: $modules"; exit 1 ;;
  esac
fi
if [ -d moved/include/tilescope ]; then
  mkdir user
  cat > user/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(user CXX)
find_package(tilescope 0.1 REQUIRED)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE tilescope::tilescope)
END
  cat > user/main.cpp <<'END'
#include <iostream>

#include "tilescope/catalogue.h"
#include "tilescope/predict.h"

int main() {
  namespace api = tilescope::api;
  try {
    api::predict({{"hardware", "h200_sxm"}});
  } catch (const api::BadInput& error) {
    if (std::string(error.what()).find("--q-len") == std::string::npos) return 1;
  }
  const api::Prediction point = api::predict({{"hardware", "h200_sxm"}, {"kernel", "fused_mma"}, {"heads", "16"},
                                              {"q_len", "4k"}, {"head_dim", "128"}, {"tile", "q=128,kv=64,warps=4"}});
  std::cout << point.json << "\n";
  return point.feasible && point.seconds > 0 && point.traffic.size() == 4 && !api::kernels().empty() ? 0 : 1;
}
END
  "$1" -S user -B user/build -DCMAKE_PREFIX_PATH="$folder/moved" > user.log 2>&1 && "$1" --build user/build >> user.log 2>&1 ||
    { cat user.log; exit 1; }
  user/build/user > library.json || { echo "the program that uses the library fails"; cat library.json; exit 1; }
  cmp library.json built.json || { echo "the library answers otherwise than the program"; exit 1; }
fi
# Without its own data it must say so, not fall back on the tree it was built from.
mv moved/share/tilescope/models moved/share/tilescope/away
status=0
"$program" predict --hardware h200_sxm --kernel fused_mma --q-len 4k > without.txt 2>&1 || status=$?
[ "$status" = 2 ] && grep -q TILESCOPE_DATA without.txt || { echo "without its data the program exits with $status and says:"; cat without.txt; exit 1; }
