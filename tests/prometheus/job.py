"""A real job on this host, and what the tool prints of it for Prometheus."""
import contextlib
import os
import re
import signal
import time

import beside
from beside import wait_for
from lib import TESTS, Process, case, expect, scope
from metrics import documented
from server import Server, listening, promtool

DOCS = TESTS.parent / "docs"
EXPORTER = "prometheus-node-exporter"
# Not of a job that only stands still.
SELDOM = ("tfabric_build_info", "tfabric_rail_fault", "tfabric_processes_ended")


class Job(beside.Job):
    """A job with a name of its own, of which one process can be stopped."""

    def __init__(self):
        self.name = f"tfabric-test-{os.getpid()}"
        super().__init__(SLURM_JOB_ID=self.name)

    def text(self):
        """Of all jobs of this host."""
        expect(self.process.poll() is None, "perf has ended")
        return self.stat("--prometheus").stdout

    def own(self, text):
        """Comments and samples of this job."""
        return [line for line in text.splitlines() if line.startswith("#") or f'train_job="{self.name}"' in line]

    def wait_until_moving(self):
        """Returns the metrics when both processes have paths."""
        def moving():
            text = self.text()
            return text if sum(line.startswith("tfabric_path_round_trip_seconds{") for line in self.own(text)) >= 2 else None
        return wait_for("paths of both processes", moving)

    def stop_one(self):
        """Returns the metrics when the other one has found out why it waits."""
        os.kill(self.pids()[1], signal.SIGSTOP)

        def stuck():
            text = self.text()
            return text if any(line.startswith("tfabric_stuck{") for line in self.own(text)) else None
        return wait_for("a process that waits for the stopped one", stuck)


def shapes_of(lines):
    """{metric: its labels} and {metric: its type}, as the tool prints them."""
    shapes, types = {}, {}
    for line in lines:
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith("#"):
            name, labels = re.fullmatch(r"(\w+)\{(.*)\} \S+", line).groups()
            shapes.setdefault(name, set()).update(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels))
    return shapes, types


def metrics():
    with scope():
        job = Job()
        promtool("check", "metrics", text=job.wait_until_moving())
        text = job.stop_one()
    promtool("check", "metrics", text=text)
    lines = job.own(text)
    print("\n".join(line for line in lines if "tfabric_stuck" in line or "tfabric_verdicts_total{" in line), flush=True)
    shapes, types = shapes_of(lines)
    printed = {name: (types[name], labels) for name, labels in shapes.items()}
    wanted = {name: each for name, each in documented().items() if name not in SELDOM}
    for name in sorted(printed.keys() | wanted.keys()):
        expect(printed.get(name) == wanted.get(name), f"{name}: the tool prints {printed.get(name)}, docs/prometheus.md has {wanted.get(name)}")


def exported(job):
    """By node_exporter from the file that the tool writes; gives the address."""
    texts = case.folder / "textfile"
    texts.mkdir()
    Process(case.tool, "stat", "--textfile", texts / "tfabric.prom", "--watch", "--interval", "0.5", env=job.environment)
    wait_for("the file", lambda: (texts / "tfabric.prom").exists())
    return listening("metrics", EXPORTER, "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={texts}")


def scraped(with_exporter):
    """The real Prometheus has this job's series, with each metric's type, by either way."""
    job = Job()
    wanted, types = shapes_of(job.own(job.wait_until_moving()))
    wanted.pop("tfabric_stuck", None)  # of a host that has stood still for a moment
    with contextlib.ExitStack() as ways:
        addresses = {"http": ways.enter_context(beside.serving(job)).at}
        if with_exporter:
            addresses["node"] = exported(job)
        server = Server(case.folder, scrape=addresses)
        for way in addresses:
            def here(name):
                return server.at(f'{name}{{job="{way}",train_job="{job.name}"}}', time.time())
            wait_for(f"the job's series by {way}", lambda: all(here(name) for name in wanted))
            for name in wanted:
                found = server.get("targets/metadata", match_target=f'{{job="{way}"}}', metric=name)
                expect([each["type"] for each in found] == [types[name]], f"{name} by {way}: {found}")
            print(f"{way}: {len(wanted)} metrics", flush=True)
        if with_exporter:
            expect(not server.at("node_textfile_scrape_error != 0", time.time()), "node_exporter does not like the file")
