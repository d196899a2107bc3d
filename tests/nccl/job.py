"""One job of the real NCCL: its ranks, their ends, and what their logs must say."""
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

from lib import TESTS, Process
from lib.case import at_end

NOT_AS_ASKED, TIMED_OUT = 9, 124  # exit statuses, as those of the ranks
FAILED_BY_NCCL = (7, 2)  # NCCL reported the error, and the rank aborted; a call of NCCL returned it
NOTICE_S = 90  # for the others to notice that a rank has failed; a host that stands still takes some of it
KILL_S = 10    # for a rank to react to a signal
PAUSE_S = 0.05
REPORT = re.compile("ERROR: AddressSanitizer|runtime error: ")  # of a sanitizer, which begins with what matters


def say(text):
    print(text, flush=True)


def complain(text):
    print(text, file=sys.stderr, flush=True)


class Job:
    """`environment`: of all ranks. NCCL must use this network by this table of the plugin's."""

    def __init__(self, options, selftest, network, table, environment):
        self.options, self.selftest, self.network, self.table, self.environment = options, selftest, network, table, environment
        self.logs = pathlib.Path(tempfile.mkdtemp(prefix="tfabric-nccl."))
        at_end(self.tell_logs if options.keep else lambda: shutil.rmtree(self.logs))
        self.numbers = range(options.ranks) if options.only_rank is None else [options.only_rank]
        self.ranks, self.codes = {}, {}

    def tell_logs(self):
        say(f"logs: {self.logs}")

    # --- ranks

    def words(self, rank):
        options = self.options
        words = ["--rank", rank, "--ranks", options.ranks, "--id-file", options.id_file or self.logs / "id", "--mode", options.mode,
                 "--max-bytes", options.max_bytes, "--stall-limit", options.timeout * 3 // 4]
        for name in ("hang", "guilty", "late", "apart", "until"):
            value = getattr(options, name)
            words += [f"--{name}", value] if value is not None else []
        # No rank may be done before the other one is killed.
        return words + ["--register"] * options.register + ["--endless"] * (options.kill_rank is not None)

    def start(self, rank):
        """Standard output of rank 0 is the table."""
        own = {"NCCL_HOSTID": f"host{rank}", "NCCL_DEBUG_FILE": f"{self.logs}/nccl{rank}.log"}
        if devices := self.options.rdma:
            own["NCCL_IB_HCA"] = "=" + devices[rank % len(devices)].replace("+", ",")
        if self.options.mode == "hang":
            own["RANK"] = str(rank)
        if self.options.local_ranks:
            own |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(self.options.ranks)}
        with open(self.logs / f"rank{rank}.out", "wb") as output, open(self.logs / f"rank{rank}.err", "wb") as errors:
            self.ranks[rank] = Process(self.selftest, *self.words(rank), env=self.environment | own, stdout=output if rank else None,
                                       stderr=errors)

    def wait(self, until):
        """The exit status of the first rank that fails. After half of the time another process records where the threads of a run that
        may not end wait, before the limit for an operation ends a rank."""
        first, half, watched = 0, until - self.options.timeout / 2, False
        while left := [rank for rank in self.ranks if rank not in self.codes]:
            now = time.monotonic()
            if not watched and now > half:
                watched = True
                with open(self.logs / "threads", "wb") as output:
                    Process(TESTS / "nccl/threads", *(self.ranks[rank].pid for rank in left), stdout=output)
            if now > until:
                self.end(left, TIMED_OUT)
            for rank in left:
                if rank not in self.codes and not self.ranks[rank].alive():
                    code = self.ranks[rank].returncode
                    self.codes[rank] = code if code >= 0 else 128 - code
                    if self.codes[rank] and not first:
                        first, until = self.codes[rank], min(until, now + NOTICE_S)
            time.sleep(PAUSE_S)
        return first or next(filter(None, self.codes.values()), 0)

    def end(self, ranks, code):
        for rank in ranks:
            self.ranks[rank].send_signal(signal.SIGTERM)
        for rank in ranks:
            if not self.ranks[rank].ends_within(KILL_S):
                self.ranks[rank].end()
            self.codes[rank] = code

    def kill_in_the_midst(self, until):
        """Of the operations, which begin when all ranks have their connections and do not end by themselves. NCCL waits without end for a
        connection that is being made, so the modes that make more of them later cannot be used."""
        while time.monotonic() < until and not all("Connected all" in self.log(rank) for rank in self.ranks):
            time.sleep(PAUSE_S)
        time.sleep(1)
        self.ranks[self.options.kill_rank].kill()

    def run(self):
        """Its exit status, after a line that says how it went."""
        began = time.monotonic()
        until = began + self.options.timeout
        for each in self.logs.iterdir():
            each.unlink()
        self.ranks, self.codes = {}, {}
        for rank in self.numbers:
            self.start(rank)
        if self.options.kill_rank is not None:
            self.kill_in_the_midst(until)
        code = self.wait(until)
        if self.options.kill_rank is not None:
            wrong = self.wrong_survivor()
        elif self.options.required:
            wrong = self.wrong_refusal()
        elif code:
            self.show_logs()
            complain(f"FAILED: not done after {self.options.timeout} s" if code == TIMED_OUT else f"FAILED: exit code {code}")
            return code
        else:
            wrong = next(filter(None, map(self.wrong_log, self.numbers)), None) or (self.wrong_warning() if self.options.fallback else None)
            if not wrong:
                checked = sum(int(found) for file in self.logs.glob("rank*.err") for found in re.findall(r"(\d+) values checked", file.read_text()))
                say(f"all right: {self.options.ranks} ranks over {self.network}, {checked} values checked, 0 wrong, "
                    f"{time.monotonic() - began:.0f} s")
        if wrong:
            complain(f"FAILED: {wrong}")
            self.show_logs()
        return NOT_AS_ASKED if wrong else 0

    # --- what it must say; empty: it does

    def log(self, rank):
        path = self.logs / f"nccl{rank}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def all_logs(self):
        return "".join(map(self.log, self.numbers))

    def wrong_log(self, rank):
        """NCCL uses another network, or another table, without telling the application."""
        log, table = self.log(rank), self.table
        if not re.search(f"Using network {self.network}$", log, re.MULTILINE):
            return f'rank {rank}\'s log lacks "Using network {self.network}"'
        # NCCL does not write it before 2.24, and the plugin only if it is used.
        loaded = rf"Loaded net plugin tfabric \(v{table}\)|, called by NCCL [0-9.]+'s table v{table}$"
        if not self.options.peer and not re.search(loaded, log, re.MULTILINE):
            return f"rank {rank}'s log does not say that tfabric is called by table v{table}"
        summaries = len(re.findall("NET/tfabric: .*; .* progress", log))
        if not self.options.peer and not self.options.fallback and summaries != 1:
            return f"in rank {rank}'s log {summaries} lines say what is in use, not one"
        return None

    def wrong_warning(self):
        """Only one rank of the host warns. A rank alone need not be the one."""
        logs = self.all_logs()
        reasons, warnings = logs.count("NET/tfabric: not usable here, NCCL will use its own network: "), logs.count("NCCL WARN NET/tfabric: ")
        if reasons != len(self.ranks) or not (warnings == 1 or warnings == 0 and reasons < self.options.ranks):
            return f"of {len(self.ranks)} ranks {reasons} say why tfabric is not used, {warnings} by a warning; expected one"
        for line in re.findall("NCCL WARN NET/tfabric: .*", logs):
            say(line)
        return None

    def wrong_refusal(self):
        """NCCL failed in each rank, and said why."""
        for rank, code in self.codes.items():
            if code != 2:
                return f"rank {rank} ended with {code}; NCCL should have failed (2)"
        logs = self.all_logs()
        told = len(re.findall("NCCL WARN .*tfabric is required, and not usable here: ", logs))
        if told < len(self.ranks):
            return f"{told} times, of {len(self.ranks)}, a communicator's failure is explained"
        for line in re.findall("NCCL WARN NET/tfabric: not usable here.*", logs):
            say(line)
        say(f"all right: NCCL failed in all of {len(self.ranks)} ranks")
        return None

    def wrong_survivor(self):
        victim = self.options.kill_rank
        for rank, code in self.codes.items():
            if code not in ((128 + signal.SIGKILL,) if rank == victim else FAILED_BY_NCCL):
                return f"rank {rank} ended with {code}; rank {victim} should have been killed, and the others abort"
        say(f"all right: rank {victim} was killed, and {len(self.ranks) - 1} other(s) noticed and ended")
        return None

    def show_logs(self):
        for file in sorted(self.logs.glob("rank*.err")) + sorted(self.logs.glob("nccl*.log")):
            if lines := file.read_text(encoding="utf-8", errors="replace").splitlines():
                report = next((number for number, line in enumerate(lines) if REPORT.search(line)), None)
                complain("\n".join([f"--- {file.name}", *(lines[-25:] if report is None else lines[report:report + 41])]))
        threads = self.logs / "threads"
        if threads.exists():
            complain(f"--- where its threads waited, after {self.options.timeout // 2} s\n{threads.read_text(errors='replace')}")
