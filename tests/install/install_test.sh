#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER CONSUMER_SOURCE CXX EXAMPLES_SOURCE: installs into a scratch folder, builds the
# consumer and a copy of the examples against it, runs them and the installed command.
set -euo pipefail
cmake=$1 build=$2 consumer=$3 cxx=$4 examples=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cp -r "$consumer" "$scratch/consumer"
cp -r "$examples" "$scratch/examples"
for project in consumer examples; do
  "$cmake" -S "$scratch/$project" -B "$scratch/$project/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" ||
    { cat "$scratch/log"; exit 1; }
  "$cmake" --build "$scratch/$project/build"
done
"$scratch/consumer/build/consumer"
"$scratch/examples/build/grow_tree" --rows 500
"$scratch/prefix/bin/warpcheck" verify softmax --device emulated --cases 2 --property within-error-bound

# A build of the command alone installs the command, and find_package says what its package lacks.
sed 's,/libwarpcheck_engine\.a",/absent.a",' "$build/cmake_install.cmake" >"$scratch/partial.cmake"
grep -q /absent.a "$scratch/partial.cmake"
"$cmake" -DCMAKE_INSTALL_PREFIX="$scratch/partial" -P "$scratch/partial.cmake" >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
"$scratch/partial/bin/warpcheck" verify softmax --device emulated --cases 2 --property within-error-bound
if "$cmake" -S "$scratch/consumer" -B "$scratch/consumer/partial" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_PREFIX_PATH="$scratch/partial" >"$scratch/log" 2>&1; then
  echo "a package without libwarpcheck_engine.a was found"
  exit 1
fi
tr -s '\n ' ' ' <"$scratch/log" | grep -q "libwarpcheck_engine.a is not installed" || { cat "$scratch/log"; exit 1; }
