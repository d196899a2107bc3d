# What all ranks of NCCL over fakecuda have in common. Sourced by the launchers.

export NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-lo}
# Every rank has a host of its own (NCCL_HOSTID), so that all data goes through the network.
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 NCCL_CUMEM_ENABLE=0 NCCL_CUMEM_HOST_ENABLE=0
# These are not emulated and not needed.
export NCCL_PAT_ENABLE=0 NCCL_RAS_ENABLE=0
unset NCCL_NET_PLUGIN NCCL_CONF_FILE NCCL_DEBUG_SUBSYS
