"""Tests of the lab itself: output and exit status of the command, an unchanged host, and nothing left behind."""
import os
import re
import signal
import subprocess

from lib import LIMIT_S, SKIPPED, TESTS, Process, Skipped, case, expect, run, wait_until

VM = TESTS / "lab/vm"
COMMAND = """
  echo "$PWD|$1|$(ls -A "${TMPDIR:-/tmp}")|"; printf "no end" >/dev/stdout; echo error >&2
  echo written >../outside; echo written >../shared/inside
  mount | grep -c "type hugetlbfs"; exit 7"""


def vm(*words, options=(), **how):
    return Process(VM, "--memory", 512, "--cpus", 1, "--timeout", 120, *options, "--", *words, **how)


def shell(text, *arguments, **how):
    return vm("bash", "-c", text, "bash", *arguments, **how)


def check_end(machine, what, status, *lines):
    expect(machine.ends_within(LIMIT_S), f"{what}: {machine.shown()}")
    print(f"--- {what}\n{machine.text()}", flush=True)
    expect(machine.returncode == status, f"{what}: exit status {machine.returncode}, expected {status}")
    for line in lines:
        expect(re.search(line, machine.text()), f'{what}: it does not say "{line}": {machine.shown()}')


def check_signal(machine):
    wait_until(lambda: machine.lines or not machine.alive(), "a machine that is to be ended")
    if machine.poll() == SKIPPED:
        raise Skipped(machine.shown())
    expect(machine.text() == "begun\n", f"the machine that was to be ended has not begun: {machine.shown()}")
    children = run("ps", "-o", "pid=", "--ppid", machine.pid).stdout.split()
    machine.send_signal(signal.SIGTERM)
    check_end(machine, "SIGTERM", 128 + signal.SIGTERM)
    expect(children, "qemu was not found")
    expect(not any(os.path.exists(f"/proc/{child}") for child in children), f"qemu, process {children}, is left behind")


def boot():
    """Several machines run at once."""
    shared, here = case.folder / "shared", case.folder / "here dir"
    shared.mkdir()
    here.mkdir()
    # Both outputs are complete and separate, also if the last line has no newline. Files stay in the machine, except those in the shared
    # folder. The command has the current folder, an empty folder for temporary files, and its arguments unchanged.
    plain = shell(COMMAND, "it's $one word", options=("--share", shared), cwd=here, stderr=subprocess.PIPE)
    late = vm("sleep", 1000, options=("--timeout", 20))
    alone = vm("false", "::", "sleep", 1000)
    dead = shell("echo c >/proc/sysrq-trigger; sleep 1000")
    check_signal(shell("echo begun; sleep 1000"))
    check_end(plain, "a command that fails", 7)
    expect(plain.text() == f"{here}|it's $one word||\nno end1\n", f"standard output is another: {plain.text()}")
    expect(plain.errors == ["error\n"], f"standard error is another: {plain.errors}")
    expect(not (case.folder / "outside").exists(), "the host's file system was written")
    expect((shared / "inside").read_text() == "written\n", "the shared folder was not written")
    check_end(late, "the time is over", 124, "not done within 20 s", "sleep .*: state S: do_nanosleep")
    check_end(alone, "one of two that fails", 1, "machine b: not done within 30 s of the other's failure")
    check_end(dead, "a machine that fails", 125, "sysrq triggered crash")
