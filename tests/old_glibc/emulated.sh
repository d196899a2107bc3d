# Two processes of an emulated `tfabric perf` over memif, with all data checked. Sourced by bash.

. "$(dirname "${BASH_SOURCE[0]}")/../own_network.sh"

# emulated_perf EMULATOR... PROGRAM
emulated_perf() {
  local emulated=("$@" perf --token "$control_token" --timeout 120) i
  export TFABRIC_CONFIG=/dev/null TFABRIC_TRANSPORT=tcp TFABRIC_TCP_RAILS=memif TFABRIC_REQUIRED=true
  log=$(mktemp)
  "${emulated[@]}" --listen >"$log" 2>&1 &
  server=$!
  trap 'rm -f "$log"; kill "$server" 2>/dev/null || true' EXIT
  for ((i = 0; i < 600; i++)); do
    grep -q 'waiting for one client' "$log" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  # qemu warns of each feature of that processor that it does not emulate.
  "${emulated[@]}" 127.0.0.1 --mode bw -b 1M -e 1M -n 64 --check all 2> >(grep -v 'warning: TCG' >&2) || {
    cat "$log" >&2
    return 1
  }
  wait "$server"
}
