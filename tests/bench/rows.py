"""What tests/bench/run measures, by group: the options of perf, and the place of the value in its output."""
from typing import Callable, NamedTuple, Optional


class Row(NamedTuple):
    name: str
    options: list              # of `tfabric perf --local`
    value: Callable            # of one row of its JSON
    unit: str
    better: str = "more"       # or "less"
    wire: Optional[Callable] = None  # of bench_wire's JSON, where that is comparable
    alone: bool = False        # only tfabric: the reference plugin would need more sockets than a process may have


def bandwidth(size, comms=1, more=()):
    return ["--mode", "bw", "-b", size, "-e", size, "--comms", str(comms), *more]


def gbit(row):
    return row["gbit_per_s"]


def percentile(which):
    return lambda row: row["half_round_trip_us"][which]


LATENCY = ["--mode", "lat", "-b", "8", "-e", "8"]
FLOWS_MESSAGES = 204800  # of all comms together


def many(comms):
    return bandwidth("64K", comms, ["-n", str(FLOWS_MESSAGES // comms), "-w", "10", "--timeout", "120"])


GROUPS = {
    "basic": [
        Row("1 MiB messages, 1 comm", bandwidth("1M"), gbit, "Gbit/s", wire=gbit),
        Row("1 MiB messages, 4 comms", bandwidth("1M", 4), gbit, "Gbit/s"),
        Row("8-byte latency, half round trip, p50", LATENCY, percentile("p50"), "µs", "less", percentile("p50")),
        Row("8-byte latency, half round trip, p99", LATENCY, percentile("p99"), "µs", "less", percentile("p99")),
        Row("8-byte messages, 1 comm", ["--mode", "rate", "-b", "8", "-e", "8", "--comms", "1"],
            lambda row: row["messages_per_s"] / 1e6, "million/s"),
        Row("CPU at 1 MiB, both sides", bandwidth("1M"),
            lambda row: row["client_cpu_s_per_gb"] + row["server_cpu_s_per_gb"], "s/GB", "less",
            lambda wire: wire["sender_cpu_s_per_gb"] + wire["receiver_cpu_s_per_gb"]),
    ],
    "sizes": [Row(f"{size}iB messages, 1 comm", bandwidth(size), gbit, "Gbit/s")
              for size in ("4K", "16K", "64K", "256K", "4M", "16M")],
    "directions": [
        Row("1 MiB messages both ways, 1 comm", bandwidth("1M", 1, ["--bidirectional"]), gbit, "Gbit/s"),
        Row("1 MiB messages both ways, 4 comms", bandwidth("1M", 4, ["--bidirectional"]), gbit, "Gbit/s"),
    ],
    "cpu": [
        Row("CPU of the sender at 1 MiB", bandwidth("1M"), lambda row: row["client_cpu_s_per_gb"], "s/GB", "less",
            lambda wire: wire["sender_cpu_s_per_gb"]),
        Row("CPU of the receiver at 1 MiB", bandwidth("1M"), lambda row: row["server_cpu_s_per_gb"], "s/GB", "less",
            lambda wire: wire["receiver_cpu_s_per_gb"]),
    ],
    "tail": [Row("8-byte latency, half round trip, p99.9", LATENCY, percentile("p99.9"), "µs", "less")],
    "flows": [Row(f"64 KiB messages, {comms} comms", many(comms), gbit, "Gbit/s", alone=comms > 1024)
              for comms in (1, 16, 256, 1024, 4096)],
}
