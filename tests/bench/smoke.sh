#!/bin/bash
# `tfabric perf` over the kernel reference plugin: both processes, small sizes, all data checked.
# Usage: smoke.sh TFABRIC PLUGIN
set -euo pipefail
tfabric=$1
plugin=$2
for variant in "0 0" "2 0" "3 2"; do
  read -r KERNELNET_SOCKETS KERNELNET_THREADS <<<"$variant"
  export KERNELNET_SOCKETS KERNELNET_THREADS
  echo "== sockets $KERNELNET_SOCKETS, threads $KERNELNET_THREADS"
  output=$("$tfabric" perf --local --plugin "$plugin" -b 0 -e 1M -f 21 -n 20 -w 5 --comms 2 --bidirectional \
    --check=all --timeout 20)
  echo "$output"
  grep -q '^# client: kernel (table v10)' <<<"$output"
done
output=$("$tfabric" perf allreduce -r 3 --plugin "$plugin" -b 4 -e 1M -f 13 -n 3 --comms 2 --timeout 20)
echo "$output"
grep -q '^# OK' <<<"$output"
# What must fail, must fail with its own exit code.
expect() {
  local wanted=$1 code=0
  shift
  "$@" >/dev/null 2>&1 || code=$?
  [ "$code" = "$wanted" ] || { echo "expected exit code $wanted, got $code: $*"; exit 1; }
}
expect 2 "$tfabric" perf --plugin "$plugin"
expect 2 "$tfabric" perf --local -b 1M -e 1K --plugin "$plugin"
expect 3 "$tfabric" perf --local --plugin /nonexistent/libnccl-net-nothing.so
expect 3 "$tfabric" perf --local --plugin "$plugin" --dev 7
for table in 4 12; do expect 3 "$tfabric" perf allreduce -r 2 --plugin "$plugin" --version-table $table; done
for table in 3 13; do expect 2 "$tfabric" perf allreduce -r 2 --plugin "$plugin" --version-table $table; done
KERNELNET_THREADS=many expect 3 "$tfabric" perf --local --plugin "$plugin"
echo "smoke: ok"
