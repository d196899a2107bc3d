"""Judges the packets at the kernel's end by tshark and by a few rules of our own.

Everything that the kernel's end has sent or received is in the capture, so what a packet of ours may contain can be
judged exactly: by what the kernel had sent before it.
"""
import json
import re
import signal
import sys
from dataclasses import dataclass, field

from lib import Failed, run, wait_until
from lib.namespace import START_S
from network import OURS

ERROR = 0x800000  # PI_ERROR, Wireshark's severity of expert items
FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
ANALYSIS = ["retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "lost_segment",
            "ack_lost_segment", "duplicate_ack", "keep_alive", "keep_alive_ack", "zero_window", "window_full"]
TCP = ["srcport", "dstport", "seq_raw", "ack_raw", "len", "flags", "window_size_value", "options.wscale.shift",
       "options.mss_val", "options.timestamp.tsval", "checksum.status"]
# Linux writes ~0 for 0 where it completes a checksum (skb_checksum_help), UDP or not: in ones' complement they are one number.
SUMS = ("tcp.checksum", "tcp.checksum_calculated")
SAME_SUM = ["0xffff", "0x0000"]
FIELDS = (["frame.number", "ip.src", "ipv6.src", "ip.dsfield.ecn", "ipv6.tclass.ecn", "ip.checksum.status",
           "icmpv6.checksum.status", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message", *SUMS]
          + [f"tcp.{name}" for name in TCP] + [f"tcp.analysis.{name}" for name in ANALYSIS])
TAKES_PLACE = ("spurious_retransmission", "fast_retransmission", "retransmission", "out_of_order")


# The last frame of a capture, with an Ethernet type for experiments (IEEE 802), so that both ends ignore it.
MARK = b"tfabric: the end of this capture"
SEND_MARK = """import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as packets:
    packets.bind((sys.argv[1], 0))
    packets.send(b"\\xff" * 6 + bytes(6) + b"\\x88\\xb5" + sys.argv[2].encode())"""


class Capture:
    """Runs dumpcap at an interface, into a file."""

    def __init__(self, path):
        self.path, self.process = path, None
        self.namespace = self.device = None

    def start(self, namespace, device):
        self.namespace, self.device = namespace, device
        self.process = namespace.start("dumpcap", "-q", "-i", device, "-B", 64, "-w", self.path)
        self.process.await_line("File:")

    def finish(self):
        """Ends it with all packets so far in the file. Raises Failed if it has lost one."""
        if self.device_is_there():
            self.namespace.run(sys.executable, "-c", SEND_MARK, self.device, MARK.decode())
            wait_until(lambda: MARK in self.path.read_bytes()[-(1 << 16):], "the last packets of the capture", START_S)
        self.process.stop(signal.SIGINT)
        said = self.process.text()
        counts = re.search(r"received/dropped on interface .*?: (\d+)/(\d+)", said)
        if counts is None or int(counts.group(2)) > 0:
            raise Failed(f"dumpcap has lost packets, so that nothing can be judged: {said.strip()}")

    def device_is_there(self):
        """False for a TAP whose process has ended; dumpcap has read all of its packets then."""
        return any(link["ifname"] == self.device for link in json.loads(self.namespace.run("ip", "-j", "link")))


@dataclass
class Frame:
    number: int
    ours: bool
    ports: tuple
    ecn: int
    bad_checksum: bool
    malformed: bool
    errors: list
    analysis: set
    tcp: dict

    @property
    def span(self):
        """How many sequence numbers it takes."""
        return self.tcp["len"] + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def flags(self):
        return self.tcp["flags"]


def number(text, base=10):
    return int(text.split(",")[0], base) if text else None


def parse(line):
    values = dict(zip(FIELDS, line.rstrip("\n").split("\t")))
    tcp = None
    if values["tcp.srcport"]:
        tcp = {name: number(values[f"tcp.{name}"], 16 if name == "flags" else 10) for name in TCP}
    checksums = [values[name] for name in ("ip.checksum.status", "icmpv6.checksum.status")]
    if [values[name] for name in SUMS] != SAME_SUM:
        checksums.append(values["tcp.checksum.status"])
    severities = [int(s) for s in values["_ws.expert.severity"].split(",") if s]
    messages = values["_ws.expert.message"].split(",")
    return Frame(number=int(values["frame.number"]), ours=(values["ip.src"] or values["ipv6.src"]) in OURS.values(),
                 ports=(tcp["srcport"], tcp["dstport"]) if tcp else (), ecn=number(values["ip.dsfield.ecn"]
                                                                                  or values["ipv6.tclass.ecn"]) or 0,
                 bad_checksum="0" in checksums, malformed=bool(values["_ws.malformed"]),
                 errors=messages if ERROR in severities else [],
                 analysis={name for name in ANALYSIS if values[f"tcp.analysis.{name}"]}, tcp=tcp)


def read(path, ports):
    """The frames of a capture. tshark must not look for a protocol in the data of these ports."""
    command = ["tshark", "-n", "-r", path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
               "-d", f"tcp.port=={ports[0]}-{ports[1]},data", "-T", "fields", "-E", "occurrence=a"]
    for name in FIELDS:
        command += ["-e", name]
    return [parse(line) for line in run(*command, limit=120).stdout.splitlines()]


def after(a, b):
    """How far sequence number a is after b."""
    return ((a - b + (1 << 31)) & 0xffffffff) - (1 << 31)


@dataclass
class End:
    """What one end of a connection has announced up to some frame."""
    scale: int = None  # None: it has offered no window scaling
    mss: int = 536
    timestamps: bool = False
    edge: int = None  # right edge of the window that it has announced
    fin: int = None  # sequence number behind its FIN
    last_tsval: int = None
    highest_ack: int = None


@dataclass
class Rules:
    """Our own rules, applied to the frames of one connection in the order of the capture."""
    in_order: bool  # the wire does not reorder
    whole: bool  # the network does not cut super-segments
    us: End = field(default_factory=End)
    kernel: End = field(default_factory=End)
    faults: list = field(default_factory=list)

    def take(self, frame):
        sender, receiver = (self.us, self.kernel) if frame.ours else (self.kernel, self.us)
        if frame.flags & SYN:
            sender.scale = frame.tcp["options.wscale.shift"]
            sender.mss = frame.tcp["options.mss_val"] or 536
            sender.timestamps = frame.tcp["options.timestamp.tsval"] is not None
        if frame.ours and not frame.flags & SYN:
            self.check(frame)
        if frame.flags & ACK and not frame.flags & RST:
            self.take_window(frame, sender)
        if frame.flags & FIN:
            sender.fin = (frame.tcp["seq_raw"] + frame.span) & 0xffffffff

    def take_window(self, frame, sender):
        scaled = self.us.scale is not None and self.kernel.scale is not None and not frame.flags & SYN
        edge = (frame.tcp["ack_raw"] + (frame.tcp["window_size_value"] << (sender.scale if scaled else 0))) & 0xffffffff
        if sender.edge is None or after(edge, sender.edge) > 0:
            sender.edge = edge
        elif frame.ours and self.in_order and after(edge, sender.edge) < 0:
            self.say(frame, f"our window shrinks by {-after(edge, sender.edge)} (RFC 9293 3.8.6)")

    def check(self, frame):
        tcp, end = frame.tcp, (frame.tcp["seq_raw"] + frame.span) & 0xffffffff
        if frame.flags & RST:
            return
        if not frame.flags & ACK:
            self.say(frame, "no ACK flag (RFC 9293 3.10.7.4)")
        if frame.span and self.kernel.edge is not None and after(end, self.kernel.edge) > 0:
            self.say(frame, f"{after(end, self.kernel.edge)} bytes beyond the kernel's window")
        if tcp["len"] > self.kernel.mss and not self.whole:
            self.say(frame, f"{tcp['len']} bytes of payload, the kernel's MSS is {self.kernel.mss}")
        if self.us.fin is not None and after(end, self.us.fin) > 0:
            self.say(frame, "data behind our FIN")
        if self.us.timestamps and self.kernel.timestamps:
            self.check_timestamp(frame)
        if frame.ecn in (1, 2) and not tcp["len"]:
            self.say(frame, "an ECN-capable segment without data (RFC 3168 6.1.4)")

    def check_timestamp(self, frame):
        value = frame.tcp["options.timestamp.tsval"]
        if value is None:
            self.say(frame, "no timestamp, though agreed on (RFC 7323 3.2)")
        elif self.in_order:
            if self.us.last_tsval is not None and after(value, self.us.last_tsval) < 0:
                self.say(frame, "our timestamp goes back")
            self.us.last_tsval = value

    def say(self, frame, text):
        self.faults.append((frame.number, text))


def judge_stream(frames, case, reports):
    """Pairs of frame and text for everything that is wrong in a case's frames."""
    faults = []
    rules = {}
    # Repetitions that the report counts: on a busy host, a pause causes a tail loss probe (RFC 8985 §7).
    allowed = 0 if case.lossy else ((reports or {}).get("us") or {}).get("tail_probes", 0)
    for frame in frames:
        if frame.bad_checksum and case.corrupts:
            continue  # the wire has corrupted it
        key = frozenset(frame.ports)
        rules.setdefault(key, Rules(in_order=not case.reorders, whole=case.network == "whole")).take(frame)
        if not frame.ours:
            continue
        again = [name for name in TAKES_PLACE if name in frame.analysis]
        if again and not case.lossy:
            allowed -= 1
            if allowed < 0:
                faults.append((frame.number, f"tcp.analysis.{again[0]}, though nothing was lost"))
        if "ack_lost_segment" in frame.analysis:
            faults.append((frame.number, "acknowledges what the kernel has not sent"))
        if "lost_segment" in frame.analysis and not case.lossy:
            faults.append((frame.number, "tcp.analysis.lost_segment, though nothing was lost"))
    for rule in rules.values():
        faults += rule.faults
    return faults


def judge_packets(frames, tolerate_checksums=False):
    """What is wrong in any case: of TCP only our packets count, of the rest (ARP, ND, ICMP) all."""
    faults = []
    for frame in frames:
        if frame.tcp and not frame.ours:
            continue
        if frame.bad_checksum and not tolerate_checksums:
            faults.append((frame.number, "wrong checksum"))
        if frame.malformed and not (frame.bad_checksum and tolerate_checksums):
            faults.append((frame.number, f"malformed: {frame.errors}"))
        elif frame.errors and not (frame.bad_checksum and tolerate_checksums):
            faults.append((frame.number, f"tshark: {', '.join(frame.errors)}"))
    return faults


def largest(frames, ours):
    return max((frame.tcp["len"] for frame in frames if frame.ours == ours), default=0)


def count(frames, ours, name):
    return sum(frame.ours == ours and name in frame.analysis for frame in frames)


def marked(frames, ours, flag):
    return sum(frame.ours == ours and bool(frame.flags & flag) and not frame.flags & SYN for frame in frames)
