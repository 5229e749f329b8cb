#!/usr/bin/env bash
# check_test.sh SOURCE: ci/check in a copy of the tree without a build, where every source compiles by itself; then with
# a wrong kernel.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$1"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch"
cd "$scratch"
code=0
ci/check sigmoid >said 2>&1 || code=$?
[ $code = 0 ] || { cat said; echo "ci/check ended with $code"; exit 1; }
grep -Eq '^[1-9][0-9]* cases, [1-9][0-9]* launches' said || { tail said; echo "ci/check judged nothing"; exit 1; }
sed -i 's/const float z = (x - mu) \* sigma;/const float z = x * sigma - mu;/' kernels/primitives/logistic.hpp
code=0
ci/check sigmoid >said 2>&1 || code=$?
[ $code = 1 ] || { tail said; echo "with a wrong kernel ci/check ended with $code"; exit 1; }
line=$(sed -n "s/^ *warpcheck replay '\(v1 sigmoid.*\)'.*/\1/p" said | sed -n 1p)
code=0
build/dev/warpcheck replay "$line" || code=$?
[ $code = 1 ] || { echo "the replay of '$line' ended with $code"; exit 1; }
