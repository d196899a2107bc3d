# Sourced first by scripts whose programs meet on a TCP port of this host: runs the script again in a network namespace of its
# own, where no other process can have the port. Without the right to make one it goes on where it is. $control_token is a token
# for both ends of a control connection (tfabric's --token).
if [[ -z ${TFABRIC_TEST_OWN_NETWORK-} ]] && unshare --net ip link set lo up 2>/dev/null; then
  export TFABRIC_TEST_OWN_NETWORK=1
  exec unshare --net "$BASH" -c 'ip link set lo up && exec "$@"' own_network "$BASH" "$0" "$@"
fi
control_token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
