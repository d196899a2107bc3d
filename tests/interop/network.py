"""Network namespaces, joined by a cable (veth), our emulator (tests/wire), or the TAP of our peer.

    ours: va ---- w1       the wire       w2 ---- vb :kernel        Network(kind="wire")
    ours: va -------------------------------------- vb :kernel        Network(kind="direct"); "xdp", by AF_XDP;
                                                                      "whole", on which nothing cuts super-segments or
                                                                      completes checksums, as between containers
    ours and kernel: tap0, which our peer makes                       Network(kind="tap")
"""
from lib import Namespace
from lib.wire import Wire

OURS = {4: "10.7.0.1", 6: "fd00:7::1"}
KERNEL = {4: "10.7.0.2", 6: "fd00:7::2"}
PREFIX = {4: 24, 6: 64}


class Network:
    def __init__(self, kind, mtu, log, programs=None, seed=None):
        """`programs`, `seed`: as Wire has them."""
        self.kind, self.mtu = kind, mtu
        self.wire = None
        self.kernel = Namespace()
        self.ours = self.kernel if kind == "tap" else Namespace()
        # A connection must not use what the last one has learnt about the path. And the kernel's end has to listen at its
        # address before our peer has made the TAP that gets it.
        self.kernel.sysctl({"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.ip_nonlocal_bind": 1, "net.ipv6.ip_nonlocal_bind": 1})
        if kind == "tap":
            self.device, self.theirs = "tap0", "tap0"
            return
        self.device, self.theirs = "va", "vb"
        if kind in ("direct", "xdp", "whole"):
            self.cable(self.ours, "va", self.kernel, "vb")
        else:
            middle = Namespace()
            self.cable(middle, "w1", self.ours, "va")
            self.cable(middle, "w2", self.kernel, "vb")
            middle.sysctl({"net.ipv6.conf.w1.disable_ipv6": 1, "net.ipv6.conf.w2.disable_ipv6": 1})
            self.wire = Wire(middle.start, "us=af_packet:w1", "kernel=af_packet:w2", programs=programs, seed=seed, stderr=log)
        self.ours.sysctl({"net.ipv6.conf.va.disable_ipv6": 1})
        self.address_kernel()

    def cable(self, one, device, other, other_device):
        one.cable(device, other_device, other, self.mtu, plain=self.kind != "whole")

    def raise_tap(self):
        """Sets up a TAP, which exists only while our peer runs. The kernel does not answer before it has addresses there."""
        self.kernel.plain(self.theirs)
        self.kernel.ip(f"link set {self.theirs} up")

    def address_kernel(self):
        for family, address in KERNEL.items():
            self.kernel.ip(f"addr add {address}/{PREFIX[family]} dev {self.theirs} {'nodad' if family == 6 else ''}")
