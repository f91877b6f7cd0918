#!/usr/bin/env bash
# Installs NVIDIA's CUDA compiler and runtime libraries from PyPI into a folder
# of their own: nothing else on the machine changes. They are NVIDIA's, under
# NVIDIA's licence, and are used only to build and run the CUDA C++ samples.
#   tests/cuda/toolchain/fetch.sh [folder]     default: .toolchains/cuda
# Versions and checksums are pinned in cuda13.txt, cuda12.txt and cuda11.txt.
# A version that is there already is left alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
destination=${1:-$root/.toolchains/cuda}

fail() {
  echo "fetch.sh: $*" >&2
  exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "NVIDIA's wheels used here are for Linux on x86_64; this is $(uname -sm)."
python=${PYTHON:-python3}
"$python" -m pip --version >/dev/null 2>&1 ||
  fail "needs pip for $python. On Debian: apt-get install -y python3-pip"

install_version() {
  local version=$1 folder=$destination/$1 list=$here/$1.txt
  if cmp -s "$list" "$folder/installed.txt"; then
    echo "$version is in $folder"
    return
  fi
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  "$python" -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action=ignore --no-deps \
    --only-binary=:all: --require-hashes --target "$folder.part" --requirement "$list" ||
    fail "pip could not install $list. Is https://pypi.org reachable from here? pip's message is above."
  # Link-time names: the wheels carry only the names that are loaded.
  mkdir -p "$folder.part/link"
  local library
  for library in "$folder.part"/nvidia/*/lib/libcudart.so.*; do
    [ -e "$library" ] || fail "no libcudart.so in $list as installed"
    ln -sfn "../nvidia/${library#"$folder.part/nvidia/"}" "$folder.part/link/libcudart.so"
  done
  cp "$list" "$folder.part/installed.txt"
  rm -rf "$folder"
  mv "$folder.part" "$folder"
  echo "$version installed in $folder"
}

install_version cuda13
install_version cuda12
install_version cuda11
