#!/usr/bin/env bash
# adopt_test.sh CMAKE CTEST BUILD_FOLDER PROJECT CXX PYTHON: installs into a scratch folder; a stranger's project, with
# a history of its own, registers its kernel's properties with it. The good kernel passes, the branch with the planted
# bug fails with a line that replays.
set -euo pipefail
cmake=$1 ctest=$2 build=$3 project=$4 cxx=$5 python=$6
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch/home WARPCHECK_PYTHON=$python
unset XDG_CACHE_HOME
mkdir "$HOME"
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cp -r "$project" "$scratch/adopt"
cd "$scratch/adopt"
git init --quiet --initial-branch main
git config user.name test
git config user.email test@example.org
git add --all
git commit --quiet --message "A kernel"
git switch --quiet --create faster
git apply faster.patch
git commit --quiet --all --message "softmax: one barrier less"
git switch --quiet main

expect() {  # expect FILE TEXT
  grep -qF -- "$2" "$1" || { echo "'$2' is not in $1:"; cat "$1"; exit 1; }
}
tests() { "$ctest" --test-dir build --output-on-failure --no-tests=error --parallel 2; }
report() {
  "$python" -c 'import jinja2, matplotlib' 2>/dev/null ||
    { echo "no report: $python has no Jinja2 or matplotlib"; return; }
  "$cmake" --build build --target rows_report
  expect build/rows_report.html "$1"
}

"$cmake" -B build -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
"$ctest" --test-dir build --show-only >listed
expect listed "Total Tests: 7"
expect listed "rows.softmax.no-hazard"
[ "$("$ctest" --test-dir build --print-labels | grep -cwE 'property|emulated|softmax|rows')" = 4 ]
tests || exit 1
report "no failure"

git switch --quiet faster
if tests >failed; then
  echo "the branch with the planted bug passes"
  exit 1
fi
expect failed "rows.softmax.no-hazard (Failed)"
expect failed "race"
line=$(grep -o "warpcheck replay 'v1 softmax/no-hazard [^']*'" failed | sed -n 1p)
[ -n "$line" ] || { echo "no line to replay:"; cat failed; exit 1; }
code=0
PATH=$scratch/prefix/bin:$PATH bash -c "$line" >replayed 2>&1 || code=$?
[ $code = 1 ] || { cat replayed; exit 1; }
expect replayed "race"
report "slots[threadIdx.x / 32] = v;"

# A mistake in the one line is answered when CMake runs.
cat >>CMakeLists.txt <<'CMAKE'
warpcheck_add_kernel_tests(NAME other OPERATOR softmax SOURCE softmax.cu ENTRY rows_softmax PROPERTIES no-such)
CMAKE
if "$cmake" -B build >said 2>&1; then exit 1; fi
expect said "'no-such' is not a property of softmax"
