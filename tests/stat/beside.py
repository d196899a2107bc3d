"""What the programs of this folder have in common: a job over memif, beside which they look, and the server of `tfabric stat`."""
import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess

from lib import Process, case, environment, expect, pages, run, wait_until

LIMIT_S = 240  # for what is waited for: less than ctest waits
TRANSFER = ("--mode", "bw", "-b", "64K", "-e", "64K", "--comms", "2", "--bidirectional", "--time", str(LIMIT_S))


def wait_for(what, found, seconds=LIMIT_S):
    """Returns what is found. It looks ten times a second, as each look may be a program's run."""
    return wait_until(found, what, seconds, pause=0.1)


def over_memif(**more):
    """The environment of a job that has nothing in common with others of this host."""
    return environment(**{"TFABRIC_TRANSPORT": "tcp", "TFABRIC_TCP_RAILS": "memif", "TFABRIC_LOCK_FOLDER": f"{case.folder}/locks",
                          "TFABRIC_OBSERVE_HANG_SECONDS": 3} | more)


def start(*words, env):
    """A program whose output is not looked at."""
    return Process(*words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


@contextlib.contextmanager
def stopped(pid):
    """Until the end of the block, this process is stopped."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Job:
    """Two processes of perf, as two hosts, whose parent is ours."""

    def __init__(self, *words, **variables):
        self.left = case.folder / "left"
        self.environment = over_memif(**{"TFABRIC_OBSERVE_DUMP_FOLDER": self.left, "SLURM_JOB_ID": "8812"} | variables)
        self.process = self.perf(*(words or TRANSFER))

    def perf(self, *words):
        return start(case.tool, "perf", "--local", *words, env=self.environment)

    def pids(self):
        return [self.process.pid, *children_of(self.process.pid)]

    def stat(self, *words, status=0, command="stat"):
        return run(case.tool, command, *words, env=self.environment, status=status, limit=LIMIT_S)

    def shown(self, *words, status=0):
        """What `tfabric stat` prints, which is printed here as well."""
        text = self.stat(*words, status=status).stdout
        print(text, flush=True)
        return text

    def pages(self):
        """Of this job's processes, as JSON; not those that are just being made."""
        return [page for page in pages(env=self.environment) if page["pid"] in self.pids() and "tables" in page]

    def rows(self, name):
        return [row for page in self.pages() for row in page["tables"][name]["rows"]]

    def await_messages(self):
        wait_for("messages of both processes", lambda: sum(row["messages"] > 100 for row in self.rows("comm")) >= 4)

    def await_cause(self, cause):
        wait_for("a cause", lambda: any(cause in row["cause"] and not row["ended_at"] for row in self.rows("verdict")))

    def close(self):
        self.process.end()


class Server:
    """`tfabric stat --serve` at a free port, or at the one given."""

    def __init__(self, job, *words, at="127.0.0.1:0"):
        self.process = Process(case.tool, "stat", "--serve", at, *words, env=job.environment, stderr=None)
        found = re.search(r"http://(\S+):(\d+)/metrics", self.process.await_line("/metrics"))
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


@contextlib.contextmanager
def serving(job, *words, by=signal.SIGTERM, **options):
    """A server, which ends in order by this signal at the end of the block."""
    server = Server(job, *words, **options)
    try:
        yield server
        expect(server.process.alive(), f"the server has ended with {server.process.poll()}")
        server.process.send_signal(by)
        server.process.finish(f"the server, by {by.name}", limit=30)
    finally:
        server.process.end()
