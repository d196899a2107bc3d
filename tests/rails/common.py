"""What the programs of this folder have in common: tfabric's processes, and a case that one of them runs."""
import argparse
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "interop"))
# pylint: disable=wrong-import-position
from network import Failed, Namespace

UNUSABLE, REMOTE = 3, 4  # tfabric's exit codes
SKIPPED = 77
LIMIT_S = 300  # for a program to end, on a host that stands still now and then
PERF_TIMEOUT_S = 120  # for its connections and for each operation
# A line about a wait, of a process whose comms are perf's.
SAID = re.compile(r"^plugin( WARN|): NET/tfabric: (.*) \[([a-z-]+)\]\s*$")
TOKEN = ["--token", secrets.token_hex(16)]  # of the two ends of a control connection


def environment(**more):
    """Ours, without what says how to use tfabric."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("TFABRIC_", "LOCAL_")) or key == "TFABRIC_TEST_NCCL"} | more


def start(space, variables, *words):
    """A process in a network namespace, for finish()."""
    return space.start(*words, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_metrics(text):
    """By promtool, where it is installed."""
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian: prometheus): the metrics are not judged by it")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"promtool: {done.stdout}{done.stderr}")


class Reader(threading.Thread):
    """Reads what a process of start() prints, while it runs: a full pipe would stop a process that logs much."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.lines = process, []
        self.start()

    def run(self):
        self.lines.extend(self.process.stdout)

    def text(self):
        """All of it, after the process's end."""
        self.join()
        return "".join(self.lines)


def said_by(process):
    """(level, text, cause) of each line about a wait so far."""
    return [match.groups() for match in map(SAID.search, list(process.reader.lines)) if match]


def finish(process, what, *status, limit=LIMIT_S):
    """Its output, after its end with this status, or one of these (0)."""
    reader = getattr(process, "reader", None) or Reader(process)
    try:
        process.wait(timeout=limit)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise Failed(f"{what}: not done after {limit} s:\n{reader.text()}") from error
    text = reader.text()
    print(f"--- {what}\n{text.strip()}", flush=True)
    if process.returncode not in (status or (0,)):
        raise Failed(f"{what}: exit status {process.returncode}, expected {' or '.join(map(str, status)) or 0}")
    return text


class Cable:
    """Two processes with a rail each, joined by a cable, in one namespace: its loopback is their kernels' network."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.space = Namespace()
        # What these interfaces carry is ours alone.
        self.space.sysctl({"net.ipv6.conf.default.disable_ipv6": 1})
        self.space.run("ip", "link", "add", "a0", "type", "veth", "peer", "name", "b0")
        for end in ("a0", "b0"):
            self.space.plain(end)
            self.space.run("ip", "link", "set", end, "mtu", 1500, "up")

    def perf(self, side, variables, *words):
        """tfabric perf as rank 0 (side a) or 1 (b)."""
        number = "ab".index(side)
        own = {"TFABRIC_CONFIG": "/dev/null", "TFABRIC_LOCK_FOLDER": f"{self.folder}/locks-{side}", "TFABRIC_REQUIRED": "true",
               "TFABRIC_OBSERVE_DUMP_FOLDER": f"{self.folder}/dumps-{side}",
               "TFABRIC_TCP_RAILS": f"af_packet:name={side}0,device={side}0,addresses=10.9.0.{1 + number}/24", "RANK": str(number)}
        return start(self.space, environment(**own | variables), self.build / "tfabric", "perf", *words)

    def close(self):
        self.space.close()


def expect(condition, what):
    if not condition:
        raise Failed(what)


def main(program, description, cases, why_impossible):
    """Runs the case that is asked for: a function of the build folder and of one that is removed afterwards."""
    parser = argparse.ArgumentParser(prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=cases)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    arguments = parser.parse_args()
    if why_impossible:
        print(f"{program} {arguments.case}: skipped: {why_impossible}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix=f"tfabric-{program}-") as folder:
        try:
            cases[arguments.case](arguments.build.resolve(), pathlib.Path(folder))
        except Failed as error:
            print(f"{program} {arguments.case}: FAILED: {error}")
            sys.exit(1)
    print(f"{program} {arguments.case}: right")
