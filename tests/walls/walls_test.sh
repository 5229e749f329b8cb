#!/usr/bin/env bash
# walls_test.sh SOURCE: arrows between layers run one way; each wall is one check, and each check is seen to fail first.
set -uo pipefail
cd "$1" || exit 1
failures=0

# wall NAME FOLDER FORBIDDEN-INCLUDE-REGEX SAMPLE: no file below FOLDER includes what matches; SAMPLE must match.
wall() {
  local name=$1 folder=$2 forbidden=$3 sample=$4 hits
  grep -qE "$forbidden" <<<"$sample" || { echo "$name: the check does not catch '$sample'"; failures=1; }
  hits=$(grep -rnE --include='*.hpp' --include='*.h' --include='*.cpp' --include='*.cu' "$forbidden" "$folder" \
    2>/dev/null)
  if [ -n "$hits" ]; then
    echo "$name:"
    echo "$hits"
    failures=1
  fi
}

wall "the ABI includes nothing else" abi '#include "(simt|kernels|reference|properties|golden|bench|command|tests)/' \
  '#include "simt/simt.hpp"'
wall "reference includes nothing of the other layers" reference \
  '#include "(abi|kernels|simt|properties|golden|bench|command)/' '#include "kernels/softmax/softmax.hpp"'
wall "kernels include nothing above them" kernels \
  '#include [<"](reference|properties|golden|bench|command|gtest|benchmark|rapidcheck)/' \
  '#include "reference/softmax/softmax.hpp"'
wall "simt includes nothing above it but the ABI" simt \
  '#include [<"](kernels|reference|properties|golden|bench|command|tests|gtest|benchmark|rapidcheck)/' \
  '#include "kernels/rows/row_access.hpp"'
wall "kernels use no Boost" kernels '#include <boost/' '#include <boost/multiprecision/cpp_int.hpp>'
wall "the engine includes the ABI and the reference alone" properties/engine \
  '#include "(kernels|simt|golden|bench|command|tests)/' '#include "golden/reader.hpp"'
for folder in kernels/*/; do
  op=$(basename "$folder")
  [ -f "kernels/$op/$op.cu" ] || continue
  wall "the engine knows no operator" properties/engine "#include \".*/${op}[._/]" "#include \"reference/$op/$op.hpp\""
  listed=$(grep -cE "^  $op\)?$" cmake/operators.cmake)
  [ "$listed" = 1 ] ||
    { echo "operator $op: kernels/$op/$op.cu exists and cmake/operators.cmake does not list it"; failures=1; }
done
# Headers of CUDA's libraries have names of their own, so the whole tree is searched for them.
climbing=$(git ls-files -z 2>/dev/null | xargs -0 grep -nE '^#include "\.\./' -- 2>/dev/null)
[ -z "$climbing" ] || { echo "an include that climbs:"; echo "$climbing"; failures=1; }
exit $failures
