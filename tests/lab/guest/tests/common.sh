# What the tests inside the guest share. Sourced by bash.
set -euo pipefail
# Of `tfabric perf` and `tfabric check` between two processes, which may be on two machines.
token=lab-0123456789abcdef-012
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# eventually WHAT COMMAND...: tries until it succeeds.
eventually() {
  local what=$1 try
  shift
  for ((try = 0; try < 200; try++)); do
    if "$@"; then return; fi
    sleep 0.2
  done
  fail "$what: not within the time"
}
# Prints the index of an RDMA device's GID; only the first few are looked at, as the table has a thousand.
find_gid() { # DEVICE GID
  local index
  for ((index = 0; index < 8; index++)); do
    if [[ $(<"/sys/class/infiniband/$1/ports/1/gids/$index") == "$2" ]]; then
      echo "$index"
      return
    fi
  done
  return 1
}
gid_index() { # DEVICE GID
  eventually "the GID $2 of $1" find_gid "$@"
}
counter() { # DEVICE NAME
  cat "/sys/class/net/$1/statistics/$2"
}
# Of a PCI function; "none" if it has none.
driver() { basename "$(readlink "/sys/bus/pci/devices/$1/driver" || echo none)"; }
