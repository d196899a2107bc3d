"""Programs that a test starts: each has a limit of time, what it prints is kept, and it ends with the scope that started it."""
import ctypes
import os
import signal
import socket
import subprocess
import threading

from lib.case import PROCESSES, at_end
from lib.outcome import LIMIT_S, Failed, expect, wait_until

STOP_S = 120  # for a program to react to a signal
LIBC = ctypes.CDLL(None, use_errno=True)


def lead_and_die():
    """In the child: it leads a group of processes, and is killed if this process ends, however it ends."""
    os.setpgid(0, 0)
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_port():
    """Returns a TCP port that nobody uses. Unless the test has a network namespace of its own, another process may take it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process(subprocess.Popen):
    """A program in the background. What it prints is read while it runs, since a full pipe would stop one that prints much. It leads a
    group of processes, which ends with it. `stdout`, `stderr`: as Popen takes them; `lines` has the first, and `errors` the second if
    that is a pipe of its own."""

    def __init__(self, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how):
        super().__init__(list(map(str, words)), stdin=how.pop("stdin", subprocess.DEVNULL), stdout=stdout, stderr=stderr, text=True,
                         errors="replace", preexec_fn=lead_and_die, **how)
        PROCESSES.append(self)
        at_end(self.end)
        self.lines, self.errors, self.readers = [], [], []
        for stream, lines in ((self.stdout, self.lines), (self.stderr, self.errors)):
            if stream:
                self.readers.append(threading.Thread(target=lines.extend, args=(stream,), daemon=True))
                self.readers[-1].start()

    def text(self):
        """What it has printed so far; all of it once it has ended."""
        if self.poll() is not None:
            for reader in self.readers:
                reader.join(STOP_S)  # a child of its may have the pipe for longer
        return "".join(list(self.lines))

    def shown(self):
        """For messages: the command, and what it has printed."""
        return f"{' '.join(map(str, self.args))}\n{self.text()}{''.join(list(self.errors))}".strip()

    def await_line(self, text, seconds=LIMIT_S, lines=None):
        """The first line that contains this."""
        lines = self.lines if lines is None else lines
        return wait_until(lambda: next((line for line in list(lines) if text in line), None), f'"{text}"', seconds, of=(self,))

    def finish(self, what, *status, limit=LIMIT_S):
        """What it has printed, after its end with this status, or one of these (0). Shows it."""
        if not self.ends_within(limit):
            self.end()
            raise Failed(f"{what}: not done after {limit} s: {self.shown()}")
        text = self.text()
        print(f"--- {what}\n{text.strip()}", *self.errors, flush=True)
        expect(self.returncode in (status or (0,)), f"{what}: exit status {self.returncode}, expected {' or '.join(map(str, status)) or 0}: "
                                                    f"{' '.join(self.args)}")
        return text

    def alive(self):
        return self.poll() is None

    def ends_within(self, seconds):
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, number=signal.SIGTERM):
        """Ends it by this signal, by SIGKILL if it does not react."""
        if self.alive():
            self.send_signal(number)
        if not self.ends_within(STOP_S):
            self.end()

    def kill(self):
        """All of its group. Not once its end is known: its number may be another's by then."""
        if self.alive():
            os.killpg(self.pid, signal.SIGKILL)

    def end(self):
        self.kill()
        self.wait()
        if self in PROCESSES:
            PROCESSES.remove(self)


def run(*words, status=0, limit=LIMIT_S, text=None, **how):
    """A program's end: returncode, stdout, stderr. Fails with all of that if its status is not this, or one of these; None: any.
    `text`: its standard input."""
    words = list(map(str, words))
    streams = {"stdin": subprocess.DEVNULL if text is None else subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    late = False
    with subprocess.Popen(words, text=True, errors="replace", preexec_fn=lead_and_die, **streams) as process:
        try:
            said = process.communicate(text, limit)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            late = isinstance(error, subprocess.TimeoutExpired)
            if not late:
                raise
            said = process.communicate()
    expected = (process.returncode,) if status is None else (status,) if isinstance(status, int) else status
    expect(not late and process.returncode in expected,
           f"{' '.join(words)}: {f'not done after {limit} s' if late else f'exit status {process.returncode}'}, expected "
           f"{' or '.join(map(str, expected))}:\n{''.join(each or '' for each in said)}")
    return subprocess.CompletedProcess(words, process.returncode, *said)
