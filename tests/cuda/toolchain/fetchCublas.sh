#!/usr/bin/env bash
# Installs NVIDIA's cuBLAS of two CUDA versions from PyPI into a folder of its own, so that the tests can run
# its matrix products on the software GPU. It is NVIDIA's, under NVIDIA's licence. About 800 MB to download and
# 1.2 GB on the disk: the tests that need it are skipped, with the reason, where it is not there.
#   tests/cuda/toolchain/fetchCublas.sh [folder]     default: .toolchains/cublas
# Versions and checksums are pinned in cublas11.txt and cublas12.txt. What is there already is left alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
destination=${1:-$root/.toolchains/cublas}

for version in cublas11 cublas12; do
  list=$here/$version.txt
  folder=$destination/$version
  if cmp -s "$list" "$folder/installed.txt"; then
    echo "$version is in $folder"
    continue
  fi
  rm -rf "$folder" "$folder.part"
  mkdir -p "$folder.part"
  "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
    --no-cache-dir --only-binary=:all: --require-hashes --target "$folder.part" --requirement "$list" || {
    echo "fetchCublas.sh: pip could not install $list. Is https://pypi.org reachable from here? pip's message is above." >&2
    exit 1
  }
  cp "$list" "$folder.part/installed.txt"
  mv "$folder.part" "$folder"
  echo "$version installed in $folder"
done
