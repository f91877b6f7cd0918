#!/usr/bin/env bash
# Installs nvitop, gpustat and nvidia-ml-py from PyPI into a virtual environment of their own, so that the test
# of the client's libnvidia-ml.so.1 can run what users run. Nothing else on the machine changes.
#   tests/cuda/toolchain/fetchMonitors.sh [folder]     default: .toolchains/monitors
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
destination=${1:-$root/.toolchains/monitors}
list=$here/monitors.txt

if cmp -s "$list" "$destination/installed.txt"; then
  echo "the monitors are in $destination"
  exit 0
fi
rm -rf "$destination"
python3 -m venv "$destination" || {
  echo "fetchMonitors.sh: python3 cannot make virtual environments. On Debian: apt-get install -y python3-venv" >&2
  exit 1
}
"$destination/bin/pip" install --quiet --disable-pip-version-check --requirement "$list"
cp "$list" "$destination/installed.txt"
echo "the monitors are installed in $destination"
