"""Network namespaces, joined by a cable (veth), our emulator (tests/wire), or the TAP of our peer.

    ours: va ---- w1       the wire       w2 ---- vb :kernel        Network(kind="wire")
    ours: va -------------------------------------- vb :kernel        Network(kind="direct"); "xdp", by AF_XDP;
                                                                      "whole", on which nothing cuts super-segments or
                                                                      completes checksums, as between containers
    ours and kernel: tap0, which our peer makes                       Network(kind="tap")

The namespaces have no names: each lives as long as the process that holds it, and that one is killed by the kernel
when this one ends, however it ends.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import time

OURS = {4: "10.7.0.1", 6: "fd00:7::1"}
KERNEL = {4: "10.7.0.2", 6: "fd00:7::2"}
PREFIX = {4: 24, 6: 64}
START_S = 120  # for a program to be ready, on a host that stands still now and then


class Failed(Exception):
    """A test has failed; the text says how."""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def wait_until(condition, seconds, what):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def stop(process, signal_number=signal.SIGTERM):
    """Ends a process that was started here, by SIGKILL if it does not react."""
    if process.poll() is None:
        process.send_signal(signal_number)
    try:
        process.wait(START_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Namespace:
    def __init__(self):
        own = os.readlink("/proc/self/ns/net")
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], preexec_fn=die_with_parent)
        self.path = f"/proc/{self.holder.pid}/ns/net"
        wait_until(lambda: os.readlink(self.path) != own, START_S, "a network namespace")
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *words):
        return ["nsenter", f"--net={self.path}", *map(str, words)]

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *words, **how):
        return subprocess.Popen(self.command(*words), preexec_fn=die_with_parent, **how)

    def sysctl(self, settings):
        for key, value in settings.items():
            self.run("sysctl", "-qw", f"{key}={value}")

    def plain(self, device):
        """Switches offloads off: the kernel must not send packets that a NIC would still have to cut or checksum."""
        self.run("ethtool", "-K", device, "tx", "off", "sg", "off", "tso", "off", "gso", "off", "gro", "off")

    def close(self):
        self.holder.kill()
        self.holder.wait()


def why_impossible(programs):
    """Why networks cannot be made here, or which of the programs {name: Debian package} is missing; None: nothing is."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    needed = {"ip": "iproute2", "ethtool": "ethtool", "sysctl": "procps", "unshare": "util-linux",
              "nsenter": "util-linux"}
    for program, package in (needed | programs).items():
        if not shutil.which(program):
            return f"the program {program} (package {package}) is missing"
    try:
        Namespace().close()
    except (Failed, OSError) as error:
        return f"network namespaces cannot be made here: {error}"
    return None


class Wire:
    """An emulated network (tests/wire), which is told what to do by lines, and answers each by one."""

    def __init__(self, start, *words, **how):
        """`start`: what starts a process by words, as Popen's."""
        self.process = start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)
        self.answer("its start")

    def answer(self, line):
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise Failed(f"the wire, {line}: {answer or 'it has ended'}")
        return answer

    def ask(self, line):
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # there is no answer then
        return self.answer(line)

    def counters(self):
        """{direction: {counter: number}}"""
        return json.loads(self.ask("stats"))

    def close(self):
        self.process.stdin.close()
        stop(self.process)


class Network:
    def __init__(self, kind, mtu, programs, seed, log):
        self.kind, self.mtu = kind, mtu
        self.namespaces = []
        self.wire = None
        try:
            self.kernel = self.namespace()
            self.ours = self.kernel if kind == "tap" else self.namespace()
            # A connection must not use what the last one has learnt about the path. And the kernel's end has to listen at its
            # address before our peer has made the TAP that gets it.
            self.kernel.sysctl({"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.ip_nonlocal_bind": 1,
                                "net.ipv6.ip_nonlocal_bind": 1})
            if kind == "tap":
                self.device, self.theirs = "tap0", "tap0"
                return
            self.device, self.theirs = "va", "vb"
            if kind in ("direct", "xdp", "whole"):
                self.cable(self.ours, "va", self.kernel, "vb")
            else:
                middle = self.namespace()
                self.cable(middle, "w1", self.ours, "va")
                self.cable(middle, "w2", self.kernel, "vb")
                middle.sysctl({"net.ipv6.conf.w1.disable_ipv6": 1, "net.ipv6.conf.w2.disable_ipv6": 1})
                self.wire = Wire(middle.start, programs / "emulated_wire", "us=af_packet:w1", "kernel=af_packet:w2", "--seed", seed,
                                 stderr=log)
            self.ours.sysctl({"net.ipv6.conf.va.disable_ipv6": 1})
            self.address_kernel()
        except BaseException:
            self.close()
            raise

    def namespace(self):
        self.namespaces.append(Namespace())
        return self.namespaces[-1]

    def cable(self, one, device, other, other_device):
        one.run("ip", "link", "add", device, "type", "veth", "peer", "name", other_device, "netns",
                other.holder.pid)
        for namespace, end in ((one, device), (other, other_device)):
            if self.kind != "whole":
                namespace.plain(end)
            namespace.run("ip", "link", "set", end, "mtu", self.mtu, "up")

    def raise_tap(self):
        """Sets up a TAP, which exists only while our peer runs. The kernel does not answer before it has addresses there."""
        self.kernel.plain(self.theirs)
        self.kernel.run("ip", "link", "set", self.theirs, "up")

    def address_kernel(self):
        for family, address in KERNEL.items():
            self.kernel.run("ip", "addr", "add", f"{address}/{PREFIX[family]}", "dev", self.theirs,
                            *(["nodad"] if family == 6 else []))

    def close(self):
        if self.wire:
            self.wire.close()
        for namespace in self.namespaces:
            namespace.close()
