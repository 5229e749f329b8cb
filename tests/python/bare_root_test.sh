#!/usr/bin/env bash
# ci/bare_root with a wheel of this build. Run by CTest as bare_root_test.sh SOURCE BUILD PYTHON.
set -euo pipefail
source=$1 build=$2 python=$3
for program in mmdebstrap unshare; do
  command -v "$program" >/dev/null || { echo "WARPCHECK_SKIP: $program is not installed (ci/packages)"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { echo "WARPCHECK_SKIP: making a root needs the user root"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m build --wheel --no-isolation "-Ccmake.define.WARPCHECK_BUILD=$build" "-Cbuild-dir=$scratch/made" \
  --outdir "$scratch" "$source"
"$source/ci/bare_root" "$scratch"/*.whl
if [ -f /usr/share/keyrings/ubuntu-archive-keyring.gpg ]; then
  "$source/ci/bare_root" --suite noble "$scratch"/*.whl
fi
