"""The real NCCL: where the build has it, what its ranks have in common, and jobs of it by tests/nccl/run (see its --help)."""
import os
import pathlib
import re
import shutil

import lib
from lib.case import case
from lib.outcome import SKIPPED, Skipped
from lib.process import run


class Build:
    """What a build folder has for it. `folder`: of the programs; `library`: libnccl.so.2, that of the build or TFABRIC_TEST_NCCL; `preload`:
    what must be loaded first. Skips what needs it where it cannot be used."""

    def __init__(self, build, need_library=True):
        self.folder = build / "tests/nccl"
        file = self.folder / "settings"  # written by cmake
        if not file.exists():
            raise Skipped(f"there is no {file}: {build} is no build folder, or has no tests")
        settings = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines())
        if settings["unsuitable"]:
            raise Skipped(settings["unsuitable"])
        self.library = self.find(settings["library"]) if need_library else None
        if settings["missing"]:
            raise Skipped(f"the test was not built: cmake did not find {settings['missing']}")
        self.preload = ":".join(filter(None, (settings["preload"], f"{self.folder}/libfakecuda.so")))
        self.library_path = f"{self.folder}:{self.library.parent}" if need_library else str(self.folder)

    @staticmethod
    def find(of_build):
        if chosen := os.environ.get("TFABRIC_TEST_NCCL"):
            candidates = [pathlib.Path(chosen).parent / "libnccl.so.2"]  # the linker looks for that name
        else:
            candidates = [*map(pathlib.Path, filter(None, [of_build])), *pathlib.Path("/usr/local/cuda").glob("lib*/libnccl.so.2"),
                          pathlib.Path("/usr/lib/x86_64-linux-gnu/libnccl.so.2")]
        for candidate in candidates:
            if candidate.exists():
                return candidate
        raise Skipped(f"libnccl.so.2 not found (looked for {', '.join(map(str, candidates))})")


def rank_environment(environment):
    """This environment, with what all ranks of NCCL over fakecuda have in common."""
    kept = {key: value for key, value in environment.items() if key not in ("NCCL_NET_PLUGIN", "NCCL_CONF_FILE", "NCCL_DEBUG_SUBSYS")}
    return {"NCCL_SOCKET_IFNAME": "lo"} | kept | {
        "NCCL_DEBUG": "INFO",
        # Every rank has a host of its own (NCCL_HOSTID), so that all data goes through the network.
        "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0",
        # These are not emulated and not needed.
        "NCCL_PAT_ENABLE": "0", "NCCL_RAS_ENABLE": "0"}


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
