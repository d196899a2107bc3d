"""A job's night, as Prometheus would have recorded it: 4 ranks on 4 hosts, each with two rails, in a ring.

The metrics are those that the dashboard and the alerts look at. The case `dashboard` of run compares their types and labels with
metrics.documented(); the figures follow from what STORY does to the job. Time is simulated, and nothing is random but by a fixed seed.
"""
import dataclasses
import random

STEP_S = 15
START = 1767232800  # 2026-01-01 02:00 UTC: the beginning of a block of two hours
END_S = 51 * 60
JOB, RANKS, RAILS = "8812", (0, 1, 2, 3), ("eni1", "eni2")
RING_BYTES, RAIL_BYTES = 8e9, 5.6e9  # a second: what the job asks of each rank's rails, and what one rail can carry


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happens to one rank, in minutes from the beginning."""
    what: str
    begin: float
    end: float
    rank: int
    rail: str = ""
    causes: tuple = ()  # what the other ranks say, by rank: nothing for the one that it happens to

    def now(self, second):
        return self.begin * 60 < second <= self.end * 60


STORY = (
    Event("loss", 6, 14, rank=2, rail="eni2"),  # 2 % of the packets, both ways
    Event("stopped", 18, 22, rank=2, causes=("peer-stopped", "peer-stopped", "", "peer-stopped")),
    Event("stand-in", 24, 26, rank=1, rail="eni1"),  # eni2 carries for it
    Event("no link", 28, 30, rank=3, rail="eni1"),
    Event("starved", 33, 36, rank=1),  # for a fifth of the time
    Event("silent", 38, 40, rank=0, causes=("", "peer-stopped", "peer-stopped", "peer-stopped")),
    Event("late", 42, 49, rank=1, causes=("not-receiving", "", "not-sending", "not-sending")),
)
FOUND_AFTER_S = {"stopped": 5, "silent": 5, "late": 30}


def event(what, second):
    """The event of this kind that goes on, if one does."""
    return next((each for each in STORY if each.what == what and each.now(second)), None)


def kind_of(name):
    return "counter" if name.endswith("_total") else "gauge"


class Recording:
    """Samples of all series, by metric and labels."""

    def __init__(self):
        self.random = random.Random(8812)
        self.samples = {}  # name: {labels: [(second, value)]}
        self.totals = {}
        for second in range(0, END_S + 1, STEP_S):
            self.step(second)

    def put(self, second, name, value, **labels):
        rank = labels["rank"]
        labels = {"instance": f"gpu{rank}:9100", "job": "node", "train_job": JOB, "pid": str(4242 + rank)} | {key: str(each) for key, each in labels.items()}
        self.samples.setdefault(f"tfabric_{name}", {}).setdefault(tuple(labels.items()), []).append((second, value))

    def count(self, second, name, more, **labels):
        """A counter that has grown by so much since the last step."""
        key = name, tuple(labels.items())
        self.totals[key] = self.totals.get(key, 0) + (more if second else 0)
        total = self.totals[key]
        self.put(second, f"{name}_total", total if name.endswith("_seconds") else int(total), **labels)

    def noise(self):
        return self.random.uniform(0.96, 1.04)

    # --- what the story does

    def halted(self, second):
        return next((each for what in FOUND_AFTER_S if (each := event(what, second))), None)

    def rates(self, second, rank):
        """Payload a second from this rank to the next, by rail."""
        if self.halted(second):
            return dict.fromkeys(RAILS, 0)
        wanted = RING_BYTES * (0.8 if event("starved", second) else 1) * self.noise()
        ends = (rank, (rank + 1) % len(RANKS))
        most = dict.fromkeys(RAILS, RAIL_BYTES)
        slowest = RING_BYTES
        for what, bytes_a_second in (("loss", 1.4e9), ("no link", 0)):
            if bad := event(what, second):
                slowest = RAIL_BYTES + bytes_a_second  # the ring is as fast as its slowest part
                if bad.rank in ends:
                    most[bad.rail] = bytes_a_second
        wanted = min(wanted, slowest * self.noise())
        bad = min(RAILS, key=most.get)
        other = next(rail for rail in RAILS if rail != bad)
        share = min(most[bad], wanted / 2)
        return {bad: share, other: wanted - share}

    def step(self, second):
        sent = {rank: self.rates(second, rank) for rank in RANKS}
        for rank in RANKS:
            self.process(second, rank)
            for number, rail in enumerate(RAILS):
                to_next, from_previous = sent[rank][rail] * STEP_S, sent[(rank - 1) % len(RANKS)][rail] * STEP_S
                again = self.path(second, rank, rail, (rank + 1) % len(RANKS), number, to_next, 0)
                self.path(second, rank, rail, (rank - 1) % len(RANKS), number, 0, from_previous)
                self.rail(second, rank, rail, to_next + again, from_previous)

    def process(self, second, rank):
        halted = self.halted(second)
        mine = halted is not None and halted.rank == rank
        waited = 0 if halted is None else second - halted.begin * 60
        over = next((each for each in STORY if each.rank == rank and each.what in ("stopped", "silent")
                     and each.now(second - STEP_S) and not each.now(second)), None)
        silent = waited if mine and halted.what != "late" else 0.0008 * self.noise()
        self.put(second, "info", 1, rank=rank, transport="tcp")
        self.put(second, "process_stopped", int(mine and halted.what == "stopped"), rank=rank)
        self.put(second, "process_silent_seconds", silent, rank=rank)
        for direction in ("send", "receive"):
            waits = 0 if mine else waited if halted else 0.004 * self.noise()
            self.put(second, f"oldest_{direction}_age_seconds", waits, rank=rank)
        found = halted is not None and not mine and waited > FOUND_AFTER_S[halted.what]
        if found:
            self.put(second, "stuck", 1, rank=rank, cause=halted.causes[rank])
        first = found and waited - STEP_S <= FOUND_AFTER_S[halted.what]
        self.count(second, "verdicts", int(first or over is not None), rank=rank)
        starved = event("starved", second)
        pause = (over.end - over.begin) * 60 if over else 0.2 * STEP_S if starved and starved.rank == rank else 0
        self.count(second, "engine_starved_seconds", pause, rank=rank)

    def path(self, second, rank, rail, peer, number, sent, received):
        """Returns how much was sent again."""
        labels = {"rank": rank, "rail": rail, "peer": f"10.0.{number + 1}.{peer + 1}"}
        loss = event("loss", second)
        lossy = loss is not None and loss.rail == rail and loss.rank in (rank, peer)
        again = sent * (0.021 if lossy else 1e-5) * self.noise()
        busy = 4 * STEP_S * min(1, sent / STEP_S / RAIL_BYTES * (3.8 if lossy else 1.1))
        growth = {"sent_bytes": sent + 2000, "retransmitted_bytes": again, "busy_seconds": busy,
                  "peer_window_limited_seconds": busy * 0.05 * self.noise(),
                  "network_limited_seconds": busy * (0.86 if lossy else 0.04) * self.noise()}
        for name, more in growth.items():
            self.count(second, f"path_{name}", more, **labels)
        self.put(second, "path_round_trip_seconds", (0.00031 if lossy else 0.000062) * self.noise(), **labels)
        return again

    def rail(self, second, rank, rail, sent, received):
        labels = {"rank": rank, "rail": rail}
        bad = event("no link", second)
        down = bad is not None and (bad.rank, bad.rail) == (rank, rail)
        cut = down and not bad.now(second - STEP_S)
        lost = event("stand-in", second)
        stands_in = lost is not None and rank == lost.rank
        missed = stands_in and rail == lost.rail or bad is not None and rank in (bad.rank, bad.rank - 1) and rail == bad.rail
        growth = {"transmit_bytes": sent * 1.006, "receive_bytes": received * 1.006, "transmit_stalls": sent / 4e9,
                  "stand_in_seconds": STEP_S if stands_in and rail != lost.rail else 0, "unused_seconds": STEP_S if missed else 0,
                  "lost_connections": 8 if cut else 0}
        self.put(second, "rail_up", 0 if down else 1, **labels)
        for name, more in growth.items():
            self.count(second, f"rail_{name}", more, **labels)

    # --- what others make of it

    def shapes(self):
        """{metric: (its type, its labels but those of the scrape)}."""
        return {name: (kind_of(name), {key for labels in series for key, _ in labels} - {"instance", "job"})
                for name, series in self.samples.items()}

    def openmetrics(self):
        """The text that promtool makes blocks of: OpenMetrics 1.0, https://prometheus.io/docs/specs/om/open_metrics_spec/."""
        lines = []
        for name, series in self.samples.items():
            lines.append(f"# TYPE {name.removesuffix('_total')} {kind_of(name)}")
            for labels, samples in series.items():
                text = ",".join(f'{key}="{value}"' for key, value in labels)
                lines += [f"{name}{{{text}}} {value:.9g} {START + second}" if isinstance(value, float) else
                          f"{name}{{{text}}} {value} {START + second}" for second, value in samples]
        return "\n".join(lines) + "\n# EOF\n"
