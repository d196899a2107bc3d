"""A control group for all that this process starts."""
import contextlib
import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")


def parent():
    """The folder below which groups of the processor's controller can be made; None: there is none."""
    if (ROOT / "cpu/cgroup.procs").exists():
        return ROOT / "cpu"
    control = ROOT / "cgroup.subtree_control"
    return ROOT if control.exists() and "cpu" in control.read_text(encoding="ascii").split() else None


@contextlib.contextmanager
def shared():
    """Until the end of the block, this process and its children share the processors as equals.

    In the kernel's own group each session has a share (sched(7), autogroup). mpirun's and Slurm's daemons make sessions, and on a
    loaded host the ranks of one host got no time for as long as those of the other polled: 200 s were seen. Where no group can be
    made, all is as it was.
    """
    folder = parent()
    if not folder:
        yield
        return
    former = next((line.split(":", 2)[2].strip() for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
                   if line.split(":", 2)[1] == ("cpu" if folder != ROOT else "")), "/")
    own = folder / f"tfabric-launchers-{os.getpid()}"
    try:
        own.mkdir()
        (own / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    except OSError:
        with contextlib.suppress(OSError):
            own.rmdir()
        own = None
    try:
        yield
    finally:
        if own:
            (folder / former.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
            with contextlib.suppress(OSError):
                own.rmdir()  # a process that is just ending keeps it
