# Shared by the commands of ci/: packages, devices, build. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {  # die CODE SENTENCE: arguments after the first are its parts
  echo "${0##*/}: ${*:2}" >&2
  exit "$1"
}

# offered NAME...: those of the packages that this distribution has.
offered() {
  local name
  for name in "$@"; do apt-cache show "$name" 2>/dev/null | grep "^Package: $name$" >/dev/null && echo "$name"; done
  true
}

# install_packages build|test|report: installs the missing ones among ci/packages; needs root or sudo only if any is
# missing. test takes those of the build, too.
install_packages() {
  local wanted missing=() optional=() name
  case $1 in
    build) wanted=$(sed '/^test:/,$d' "$root/ci/packages") ;;
    test) wanted=$(sed '/^report:/,$d' "$root/ci/packages") ;;
    report) wanted=$(sed '1,/^report:/d' "$root/ci/packages") ;;
  esac
  for name in $(grep -v '^#\|:$' <<<"$wanted"); do
    dpkg-query -W -f='${Status}' "${name%\~}" 2>/dev/null | grep 'ok installed' >/dev/null && continue
    if [[ $name == *\~ ]]; then optional+=("${name%\~}"); else missing+=("$name"); fi
  done
  [ ${#missing[@]} -eq 0 ] && [ -z "$(offered "${optional[@]}")" ] && return
  command -v apt-get >/dev/null ||
    die 3 "these packages are missing and there is no apt-get to install them: ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die 3 "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
    sudo=(sudo)
  fi
  echo "installing ${missing[*]} ${optional[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null ||
    echo "apt-get update failed; trying with the lists at hand" >&2
  # shellcheck disable=SC2207  # names of packages hold no blanks
  missing+=($(offered "${optional[@]}"))
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${missing[@]}" >/dev/null ||
    die 3 "installing packages failed: ${missing[*]}"
}

# python_packages FOLDER REQUIREMENTS [option of pip...]: makes the environment build/FOLDER with these packages.
python_packages() {
  local folder=$root/build/$1 requirements=$root/ci/$2
  cmp -s "$requirements" "$folder/installed" && return
  mkdir -p "$root/build"
  if /usr/bin/python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "${@:3}" -r "$requirements"; then
    cp "$requirements" "$folder/installed"
  else
    echo "the packages of ci/$2 cannot be installed; the tests that need them will be skipped" >&2
  fi
}

# Without network the tests that need these packages are shown as skipped.
python_environment() { python_packages python requirements.txt; }
change_points_environment() { python_packages change_points requirements-change-points.txt --no-deps; }

has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep '^GPU' >/dev/null; }

# Prints the path of nvcc, if there is one.
find_nvcc() { command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; }; }

# The operators, in the order of reports.
all_operators() {
  sed -n '/^set(WARPCHECK_OPERATORS/,/)/p' "$root/cmake/operators.cmake" | sed -e '1d' -e 's/)//' | xargs
}

# is_operator NAME
is_operator() { [[ " $(all_operators) " == *" $1 "* ]]; }

# build_only PRESET OPERATOR...: the command with these operators and those that the folder had before.
build_only() {
  local preset=$1 folder=$root/build/$1 op nvcc only=() known
  shift
  known=$(sed -n 's/^WARPCHECK_ONLY:STRING=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
  for op in $(all_operators); do
    [[ " $* ${known//;/ } " == *" $op "* ]] && only+=("$op")
  done
  known=$(IFS=';' && echo "${only[*]}")
  nvcc=$(find_nvcc || true)
  [ -n "$nvcc" ] && PATH=$PATH:$(dirname "$nvcc")
  cd "$root"
  if [ ! -f "$folder/build.ninja" ] || ! grep -qx "WARPCHECK_ONLY:STRING=$known" "$folder/CMakeCache.txt"; then
    configure "$preset" -DWARPCHECK_ONLY="$known"
  fi
  cmake --build "$folder" --parallel "$(nproc)" --target warpcheck_command_plain
}

configure() {  # configure PRESET OPTION...: says nothing unless it fails
  local preset=$1 log
  shift
  log=$(mktemp)
  cmake --preset "$preset" "$@" >"$log" 2>&1 ||
    { cat "$log"; rm -f "$log"; die 3 "configuring the preset $preset failed"; }
  rm -f "$log"
}

# GPUs that get machine code (WARPCHECK_CUDA_ARCHITECTURES), and whether it is only to be compiled
# (WARPCHECK_CUDA_UNOPTIMISED). A tree that has more, or better, keeps it.
cuda_architectures="80;90a" cuda_unoptimised=OFF
# The part of the heavy tests that will run (WARPCHECK_PART); ci/test sets it. A build has what all of them need.
part_of_build=

# build PRESET TARGET...: configures where needed and builds.
build() {
  local preset=$1 cache="build/$1/CMakeCache.txt" nvcc options=() stale=false
  shift
  nvcc=$(find_nvcc || true)
  [ -n "$nvcc" ] && PATH=$PATH:$(dirname "$nvcc")
  cd "$root"
  [ -f "build/$preset/build.ninja" ] || stale=true
  if [ -x build/python/bin/python ]; then
    options=("-DPython3_EXECUTABLE=$root/build/python/bin/python")
    grep -qs "^_*Python3_EXECUTABLE:.*build/python" "$cache" || stale=true
  fi
  if [[ $preset == *cuda ]]; then
    options+=("-DWARPCHECK_CUDA_ARCHITECTURES=$cuda_architectures" "-DWARPCHECK_CUDA_UNOPTIMISED=$cuda_unoptimised")
    grep -qs "^WARPCHECK_CUDA_ARCHITECTURES:.*$cuda_architectures\$" "$cache" || stale=true
    [ $cuda_unoptimised = ON ] || ! grep -qs "^WARPCHECK_CUDA_UNOPTIMISED:BOOL=ON" "$cache" || stale=true
  fi
  if ! grep -qsx "WARPCHECK_PART:STRING=$part_of_build" "$cache"; then
    options+=("-DWARPCHECK_PART=$part_of_build")
    stale=true
  fi
  if $stale; then configure "$preset" "${options[@]}"; fi
  cmake --build "build/$preset" --parallel "$(nproc)" --target "$@"
}
