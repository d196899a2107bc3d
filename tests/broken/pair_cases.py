"""Faults between two hosts. For check each rail is a host of its own; each of the job's two ranks has one."""
from broken import Table
from lib import Namespace
from namespaced import interface_rail

CASES = Table()
broken = CASES.broken
QUICK = {"tcp__connect_timeout_ms": 4000}  # longer than ARP takes to give up


@broken([], network="tcp", job="runs")
def sound_pair(host):
    host.pair(*host.interfaces())


@broken(["error gateway-silent", "error peer-not-tried"], told="gateway 10.9.0.254")
def gateway_silent(host):
    host.interfaces()
    host.pair(*(interface_rail(number, gateway="10.9.0.254") for number in range(2)))


@broken(["error config-invalid", "error peer-not-tried"], told="10.8.0.254. is in no network of the rail's addresses")
def gateway_elsewhere(host):
    """The gateway is in none of the rail's networks."""
    host.interfaces()
    host.pair(*(interface_rail(number, gateway="10.8.0.254") for number in range(2)))


@broken(["error address-taken", "error peer-not-tried"], told="10.9.0.[12]")
def address_of_another_host(host):
    """A stranger in the same network has the addresses of both rails."""
    host.interfaces()
    stranger = Namespace()
    host.run("ip", "link", "add", "to-stranger", "type", "veth", "peer", "name", "eth0", "netns", stranger.holder.pid)
    host.run("ip", "link", "set", "to-stranger", "master", "bridge", "up")
    for address in ("10.9.0.1/24", "10.9.0.2/24"):
        stranger.run("ip", "address", "add", address, "dev", "eth0")
    stranger.run("ip", "link", "set", "eth0", "up")
    host.pair(interface_rail(0), interface_rail(1))


@broken(["error peer-without-gateway"] * 2, network="none", job="fails", told="is in none of the networks of the rail")
def other_subnet(host):
    host.interfaces()
    host.pair(interface_rail(0), interface_rail(1, addresses=["10.8.0.2/24"]), **QUICK)


@broken(["error peer-same-address"], network="none", job="")
def same_address(host):
    host.interfaces()
    host.pair(interface_rail(0), interface_rail(1, addresses=["10.9.0.1/24"]))


@broken(["error peer-neighbour-silent"] * 2, network="none", job="fails", told="10.9.0")
def other_vlan(host):
    """The network between the two does not carry packets."""
    host.interfaces()
    host.run("ip", "link", "set", "to-rail1", "nomaster")
    host.pair(interface_rail(0), interface_rail(1), **QUICK)


def routed(host, route):
    """Two subnets, whose router does this with packets."""
    router = Namespace()
    for number in range(2):
        host.run("ip", "link", "add", f"rail{number}", "index", (number + 1) << 12, "type", "veth", "peer", "name",
                 f"to{number}", "netns", router.holder.pid)
        host.space.plain(f"rail{number}")
        router.plain(f"to{number}")
        router.run("ip", "address", "add", f"10.9.{number}.254/24", "dev", f"to{number}")
        router.run("ip", "link", "set", f"to{number}", "up")
        host.run("ip", "link", "set", f"rail{number}", "up")
    router.sysctl({"net.ipv4.ip_forward": 1})
    for number in range(2):
        if route:
            router.run("ip", "route", "add", route, f"10.9.{number}.{number + 1}/32")
    host.pair(*(interface_rail(number, addresses=[f"10.9.{number}.{number + 1}/24"], gateway=f"10.9.{number}.254")
                for number in range(2)), **QUICK)


@broken([], network="tcp", job="runs")
def sound_router(host):
    routed(host, "")


@broken(["error peer-unreachable"] * 2, network="none", fix="security groups", job="fails", told="10.9.[01].[12]")
def firewall_drops(host):
    routed(host, "blackhole")


@broken(["error peer-(unreachable|neighbour-silent)"] * 2, network="none", job="fails", told="10.9.[01].[12]")
def firewall_refuses(host):
    routed(host, "prohibit")


@broken(["warning peer-mtu-black-hole"] * 2, network="tcp", fix="mtu", job="runs", options=["--max-bytes", "64M"],
        told="full packets .MTU 9000. to 10.9.0.[12] are lost .* those with 14[0-9]+ bytes")
def mtu_black_hole(host):
    """Between two switches, a cable carries less than the rails think, and the first of them drops the rest."""
    host.interfaces(mtu=9000)
    host.run("ip", "link", "add", "farther", "mtu", 9000, "type", "bridge")
    host.run("ip", "link", "set", "farther", "up")
    host.run("ip", "link", "add", "this-end", "type", "veth", "peer", "name", "that-end")
    for end, bridge in (("this-end", "bridge"), ("that-end", "farther"), ("to-rail1", "farther")):
        host.run("ip", "link", "set", end, "master", bridge, "up")
    host.pair(interface_rail(0), interface_rail(1))


@broken("warning peer-mtu-differs", network="tcp", fix="mtu = 1500 at both", job="runs")
def mtus_differ(host):
    host.interfaces()
    host.pair(interface_rail(0), interface_rail(1, mtu=1400))


@broken([], network="tcp", job="fails", options=["--fallback"], told="the peer uses another network")
def gateway_of_one_rail_silent(host):
    """Only the process that has the rail finds the fault: it alone falls back, and the job fails at once."""
    host.interfaces()
    host.configure(interface_rail(0), interface_rail(1, gateway="10.9.0.254"))
