#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER CONSUMER_SOURCE CXX: installs into a scratch folder, builds the consumer against it, runs it
# and the installed command.
set -euo pipefail
cmake=$1 build=$2 consumer=$3 cxx=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$cmake" -S "$consumer" -B "$scratch/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
"$cmake" --build "$scratch/consumer"
"$scratch/consumer/consumer"
"$scratch/prefix/bin/warpcheck" verify softmax --device emulated --cases 2 --property component-bound
