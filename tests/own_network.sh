# Sourced first by scripts whose programs meet on a TCP port of this host: runs the script again in a network namespace of its
# own, where no other process can have the port. Without the right to make one it goes on where it is.
if [[ -z ${TFABRIC_TEST_OWN_NETWORK-} ]] && unshare --net ip link set lo up 2>/dev/null; then
  export TFABRIC_TEST_OWN_NETWORK=1
  exec unshare --net "$BASH" -c 'ip link set lo up && exec "$@"' own_network "$BASH" "$0" "$@"
fi
