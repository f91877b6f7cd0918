#!/usr/bin/env bash
# Builds the CUDA C++ samples with the toolchain that fetch.sh installed.
#   tests/cuda/toolchain/build.sh [--if-present] [toolchain folder] [output folder]
#   defaults: .toolchains/cuda, native/build/samples
# What is up to date is left alone. With --if-present a missing toolchain is no
# error: the native build calls it so.
# Output: cuda13/<name>-static and -shared, cuda12/<name>-shared,
# cuda11/<name>-shared. NVIDIA's libraries are used as they come: all device
# code and the host code are compiled by nvcc 13.0 (PyPI has no complete older
# one), the host code against each version's own headers. The programs carry
# PTX for compute_75 and no machine code, so that any newer GPU takes them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
if_present=
if [ "${1:-}" = --if-present ]; then
  if_present=yes
  shift
fi
toolchain=$(realpath -m "${1:-$root/.toolchains/cuda}")
output=$(realpath -m "${2:-$root/native/build/samples}")
samples=$root/native/samples
nvcc=$toolchain/cuda13/nvidia/cu13/bin/nvcc

if [ ! -x "$nvcc" ]; then
  if [ -n "$if_present" ]; then
    echo "CUDA C++ samples are left out: no toolchain in $toolchain (tests/cuda/toolchain/fetch.sh installs one)"
    exit 0
  fi
  echo "build.sh: $nvcc is not there; run tests/cuda/toolchain/fetch.sh first" >&2
  exit 1
fi
export PATH=$(dirname "$nvcc"):$PATH

# Prints what the program depends on that is newer than it; prints something
# also when the program is not there.
stale() {
  [ -e "$1" ] || { echo missing; return; }
  find "$samples/cuda" "$samples/common" "$here" "$toolchain"/*/installed.txt -newer "$1" -type f -print -quit
}

# build <version> <static|shared> <nvcc options...>
build() {
  local version=$1 kind=$2 name program
  shift 2
  mkdir -p "$output/$version"
  for source in "$samples"/cuda/*.cu; do
    name=$(basename "$source" .cu)
    program=$output/$version/$name-$kind
    [ -n "$(stale "$program")" ] || continue
    echo "nvcc $version/$name-$kind"
    "$nvcc" -O2 -std=c++17 -arch=compute_75 -code=compute_75 -I "$samples" -cudart "$kind" \
      -Wno-deprecated-gpu-targets "$@" "$source" -o "$program.part"
    mv "$program.part" "$program"
  done
}

cuda13=$toolchain/cuda13/nvidia/cu13
build cuda13 static -L "$cuda13/lib"
build cuda13 shared -L "$toolchain/cuda13/link" -L "$cuda13/lib" -Xlinker -rpath -Xlinker "$cuda13/lib"

# An older runtime library: its headers before the compiler's own, our launch
# macro before both.
for version in cuda12 cuda11; do
  [ -e "$toolchain/$version/installed.txt" ] || continue
  nvidia=$toolchain/$version/nvidia
  build "$version" shared -allow-unsupported-compiler -I "$here/overlay${version#cuda}" \
    -I "$nvidia/cuda_nvcc/include" -I "$nvidia/cuda_runtime/include" \
    -L "$toolchain/$version/link" -L "$cuda13/lib" -Xlinker -rpath -Xlinker "$nvidia/cuda_runtime/lib"
done
