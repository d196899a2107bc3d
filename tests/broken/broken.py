"""Hosts that are broken on purpose, and what must happen on each: `tfabric check` finds exactly what is wrong, its
fix is the fix, and the real NCCL's job ends as it should. Shared by tests/broken/run and the lab.
"""
import dataclasses
import fcntl
import json
import os
import re
import struct
import subprocess
import time
import typing

from lib import SKIPPED, TOKEN, Failed, Process, Skipped, configuration, environment, expect, nccl, run as run_program, scope, wait_until
from lib.case import choose
from lib.namespace import START_S

CHECK_LIMIT_S = 240
JOB_LIMIT_S = 480  # in the lab, on a busy machine
FIX_LIMIT_S = 10
EXIT_CODES = {"error": 3, "warning": 1}  # docs/check.md


@dataclasses.dataclass
class Case:
    """A broken host, and what the test expects of it.

    `finds`: each finding that is no note, as a pattern like "error interface-down"; of two hosts, those of either.
    `fix`: a pattern of the fixes. If it has a group, that is carried out in a shell, of all findings that have it,
    with `words` replaced, and check must be content afterwards, but for `fixed`.
    `job`: "falls back" (status 0 on NCCL's own network, one warning), "runs" (status 0, over tfabric), "is refused" (an
    error in each rank, as the administrator wants it), "fails" (an error in bounded time) or "" (NCCL does not come as
    far as tfabric). `told`: a pattern of what it says.
    """
    build: typing.Callable
    finds: list
    network: str = "nccl"
    fix: str = "."
    fixed: list = dataclasses.field(default_factory=list)
    job: str = "falls back"
    told: str = ""
    words: dict = dataclasses.field(default_factory=dict)
    options: list = dataclasses.field(default_factory=list)  # of tests/nccl/run

    @property
    def name(self):
        return self.build.__name__


class Table(dict):
    """Cases by name, in their order; `broken` decorates a function that builds one."""

    def broken(self, finds, **more):
        def register(build):
            case = Case(build, finds if isinstance(finds, list) else [finds], **more)
            self[case.name] = case
            return build
        return register


def both(finding):
    """What is expected of two rails or hosts that are alike."""
    return [finding, finding]


class Host:
    """Where a case is built. `prefix`: what the commands of the job and of check begin with, such as setpriv."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.prefix = []
        self.environment = environment()  # without settings from ours
        self.environment |= {"HOME": str(folder), "LD_LIBRARY_PATH": str(build)}
        self.check_environments = None  # for two hosts: the changes of each one's environment

    def enter(self, *words):
        """The command that runs this one in the host."""
        return [str(word) for word in words]

    def start(self, words, variables, **how):
        return Process(*self.enter(*words), env=variables, **how)

    def run(self, *words):
        return run_program(*self.enter(*words)).stdout

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def configure(self, *rails, name="tfabric.toml", **keys):
        """Writes the configuration file. `rails`: a dictionary each; `keys` with sections, as in `memory__hugepages`."""
        path = self.write(name, configuration(*rails, **{"lock_folder": f"{self.folder}/locks"} | keys))
        self.environment["TFABRIC_CONFIG"] = str(path)
        return path

    def occupy(self, one, other):
        """Two processes have these rails, and talk over them."""
        words = [[self.build / "tfabric", "perf", "--listen", *TOKEN],
                 [self.build / "tfabric", "perf", "127.0.0.1", *TOKEN, "--mode", "bw", "-b", "1M", "-e", "1M", "-n", 1000000]]
        holders = []
        for rail, command in zip((one, other), words):
            path = self.configure(rail, name=f"{rail['name']}.toml")
            holders.append(self.start(command, self.environment | {"TFABRIC_CONFIG": str(path)}))
        locks = self.folder / "locks"
        wait_until(lambda: locks.is_dir() and sum(1 for file in locks.iterdir() if is_locked(file)) == 2,
                   "two processes that have a rail each", START_S)
        return holders


def is_locked(file):
    """Whether a process holds the lock. Asks the kernel, since trying to lock would disturb the process."""
    form = "hhqqi"  # struct flock: type, whence, start, length, process
    with open(file, "r+b") as opened:
        answer = fcntl.fcntl(opened, fcntl.F_GETLK, struct.pack(form, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return struct.unpack(form, answer)[0] != fcntl.F_UNLCK


class Judge:
    def __init__(self, build):
        self.build = build
        self.tool = build / "tfabric"
        choose(build)
        self.no_nccl = nccl.why_no_nccl()

    def try_case(self, case, host):
        """Runs the case, and returns the text of its result."""
        case.build(host)
        reports = [self.judge_check(case, host, *one) for one in self.check(host)]
        parts = [", ".join(dict.fromkeys(found for found, _ in reports[0])) or "content"]
        if case.job and not self.no_nccl:
            parts.append(self.judge_job(case, host))
        commands = dict.fromkeys(command for report in reports for _, command in report if command)
        if commands:
            parts.append(self.judge_fix(case, host, list(commands)))
        return "; ".join(parts)

    # --- check

    def check(self, host, before=""):
        """Exit status and report, of both if there are two hosts. `before`: shell commands that run first."""
        words = ["sh", "-c", f'{before}\nexec "$@"', "sh", *host.prefix, self.tool, "check", "--json"]
        if host.check_environments is None:
            jobs = [(words, {})]
        else:
            listening, calling = host.check_environments
            jobs = [(words + ["--listen", *TOKEN], listening), (words + ["--peer", "127.0.0.1", *TOKEN], calling)]
        processes = [host.start(words, host.environment | changes, stderr=subprocess.PIPE) for words, changes in jobs]
        return [finish_check(process) for process in processes]

    @staticmethod
    def judge_check(case, _host, status, report):
        """Pairs of a finding's id and, if the case carries it out, its fix."""
        findings = worth_fixing(report)
        expect_findings(case.finds, findings, report)
        worst = next((code for severity, code in EXIT_CODES.items()
                      if any(each["severity"] == severity for each in findings)), 0)
        expect(status == worst, f"check's exit status is {status}, expected {worst}")
        network = report["verdict"]["network"]
        expect(network == case.network,
               f"the verdict is {network}, expected {case.network}: {report['verdict']['text']}")
        expect(report["verdict"]["usable"] == (worst != EXIT_CODES["error"]), "`usable` is not as the exit status")
        fixes = []
        for each in findings:
            expect(each["what"] and each["fix"], f"{each['id']} has no text or no fix")
            found = re.search(case.fix, each["fix"])
            fixes.append((each["id"], found.group(1) if found and found.groups() else None))
        expect(not findings or any(re.search(case.fix, each["fix"]) for each in findings),
               f"no fix is like \"{case.fix}\": {[each['fix'] for each in findings]}")
        return fixes

    def judge_fix(self, case, host, commands):
        for name, value in case.words.items():
            commands = [command.replace(name, value) for command in commands]
        until = time.monotonic() + FIX_LIMIT_S
        while True:
            try:
                for status, report in self.check(host, before="\n".join(commands)):
                    expect_findings(case.fixed, worth_fixing(report), report)
                    expect(bool(case.fixed) or status == 0, f"check's exit status is {status}")
                break
            except Failed as why:
                # A process needs some time to end.
                if time.monotonic() > until:
                    raise Failed(f"after {commands}: {why}") from why
        return f"content after `{'`, `'.join(commands)}`"

    # --- the job

    def judge_job(self, case, host):
        words = [*host.prefix, *nccl.command("--mode", "allreduce", "--max-bytes", "64K", "--local-ranks", "--timeout", JOB_LIMIT_S // 2,
                                             *case.options)]
        if case.job == "runs" and case.told:
            words.append("--keep")
        words += {"falls back": ["--fallback"], "is refused": ["--required"]}.get(case.job, [])
        process = host.start(words, host.environment)
        began = time.monotonic()
        text = output_of(process, JOB_LIMIT_S, "the job")
        took = time.monotonic() - began
        status = process.returncode
        if case.job == "fails":
            expect(status not in (0, 9, 64, SKIPPED, 124),
                   f"the job's exit status is {status}, expected a failure:\n{text}")
        else:
            expect(status == 0, f"the job's exit status is {status}:\n{text}")
            way = {"falls back": "ranks over Socket,", "runs": "ranks over tfabric,"}.get(case.job, "")
            expect(way in text, f"the job's end is not \"{way}\":\n{text}")
        kept = nccl.kept_logs(text)
        if kept:
            text += "".join(kept.values())
            warnings = len(re.findall("NCCL WARN NET/tfabric: ", text))
            expect(warnings in (1, 2), f"there are {warnings} warnings, not one of a rail:\n{text}")
        found = re.search(case.told, text)
        expect(found, f"the job does not say \"{case.told}\":\n{text}")
        return f"NCCL {case.job} in {took:.1f} s" + (f" (\"{found.group(0)}\")" if case.told else "")


def finish_check(process):
    text = output_of(process, CHECK_LIMIT_S, "tfabric check")
    try:
        return process.returncode, json.loads(text)
    except ValueError as error:
        raise Failed(f"tfabric check, exit status {process.returncode}: {process.shown()}") from error


def output_of(process, limit, what):
    expect(process.ends_within(limit), f"{what}: not done after {limit} s: {process.shown()}")
    return process.text()


def worth_fixing(report):
    return [each for each in report["findings"] if each["severity"] != "note"]


def expect_findings(expected, findings, report):
    found = sorted(f"{each['severity']} {each['id']}" for each in findings)
    wanted = sorted(expected)
    if len(found) != len(wanted) or not all(map(re.fullmatch, wanted, found)):
        raise Failed(f"check finds {found or 'nothing'}, expected {wanted or 'nothing'}:\n"
                     f"{json.dumps(report, indent=1)}")


def run(table, names, judge, make_host):
    """Runs the cases, and returns the exit status."""
    failed, impossible = [], []
    for name in names or table:
        case, began = table[name], time.monotonic()
        try:
            with scope():
                text = judge.try_case(case, make_host())
        except Skipped as why:
            impossible.append(name)
            text = f"skipped: {why}"
        except Failed as why:
            failed.append(name)
            text = f"FAILED: {why}"
        print(f"{name}: {text} [{time.monotonic() - began:.1f} s]", flush=True)
    count = len(names or table)
    if judge.no_nccl:
        print(f"{count} hosts without the real NCCL: {judge.no_nccl}")
    print(f"{count - len(failed) - len(impossible)} of {count} hosts as expected"
          + (f", not made here: {', '.join(impossible)}" if impossible else "")
          + (f", FAILED: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0
