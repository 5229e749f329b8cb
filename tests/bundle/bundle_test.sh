#!/usr/bin/env bash
# bundle_test.sh SOURCE DEVICE: bundles the build that is there, moves the folder, reads what it links, and runs it.
set -euo pipefail
source=$1 device=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$source/ci/bundle" --no-build --device "$device" --output "$scratch/made" | tee "$scratch/said"
mv "$scratch/made" "$scratch/moved"
for file in "$scratch"/moved/*; do
  [ -f "$file" ] && head -c 4 "$file" | grep -q ELF || continue
  # Libraries that are not ours are found, with what they need, through the programs that load them.
  case $(basename "$file") in *.so*) [[ $(basename "$file") == libwarpcheck_* ]] || continue ;; esac
  while read -r name _ path _; do
    case $name in
      linux-vdso.so* | libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | /lib64/ld-linux*)
        ;;  # glibc and the kernel
      statically*) ;;
      *)
        [ "${path#"$scratch/moved/"}" != "$path" ] ||
          { echo "$(basename "$file") needs $name, found at '$path': not in the bundle"; exit 1; }
        ;;
    esac
  done < <(ldd "$file")
done
# What it needs of the C library is said, and is no more than Debian 12 has where that is what it was built on.
newest=$({ objdump -T "$scratch"/moved/* 2>/dev/null || true; } | grep -o 'GLIBC_2\.[0-9]*' | sort -u -t. -k2 -n |
  tail -n 1)
grep -q "glibc >= ${newest#GLIBC_}" "$scratch/said" || { echo "ci/bundle does not say that $newest is needed"; exit 1; }
host=$(ldd --version | sed -n '1s,.*\(2\.[0-9]*\)$,\1,p')  # reads all: a reader that stops early ends ldd by a signal
[ "$host" != 2.36 ] || [ "${newest#GLIBC_2.}" -le 36 ] ||
  { echo "built with glibc 2.36, the bundle needs $newest"; exit 1; }
cd "$scratch"
# Where there is a compiler, it compiles and runs a program.
printf '#include <cstdio>\n__global__ void f() {}\nint main() { f<<<1, 1>>>(); std::puts("ran"); }\n' >program.cu
env -i PATH=/usr/bin:/bin HOME="$scratch" moved/warpcheck run-emulated program.cu >"$scratch/program.txt"
grep -q "^ran" "$scratch/program.txt"
# Sources with an entry need a header that the machine may lack.
[ -f moved/include/dlpack/dlpack.h ]
# With a sanitizer that finds something by one of its tools: that tool is named, and the other results are kept.
cat >"$scratch/compute-sanitizer" <<'TOOL'
#!/bin/bash
for ((i = 1; i <= $#; ++i)); do [ "${!i}" = --log-file ] && j=$((i + 1)) && echo "the log of $2" >"${!j}"; done
[ "$2" != racecheck ]
TOOL
chmod +x "$scratch/compute-sanitizer"
code=0
env -i PATH="$scratch:/usr/bin:/bin" HOME="$scratch" moved/run --device emulated --cases 1 --sanitize \
  --output "$scratch/results" >"$scratch/ran" 2>&1 || code=$?
cat "$scratch/ran"
grep -q '"exit_code": 0' "$scratch/results/verify.json"
[ $code = 1 ] && grep -q "racecheck ended with exit code 1" "$scratch/ran" &&
  [ "$(grep -c "ended with" "$scratch/ran")" = 1 ]
# The page, or the line that says why there is none.
grep -q "judged the built-in kernels" "$scratch/results/report.html" || grep -q "^run: no report" "$scratch/ran"
for tool in memcheck racecheck initcheck synccheck; do grep -q "the log of $tool" "$scratch/results/$tool.txt"; done
# The softmax of each template was judged, or a line says why not.
grep -Eq "^== softmax of numpy|operators_numpy.py was not run" "$scratch/ran"
grep -q "operators_triton.py were not run" "$scratch/ran"
