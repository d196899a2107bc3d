"""The matrix of cases. Each value is combined with each role and direction at least once, not with every other value.

A case's scripts are explained in script.h; `us` is our TCP, `kernel` Linux's. `wire` is what the wire does to the
packets (tests/wire). Checks are functions of a Result that say what they miss, or nothing.
"""
from dataclasses import dataclass, field

import judge


@dataclass
class Case:
    name: str
    ours: str
    kernel: str  # empty: the kernel has no end
    connects: str = "us"
    family: int = 4
    network: str = "wire"  # network.py
    mtu: int = 1500
    wire: str = ""
    lossy: bool = False  # packets are lost, late or out of order, so that repetitions are in place
    reorders: bool = False
    corrupts: bool = False  # on the way to the kernel
    our_options: list = field(default_factory=list)
    kernel_options: list = field(default_factory=list)
    sysctl: dict = field(default_factory=dict)  # at the kernel's end, for this case
    events: list = field(default_factory=list)  # (whose, line that it prints, seconds after it, command to the wire)
    first_lost: str = ""  # the events' seconds begin when the wire has lost a packet towards this end, "us" or "kernel"
    checks: list = field(default_factory=list)
    timeout_s: int = 120
    port: int = 0


@dataclass
class Result:
    """What a case has left behind: the ends' reports, the frames, the wire's statistics by direction."""
    us: dict
    kernel: dict
    frames: list
    wire: dict


# A window that fits into the queues on the way, so that nothing gets lost, and a time-out that is longer than the pauses of a
# busy host.
CLEAN = {"our_options": ["--receive-buffer", 256 << 10, "--min-rto-ms", 5000],
         "kernel_options": ["--receive-buffer", 128 << 10]}
BLACK_HOLE_TIMEOUTS = 3  # one after the other: transport/tcp/stack/path_mtu.cc
SCRIPTS = {"us": ("send:{}", "receive:{}"), "kernel": ("receive:{}", "send:{}"), "both": ("both:{}", "both:{}")}


def stream(name, connects, sends, size="2M", **rest):
    """A bulk transfer and an orderly end, in which the sender closes first."""
    ours, kernel = (script.format(size) for script in SCRIPTS[sends])
    first, second = " fin eof", " eof fin"
    if sends == "kernel":
        first, second = second, first
    case = Case(name, ours + first, kernel + second, connects=connects, **rest)
    headers = (40 if case.family == 4 else 60) + (12 if case.sysctl.get("net.ipv4.tcp_timestamps", 1) else 0)
    # If bursts drop the same segment again and again, our end rightly assumes a black hole (RFC 8899 §4.3), and the transfer may
    # end before its search is back at the full size.
    case.checks = [expect(f"an MSS for {case.mtu}",
                          lambda r: r.us["mss"] == case.mtu - headers or r.us["timeouts"] >= BLACK_HOLE_TIMEOUTS),
                   *case.checks]
    return case


def expect(what, condition):
    return lambda result: None if condition(result) else what


NEGOTIATED_ECN = expect("ECN at both ends", lambda r: r.us["ecn"] and r.kernel["ecn"])
MARKED_TO_KERNEL = expect("marks on the way to the kernel", lambda r: r.wire["kernel"]["marked"] > 0)
MARKED_TO_US = expect("marks on the way to us", lambda r: r.wire["us"]["marked"] > 0)
WE_ECHO = expect("our ECE, and the kernel's CWR",
                 lambda r: judge.marked(r.frames, True, judge.ECE) and judge.marked(r.frames, False, judge.CWR))
KERNEL_ECHOES = expect("the kernel's ECE, and our CWR",
                       lambda r: judge.marked(r.frames, False, judge.ECE) and judge.marked(r.frames, True, judge.CWR))
PACED = expect("a pacing rate", lambda r: r.us["pacing_rate"] > 0)


def happened(direction, name):
    return expect(f"{name} towards {direction}", lambda r: r.wire[direction][name] > 0)


def seen(name, ours, least=1):
    return expect(f"at least {least} {name} of {'ours' if ours else 'the kernel'}",
                  lambda r: judge.count(r.frames, ours, name) >= least)


def waited(who, least_ms, most_ms):
    return expect(f"{who}: the end after {least_ms} to {most_ms} ms",
                  lambda r: least_ms <= getattr(r, who)["last_wait_ms"] <= most_ms)


def bulk():
    for name, connects, sends, family, mtu, network in [
            ("a cable", "us", "us", 4, 1500, "direct"), ("a cable", "kernel", "kernel", 6, 1500, "direct"),
            ("a cable", "kernel", "both", 4, 1500, "direct"), ("a cable", "us", "kernel", 6, 9000, "direct"),
            ("a cable", "kernel", "us", 4, 9000, "direct"), ("a cable", "us", "both", 6, 9000, "direct"),
            ("the wire", "kernel", "us", 6, 1500, "wire"), ("the wire", "us", "kernel", 4, 1500, "wire"),
            ("the wire", "us", "us", 6, 9000, "wire"), ("the wire", "kernel", "kernel", 4, 9000, "wire")]:
        yield stream(f"over {name}, MTU {mtu}", connects, sends, "4M", family=family, mtu=mtu, network=network, **CLEAN)


def whole():
    for connects, sends, family, mtu in [("us", "us", 4, 1500), ("kernel", "kernel", 6, 1500), ("kernel", "both", 4, 1500),
                                         ("us", "kernel", 4, 9000), ("kernel", "us", 6, 9000), ("us", "both", 6, 9000)]:
        senders = {"us": [True], "kernel": [False], "both": [True, False]}[sends]
        checks = [expect(f"super-segments of {'ours' if ours else 'the kernel'}", lambda r, ours=ours: judge.largest(r.frames, ours) > mtu)
                  for ours in senders]
        yield stream(f"between containers, MTU {mtu}", connects, sends, "4M", family=family, mtu=mtu, network="whole", checks=checks,
                     **CLEAN)


def tap():
    for connects, sends, family in [("us", "us", 4), ("kernel", "kernel", 6), ("kernel", "us", 6), ("us", "both", 4)]:
        yield stream("over a TAP of ours", connects, sends, family=family, network="tap", **CLEAN)


def xdp():
    for connects, sends, family, mtu in [("us", "us", 4, 1500), ("kernel", "kernel", 6, 1500), ("kernel", "us", 6, 3500),
                                         ("us", "both", 4, 3500), ("us", "kernel", 4, 3500)]:
        yield stream(f"over AF_XDP, MTU {mtu}", connects, sends, "4M", family=family, mtu=mtu, network="xdp", **CLEAN)


def impaired():
    for wire, connects, sends, family, mtu, counter in [
            ("loss=1%", "us", "us", 4, 1500, "dropped.loss"), ("loss=1%", "kernel", "kernel", 6, 1500, "dropped.loss"),
            ("burst=0.5% burst_length=8", "kernel", "us", 6, 1500, "dropped.burst"),
            ("burst=0.5% burst_length=8", "us", "kernel", 4, 1500, "dropped.burst"),
            ("duplicate=2%", "us", "both", 6, 1500, "duplicated"),
            ("corrupt=1%", "kernel", "both", 4, 1500, "corrupted"),
            ("delay=2ms jitter=1ms reorder=2% reorder_delay=3ms", "us", "us", 6, 1500, "reordered"),
            ("delay=2ms jitter=1ms reorder=2% reorder_delay=3ms", "kernel", "kernel", 4, 1500, "reordered"),
            ("delay=1ms rate=60M queue=40K", "kernel", "us", 4, 1500, "dropped.queue"),
            ("delay=1ms rate=60M queue=40K", "us", "kernel", 6, 1500, "dropped.queue"),
            ("loss=1% reorder=1% duplicate=1% delay=1ms", "us", "both", 4, 9000, "dropped.loss"),
            ("loss=1% reorder=1% duplicate=1% delay=1ms", "kernel", "both", 6, 9000, "dropped.loss")]:
        checks = [happened(to, counter) for to in {"us": ["kernel"], "kernel": ["us"], "both": []}[sends]]
        yield stream(wire, connects, sends, family=family, mtu=mtu, wire=wire, lossy=True, checks=checks,
                     reorders="reorder" in wire or "duplicate" in wire, corrupts="corrupt" in wire)
    # Longer than ARP and neighbour discovery wait for an answer. The kernel, which would give up then, has to ask for longer.
    patient = {f"net.{ip}.neigh.vb.{how}_solicit": 60 for ip in ("ipv4", "ipv6") for how in ("ucast", "mcast")}
    for connects, other, family in [("us", "kernel", 4), ("us", "kernel", 6), ("kernel", "us", 4), ("kernel", "us", 6)]:
        yield stream("no packet passes for the first 4 s", connects, other, family=family, wire="loss=100%", lossy=True,
                     sysctl=patient, events=[("us", "ready", 4, "set clear")], first_lost=other)
    for without, sysctl in [("SACK", {"net.ipv4.tcp_sack": 0}), ("timestamps", {"net.ipv4.tcp_timestamps": 0}),
                            ("window scaling", {"net.ipv4.tcp_window_scaling": 0}),
                            ("any option", {"net.ipv4.tcp_sack": 0, "net.ipv4.tcp_timestamps": 0,
                                            "net.ipv4.tcp_window_scaling": 0})]:
        off = [key.removeprefix("net.ipv4.tcp_").replace("window_scaling", "window_scale") for key in sysctl]
        for connects, sends, family in [("us", "us", 4), ("kernel", "kernel", 6)]:
            yield stream(f"the kernel without {without}, loss=0.5%", connects, sends, "1M", family=family,
                         wire="loss=0.5%", lossy=True, sysctl=sysctl,
                         checks=[expect(f"no {name}", lambda r, n=name: not r.kernel[n]) for name in off])


def congestion():
    queue = "rate=50M delay=1ms queue=30K"
    marks = "rate=50M delay=1ms queue=1M ecn=12K"
    for algorithm, extra, connects, family, mtu in [("cubic", [], "us", 4, 1500), ("cubic", ["--pacing"], "kernel", 6, 9000),
                                                    ("bottleneck", [], "us", 6, 1500)]:
        yield stream(f"our {' '.join([algorithm, *extra])}", connects, "us", family=family, mtu=mtu, wire=queue,
                     lossy=True, our_options=["--congestion", algorithm, *extra],
                     checks=[PACED] if extra or algorithm == "bottleneck" else [])
    for algorithm, connects, family in [("cubic", "kernel", 4), ("dctcp", "us", 6), ("dctcp", "kernel", 4),
                                        ("bottleneck", "us", 4)]:
        # The model does not have to fill the queue.
        fills = [] if algorithm == "bottleneck" else [MARKED_TO_KERNEL, KERNEL_ECHOES]
        yield stream(f"our {algorithm} with ECN", connects, "us", family=family, wire=marks, lossy=True,
                     our_options=["--congestion", algorithm, "--ecn"], sysctl={"net.ipv4.tcp_ecn": 1},
                     checks=[NEGOTIATED_ECN, *fills])
    for algorithm, connects, family, ecn in [("reno", "us", 6, True), ("cubic", "kernel", 4, True),
                                             ("dctcp", "us", 4, True), ("bbr", "kernel", 6, False),
                                             ("bbr", "us", 4, True)]:
        checks = [NEGOTIATED_ECN, MARKED_TO_US] + ([WE_ECHO] if algorithm != "bbr" else []) if ecn else []
        yield stream(f"the kernel's {algorithm}{' with ECN' if ecn else ''}", connects, "kernel", family=family,
                     wire=marks if ecn else queue, lossy=True, our_options=["--ecn"] if ecn else [],
                     kernel_options=["--congestion", algorithm], sysctl={"net.ipv4.tcp_ecn": int(ecn)}, checks=checks)
    yield stream("ECN both ways", "kernel", "both", family=6, wire=marks, lossy=True, our_options=["--ecn"],
                 sysctl={"net.ipv4.tcp_ecn": 1}, checks=[NEGOTIATED_ECN])
    yield stream("ECN refused by the kernel", "us", "us", our_options=["--ecn", *CLEAN["our_options"]],
                 kernel_options=CLEAN["kernel_options"], sysctl={"net.ipv4.tcp_ecn": 0},
                 checks=[expect("no ECN", lambda r: not r.us["ecn"] and not r.kernel["ecn"])])
    yield stream("ECN refused by us", "kernel", "kernel", **CLEAN, sysctl={"net.ipv4.tcp_ecn": 1},
                 checks=[expect("no ECN", lambda r: not r.us["ecn"] and not r.kernel["ecn"])])


def windows():
    small = ["--min-rto-ms", 1000]
    for connects, size, mtu, family in [("us", 2048, 1500, 4), ("kernel", 2048, 9000, 6)]:
        yield Case(f"the kernel's receive buffer of {2 * size}, MTU {mtu}", "send:128K fin eof", "receive:128K eof fin",
                   connects=connects, mtu=mtu, family=family, our_options=small,
                   kernel_options=["--receive-buffer", size])
    for connects, size, mtu, family in [("us", 1000, 1500, 6), ("kernel", 4096, 1500, 4), ("us", 8192, 9000, 4)]:
        yield Case(f"our receive buffer of {size}, MTU {mtu}", "receive:64K eof fin", "send:64K fin eof",
                   connects=connects, mtu=mtu, family=family, our_options=[*small, "--receive-buffer", size])
    # The window closes, and probes ask whether it has opened. A peer that answers them (Linux: at most twice a second) may
    # pause for longer than the user time-out.
    yield Case("the kernel's reader pauses", "send:1M fin eof", "receive:1K idle:6000 receive:1047552 eof fin",
               our_options=["--min-rto-ms", 200, "--user-timeout-ms", 4000], kernel_options=["--receive-buffer", 16384],
               checks=[seen("zero_window", False), seen("keep_alive", True, 2)])
    yield Case("the kernel's reader pauses, packets get lost", "send:256K fin eof",
               "receive:1K idle:3000 receive:261120 eof fin", connects="kernel", family=6, wire="loss=5%", lossy=True,
               kernel_options=["--receive-buffer", 16384], checks=[seen("zero_window", False)])
    # Linux fills a window that is smaller than a segment only when its timer fires, which may take seconds if packets of the
    # handshake got lost.
    yield Case("our reader pauses", "receive:1K full idle:6000 receive:523264 eof fin", "send:512K fin eof",
               connects="kernel", our_options=[*small, "--receive-buffer", 65536],
               checks=[seen("zero_window", True), seen("keep_alive", False, 2)])
    yield Case("our reader pauses, packets get lost", "receive:1K full idle:1500 receive:261120 eof fin",
               "send:256K fin eof", family=6, wire="loss=5%", lossy=True,
               our_options=["--receive-buffer", 16384], checks=[seen("zero_window", True)])


def closing():
    orderly = {"our_options": ["--min-rto-ms", 5000]}
    for connects, family in [("us", 4), ("kernel", 6)]:
        yield Case("our FIN first, then the kernel sends", "send:64K fin receive:512K eof", "receive:64K eof send:512K fin",
                   connects=connects, family=family, **orderly)
        yield Case("the kernel's FIN first, then we send", "receive:64K eof send:512K fin", "send:64K fin receive:512K eof",
                   connects=connects, family=family, **orderly)
        yield Case("both FINs at once", "both:16K fin eof", "both:16K fin eof", connects=connects, family=family,
                   wire="delay=20ms", **orderly)
        yield Case("the kernel resets", "receive:64K push:1 error:reset", "send:64K receive:1 reset", connects=connects,
                   family=family, **orderly)
        yield Case("we reset", "receive:64K reset", "send:64K error:reset", connects=connects, family=family, **orderly)
        yield Case("data after our close is answered by RST", "send:64K", "receive:64K eof send:64K error:reset",
                   connects=connects, family=family, **orderly)
    yield Case("half-closed under loss", "send:64K fin receive:1M eof", "receive:64K eof send:1M fin", connects="kernel",
               wire="loss=2%", lossy=True)
    yield Case("half-closed under loss", "receive:64K eof send:1M fin", "send:64K fin receive:1M eof", family=6,
               wire="loss=2%", lossy=True)
    yield Case("the kernel refuses", "error:refused", "", family=4)
    yield Case("the kernel refuses", "error:refused", "", family=6)
    for family in (4, 6):
        yield Case("we refuse at a port without a listener", "both:1K fin eof", "both:1K eof fin", connects="kernel",
                   family=family, kernel_options=["--refused-port", 4999])


def keepalive():
    yield Case("our keep-alive is answered", "both:1K idle:3000 both:1K fin eof", "both:1K both:1K eof fin",
               our_options=["--keepalive-idle-ms", 100, "--keepalive-interval-ms", 200],
               checks=[seen("keep_alive", True, 3), seen("keep_alive_ack", False, 3)])
    yield Case("the kernel's keep-alive is answered", "both:1K both:1K eof fin", "both:1K idle:3500 both:1K fin eof",
               connects="kernel", family=6, our_options=["--keepalive-idle-ms", 0], kernel_options=["--keepalive", 1],
               checks=[seen("keep_alive", False, 2), seen("keep_alive_ack", True, 2)])
    gone = [("us", "step error:timed_out", 0.1, "set link=down")]
    # Ours: idle 300 ms and 3 probes, 200 ms apart. The kernel's: idle 1 s and 2 probes, 1 s apart. The rest is for a busy host.
    yield Case("either end vanishes, and the other finds out by keep-alive", "both:1K error:timed_out",
               "both:1K error:timed_out", lossy=True, events=gone, kernel_options=["--keepalive", 1],
               our_options=["--keepalive-idle-ms", 300, "--keepalive-interval-ms", 200, "--keepalive-probes", 3],
               checks=[waited("us", 700, 3000), waited("kernel", 2500, 6000)])
    # The link goes down while both are idle, before the time of our keep-alives.
    gone = [("us", "step idle:3000", 0.1, "set link=down")]
    yield Case("either end vanishes, and the other finds out by the user time-out",
               "both:1K idle:3000 push:1K error:timed_out", "both:1K idle:3000 push:1K error:timed_out", connects="kernel",
               family=6, lossy=True, events=gone, kernel_options=["--user-timeout-ms", 1500],
               our_options=["--user-timeout-ms", 1500], checks=[waited("us", 1300, 4000), waited("kernel", 1000, 5000)])
    for sends, connects, family in [("us", "kernel", 4), ("kernel", "us", 6)]:
        begun = [("us", "step receive:4M" if sends == "kernel" else "step send:4M", 0.05, "set link=down"),
                 ("us", "ready", 0.6, "set link=up rate=100M")]
        yield stream("the link is down for a while", connects, sends, "4M", family=family, wire="rate=10M", lossy=True,
                     events=begun, checks=[happened("kernel" if sends == "us" else "us", "dropped.down")])


GROUPS = {"bulk": bulk, "whole": whole, "tap": tap, "xdp": xdp, "impaired": impaired, "congestion": congestion,
          "windows": windows, "closing": closing, "keepalive": keepalive}
PORTS = (5000, 5999)


def cases(group):
    numbered = list(GROUPS[group]())
    for index, case in enumerate(numbered):
        case.port = PORTS[0] + 1 + index
    return numbered


def describe(case):
    # The scripts of a bulk transfer say who sends; the names of other cases say it.
    sends = {("send", "receive"): "us → kernel", ("receive", "send"): "kernel → us"}.get(
        (case.ours.split(":")[0], case.kernel.split(":")[0]), "both ways")
    return f"{case.name}; IPv{case.family}, {'we connect' if case.connects == 'us' else 'the kernel connects'}, {sends}"
