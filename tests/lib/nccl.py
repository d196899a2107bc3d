"""Jobs of the real NCCL, by tests/nccl/run: see its --help."""
import pathlib
import re
import shutil

import lib
from lib.case import case
from lib.outcome import SKIPPED, Skipped
from lib.process import run


def command(*words):
    """tests/nccl/run of this build, with these options."""
    return [f"{lib.TESTS}/nccl/run", "--build", case.build, *words]


def why_no_nccl():
    """Why no job can be run here; empty: nothing prevents it."""
    done = run(*command("--check"), status=(0, SKIPPED, 64))
    return (done.stdout.strip() or done.stderr.strip()) if done.returncode else ""


def need_nccl():
    if why := why_no_nccl():
        raise Skipped(why.removeprefix("skipped: "))


def kept_logs(output):
    """{file: text} of the logs of a run with --keep, which are removed."""
    found = {}
    for folder in re.findall(r"^logs: (\S+)$", output, re.MULTILINE):
        for path in pathlib.Path(folder).glob("nccl*.log"):
            found[path.name] = path.read_text(encoding="utf-8", errors="replace")
        shutil.rmtree(folder)
    return found
