#!/bin/sh
# Checks that each folder of src/ includes only the folders below it (tests may include any), and that each library stays behind its door.
# usage: check_layers.sh SOURCE_DIRECTORY
cd "$1" || exit 2
failed=0

allow() { # allow FOLDER ALLOWED...: the folders whose headers FOLDER may include
  folder=$1; shift
  allowed=$(echo "$folder $*" | tr ' ' '|')
  found=$(grep -nE '^#include "[a-z]+/' -r "$folder" --include=*.cpp --include=*.h --exclude=*_test.cpp | grep -vE "#include \"($allowed)/") || return 0
  echo "$folder may include only: $*"; echo "$found"; failed=1
}
room() { # room ROOM/SUB ALLOWED...: the other folders of ROOM whose headers ROOM/SUB may include; headers of ROOM itself are open to all
  sub=$1; top=${1%%/*}; shift
  allowed=$(echo "${sub#*/} $*" | tr ' ' '|')
  found=$(grep -nE "^#include \"$top/[a-z_]+/" -r "$sub" --include=*.cpp --include=*.h --exclude=*_test.cpp |
          grep -vE "#include \"$top/($allowed)/") || return 0
  echo "$sub may include only of $top: $*"; echo "$found"; failed=1
}
only() { # only PATTERN FOLDER...: includes matching PATTERN stand in these folders alone
  pattern=$1; shift
  doors=$(echo "$*" | tr ' ' '|')
  found=$(grep -rnE "^#include [<\"]($pattern)" . --include=*.cpp --include=*.h | grep -vE "^\./($doors)/") || return 0
  echo "$pattern belongs to: $*"; echo "$found"; failed=1
}

allow base
allow config base
allow hardware base config
allow expr base
allow stream base expr
allow poly base
allow optimum base poly
allow diagram base config expr stream
allow schedule base config expr stream diagram
allow cost base diagram schedule
allow program base expr stream diagram schedule cost
allow draw base expr stream diagram schedule
allow derive base expr stream poly optimum diagram schedule cost program
allow boundaries base hardware optimum diagram schedule cost derive
allow kernel base config expr diagram schedule
allow loopbounds base hardware kernel
allow simulate base hardware kernel loopbounds
room simulate/sm
allow predict base config expr optimum diagram schedule cost program hardware kernel loopbounds simulate
room predict/point
room predict/grid point
room predict/work point
room predict/traffic point work
room predict/l2 point traffic
room predict/sm point grid traffic l2 work
room predict/time point grid l2 sm
room predict/explain point
allow lower base config hardware kernel optimum predict
allow search base diagram schedule cost hardware kernel predict
allow request base config derive diagram schedule hardware kernel predict search
allow records base config diagram
allow network base config diagram hardware predict records request
allow import base config diagram hardware request records
allow compare base diagram schedule cost hardware kernel predict records
allow launches base diagram hardware kernel predict request records import compare
allow tilescope base hardware schedule predict request compare
allow python tilescope
allow analysis base diagram schedule cost hardware kernel predict search records compare
allow wasm base schedule hardware predict request analysis simulate
allow report base analysis
allow cli base config hardware loopbounds simulate poly optimum lower expr stream diagram schedule cost draw derive boundaries kernel predict search request network records import compare launches analysis report validate
allow fuzz base diagram hardware kernel simulate predict records request compare cli
only 'yaml-cpp/' config
only 'boost/' cli
only 'sqlite3' import cli/output/rows
only 'zlib' import report/text
only 'oneapi/tbb' base
only 'cuda|cupti' none
twice=$(grep -rhoE '^namespace [a-z_0-9:]*_test \{' --include='*_test.cpp' . | sort | uniq -c |
  awk '$1 > 1 && $3 != "enum_table_test" { print $3 }')  # that one stands around a specialisation
[ -z "$twice" ] || { echo "a namespace of two test files, which may be compiled as one unit: $twice"; failed=1; }
without=$(grep -rLE '^namespace [a-z_0-9:]*_test \{' --include='*_test.cpp' .)
[ -z "$without" ] || { echo "a test file without a namespace of its own, NAME_test: $without"; failed=1; }
python3 folder_cycles.py . || failed=1
exit $failed
