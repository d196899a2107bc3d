"""What a test expects and waits for, and how it ends: right, Failed or Skipped."""
import shutil
import time

LIMIT_S = 300  # for whatever is waited for, on a host that stands still now and then
SKIPPED = 77   # the exit status that ctest counts as skipped
# Debian's packages of programs that are looked for.
PACKAGES = {"ip": "iproute2", "tc": "iproute2", "bridge": "iproute2", "ss": "iproute2", "ethtool": "ethtool", "sysctl": "procps",
            "unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux", "prlimit": "util-linux", "taskset": "util-linux",
            "tshark": "tshark", "dumpcap": "tshark", "nft": "nftables", "promtool": "prometheus", "prometheus": "prometheus",
            "podman": "podman, crun", "rdma": "iproute2", "ibv_rc_pingpong": "ibverbs-utils", "dpkg-shlibdeps": "dpkg-dev",
            "mpirun": "openmpi-bin", "srun": "slurm-client", "slurmctld": "slurmctld", "slurmd": "slurmd"}


class Failed(Exception):
    """A test has failed; the text says how."""


class Skipped(Exception):
    """A test cannot be run here; the text says why."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


def need(*programs):
    """Skips the test where one of these is not installed."""
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"the program {program} (package {PACKAGES.get(program, program)}) is missing")


def wait_until(condition, what, seconds=LIMIT_S, of=(), pause=0.02):
    """Returns what the condition gives once that is true. Fails if it takes too long, or if a process `of` these ends before, with what
    it has printed."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        for process in of:
            if process.poll() is not None and not condition():
                raise Failed(f"{what}: a process has ended with {process.returncode} before: {process.shown()}")
        expect(time.monotonic() < until, f"{what}: not within {seconds} s" + "".join(f"\n{process.shown()}" for process in of))
        time.sleep(pause)
    return found
