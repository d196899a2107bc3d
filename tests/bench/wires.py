"""Two namespaces, the hosts of a bench, and the wires between them, whose kernel's TCP has the congestion control that is asked for."""
from lib import Namespace


class Loopback:
    """Both hosts are one namespace."""

    def __init__(self, congestion):
        self.spaces = [Namespace()] * 2
        self.spaces[0].run("ip", "route", "replace", "local", "127.0.0.0/8", "dev", "lo", "table", "local", "src", "127.0.0.1",
                           "congctl", congestion)

    def interfaces(self, _side, _count):
        return ["lo"]

    def address(self, _side, _host):
        return "127.0.0.1"


class Wires:
    """Two namespaces, joined by so many wires for each of the two sides that are compared, since an interface is one process's rail.
    Each host has 10.9.WIRE.HOST, and for rails with addresses of their own 10.8.WIRE.HOST."""

    def __init__(self, congestion, mtu, plain=False, limits=(None,)):
        self.spaces = [Namespace(), Namespace()]
        self.count = len(limits)
        here, there = self.spaces
        for wire, limit in enumerate(2 * limits):
            here.run("ip", "link", "add", f"w{wire}", "type", "veth", "peer", "name", f"w{wire}", "netns", there.holder.pid)
            for host, space in enumerate(self.spaces, 1):
                space.run("ip", "address", "add", f"10.9.{wire}.{host}/24", "dev", f"w{wire}")
                space.run("ip", "link", "set", f"w{wire}", "mtu", mtu, "up")
                space.run("ip", "route", "replace", f"10.9.{wire}.0/24", "dev", f"w{wire}", "src", f"10.9.{wire}.{host}", "congctl",
                          congestion)
                if plain:
                    space.plain(f"w{wire}")
                if limit:
                    space.run("tc", "qdisc", "add", "dev", f"w{wire}", "root", "tbf", "rate", f"{limit}mbit", "burst", "256kb",
                              "latency", "20ms")

    def interfaces(self, side, count):
        return [f"w{side * self.count + wire}" for wire in range(count)]

    def address(self, side, host):
        return f"10.9.{side * self.count}.{host}"


def over(kind, interfaces, host):
    """The variables by which tfabric goes over these interfaces, and over nothing else."""
    if kind == "kernel":
        rails = ";".join(f"kernel:{name}" for name in interfaces)
    else:
        rails = ";".join(f"{kind}:name={name},device={name},addresses=10.8.{name[1:]}.{host}/24" for name in interfaces)
    return {"TFABRIC_REQUIRED": "true", "TFABRIC_TRANSPORT": "tcp", "TFABRIC_TCP_RAILS": rails}
