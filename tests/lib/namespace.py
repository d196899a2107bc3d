"""Network namespaces: hosts of a test, with interfaces that a test makes. Needs root.

They have no names: each lives as long as the process that holds it, and that one is killed by the kernel when this one ends, however
it ends.
"""
import ctypes
import json
import os
import subprocess

from lib.case import case
from lib.outcome import Failed, Skipped, expect, need, wait_until
from lib.process import LIBC, Process, run

START_S = 120
CLONE_NEWNET = 0x40000000


class Namespace:
    """One network namespace, until the end of the scope. `spaces`: further ones to unshare, as unshare(1) names them."""

    def __init__(self, *spaces):
        own = os.readlink("/proc/self/ns/net")
        self.holder = Process("unshare", "--net", *(f"--{each}" for each in spaces), "sleep", "infinity", stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        self.enter = ["nsenter", "--target", self.holder.pid, "--net", *(f"--{each}" for each in spaces if "=" not in each)]
        self.path = f"/proc/{self.holder.pid}/ns/net"
        wait_until(lambda: os.readlink(self.path) != own and os.readlink(f"/proc/{self.holder.pid}/exe").endswith("sleep"),
                   "a network namespace", START_S, of=(self.holder,))
        self.ip("link set lo up")

    def command(self, *words):
        """The command that runs this one there."""
        return list(map(str, (*self.enter, *words)))

    def run(self, *words, **how):
        """What it prints."""
        return run(*self.command(*words), **how).stdout

    def start(self, *words, **how):
        return Process(*self.command(*words), **how)

    def ip(self, *lines):
        """ip(8) with each of these lines."""
        for line in lines:
            self.run("ip", *line.split())

    def sysctl(self, settings):
        for key, value in settings.items():
            self.run("sysctl", "-qw", f"{key}={value}")

    def plain(self, *devices):
        """Switches offloads off: the kernel must not send packets that a NIC would still have to cut or checksum."""
        for device in devices:
            self.run("ethtool", "-K", device, "tx", "off", "sg", "off", "tso", "off", "gso", "off", "gro", "off")

    def bridge(self, name):
        self.ip(f"link add {name} type bridge", f"link set {name} up")

    def cable(self, device, other_device, other=None, mtu=1500, plain=True):
        """A veth pair from here to another namespace, or to here as well; its two ends are up."""
        other = other or self
        self.ip(f"link add name {device} type veth peer name {other_device} netns {other.holder.pid}")
        for space, end in ((self, device), (other, other_device)):
            if plain:
                space.plain(end)
            space.ip(f"link set dev {end} mtu {mtu} up")

    def link(self, device):
        """An interface, as `ip -j` shows it."""
        return json.loads(self.run("ip", "-s", "-j", "link", "show", "dev", device))[0]

    def sent(self, *devices):
        """Bytes that have left by these."""
        return sum(self.link(device)["stats64"]["tx"]["bytes"] for device in devices)

    def received(self, device):
        return self.link(device)["stats64"]["rx"]["bytes"]

    def close(self):
        self.holder.end()


def need_namespaces(*programs):
    """Skips the test where networks cannot be made, or one of these programs is missing."""
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    need("ip", "ethtool", "sysctl", "unshare", "nsenter", *programs)
    try:
        Namespace().close()
    except (Failed, OSError) as error:
        raise Skipped(f"network namespaces cannot be made here: {error}") from error


def need_tun():
    if not os.path.exists("/dev/net/tun"):
        raise Skipped("there is no /dev/net/tun")


def enter(path):
    """This thread goes into the network namespace that this file stands for."""
    with open(path, "rb") as there:
        expect(LIBC.setns(there.fileno(), CLONE_NEWNET) == 0, f"setns {path}: {ctypes.get_errno()}")


def own_network():
    """This process goes into a network namespace of its own, where no other process can have a port. Without the right to make one it
    goes on where it is."""
    if LIBC.unshare(CLONE_NEWNET) == 0:
        case.own_network = True
        run("ip", "link", "set", "lo", "up")
