"""The machines' NICs, joined by pairs of unnamed sockets, so that they use no names of the host."""
import socket

FIRST_SLOT = 0x10  # of the NICs on the PCI bus, two a pair
LEGACY = "-legacy"  # virtio before 1.0, which knows no IOMMU
DHCP_NETWORKS = [(0x8, "10.40.0.0/24"), (0x18, "10.41.0.0/24")]  # slots, and what is there


def modules(options):
    """Modules of the guest's kernel, beyond those that every machine needs."""
    names = ["rdma_rxe", "veth", "sch_netem"] if options.rails else []
    if options.disk:
        names.append("virtio_net")  # of the NICs below
    if options.vfio:
        names += ["vfio_iommu_type1", "vfio-pci"]
    elif options.nics:
        names += ["virtio_net" if options.model.startswith("virtio") else options.model, "af_packet"]
    return names


class Plug:
    """One end of a cable: `side` 0 or 1."""

    def __init__(self, pair, side, end):
        self.pair, self.side, self.end = pair, side, end


def join(pairs, machines):
    """The plugs of each machine."""
    plugs = [[] for _ in range(machines)]
    for pair in range(pairs):
        for side, end in enumerate(socket.socketpair()):
            plugs[side % machines].append(Plug(pair, side, end))
    return plugs


def network_cards(options):
    """The NICs of a machine with a disk besides the pairs, with only DHCP behind them."""
    words = []
    for index, (slot, network) in enumerate(DHCP_NETWORKS):
        words += ["-netdev", f"user,id=u{index},restrict=on,ipv6=off,net={network}", "-device",
                  f"virtio-net-pci,netdev=u{index},addr={slot:#x},mac=52:54:00:0c:00:0{index},romfile=,disable-legacy=on"
                  + (",iommu_platform=on,ats=on" if options.iommu else "")]
    return words


def arguments(plugs, model, mtu, iommu):
    """The options of qemu, and the file descriptors that they name."""
    words, descriptors = [], []
    for index, plug in enumerate(plugs):
        descriptors.append(plug.end)
        mac = f"52:54:00:0{'ab'[plug.side]}:00:0{plug.pair}"
        device = f"{model.removesuffix(LEGACY)},netdev=n{index},addr={FIRST_SLOT + index:#x},mac={mac},romfile="
        if model == "virtio-net-pci":
            # Modern, as in clouds; behind the IOMMU only if the guest has one.
            device += f",disable-legacy=on,host_mtu={mtu}" + (",iommu_platform=on,ats=on" if iommu else "")
        elif model.endswith(LEGACY):
            device += f",disable-modern=on,host_mtu={mtu}"
        words += ["-netdev", f"socket,id=n{index},fd={plug.end.fileno()}", "-device", device]
    return words, descriptors
