"""What the programs of this folder have in common: a job over memif, beside which they look, the server of `tfabric stat`, and waits."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "rails"))
# pylint: disable=wrong-import-position
# Others of this folder have some of these from here.
from common import check_metrics, environment, expect
from network import Failed, die_with_parent

LIMIT_S = 240  # for what is waited for, on a host that stands still now and then
TRANSFER = ("--mode", "bw", "-b", "64K", "-e", "64K", "--comms", "2", "--bidirectional", "--time", str(LIMIT_S))


def wait_for(what, found, seconds=LIMIT_S):
    """Returns what is found. It looks ten times a second, as each look may be a program's run."""
    end = time.monotonic() + seconds
    while not (result := found()):
        expect(time.monotonic() < end, f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return result


def over_memif(folder, **more):
    """The environment of a job that has nothing in common with others of this host."""
    return environment(TFABRIC_CONFIG="/dev/null", TFABRIC_TRANSPORT="tcp", TFABRIC_TCP_RAILS="memif", TFABRIC_LOCK_FOLDER=f"{folder}/locks",
                       TFABRIC_OBSERVE_HANG_SECONDS="3", **more)


def start(words, variables):
    """A program that leads a group of processes, and ends with this one."""
    return subprocess.Popen(list(map(str, words)), env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=die_with_parent)


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


class Job:
    """Two processes of perf, as two hosts, whose parent is ours."""

    def __init__(self, tool, folder, *words, **variables):
        self.tool = tool
        self.environment = over_memif(folder, **{"TFABRIC_OBSERVE_DUMP_FOLDER": f"{folder}/left", "SLURM_JOB_ID": "8812"} | variables)
        self.left = pathlib.Path(folder) / "left"
        self.process = self.perf(*(words or TRANSFER))

    def perf(self, *words):
        return start([self.tool, "perf", "--local", *words], self.environment)

    def pids(self):
        return [self.process.pid, *children_of(self.process.pid)]

    def stat(self, *words, status=0):
        done = subprocess.run([self.tool, "stat", *words], env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        expect(done.returncode == status, f"tfabric stat {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def pages(self):
        """Of this job's processes, as JSON; not those that are just being made."""
        done = subprocess.run([self.tool, "stat", "--json"], env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        expect(done.returncode in (0, 3), f"tfabric stat --json: {done.returncode}\n{done.stderr}")
        return [page for page in json.loads(done.stdout)["processes"] if page["pid"] in self.pids() and "tables" in page]

    def rows(self, name):
        return [row for page in self.pages() for row in page["tables"][name]["rows"]]

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def busy(job):
    wait_for("messages of both processes", lambda: sum(row["messages"] > 100 for row in job.rows("comm")) >= 4)


class Server:
    """`tfabric stat --serve` at a free port, or at the one given."""

    def __init__(self, job, *words, at="127.0.0.1:0"):
        self.process = subprocess.Popen([job.tool, "stat", "--serve", at, *words], env=job.environment, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)/metrics", line)
        expect(found, f"it does not say where it listens: {line}")
        self.host, self.port = found[1].strip("[]"), int(found[2])

    @property
    def at(self):
        return f"{self.host}:{self.port}"

    def get(self, path, method="GET", body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode("ascii")

    def say(self, data):
        """What it answers to these bytes."""
        with socket.create_connection((self.host, self.port), timeout=30) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self, by):
        self.process.send_signal(by)
        status = self.process.wait(timeout=30)
        expect(status == 0, f"{by.name}: exit status {status}")


@contextlib.contextmanager
def serving(job, *words, by=signal.SIGTERM, **options):
    server = Server(job, *words, **options)
    try:
        yield server
        expect(server.process.poll() is None, f"the server has ended with {server.process.poll()}")
        server.close(by)
    finally:
        server.process.kill()
        server.process.wait()
