"""Summarises where a guest hangs: what its kernel writes when a non-maskable interrupt ends it, in few lines.

`unknown_nmi_panic` makes the interrupt, which the first processor gets, a panic, and `panic_print` has that tell of all
tasks and timers (Documentation/admin-guide/kernel-parameters.txt of Linux)."""
import re

KERNEL_WORDS = "unknown_nmi_panic panic_print=5"
KTHREADD = "2"  # the parent of the kernel's own threads, by process id
DEPTH = 8  # functions of each
TASK = re.compile(r"task:(?P<name>.*?) +state:(?P<state>\S) .*\bpid:(?P<pid>\d+) +ppid:(?P<parent>\d+)")
PROCESSOR = re.compile(r"CPU: (?P<number>\d+) PID: (?P<pid>\d+) Comm: (?P<name>.*?) (Not tainted|Tainted)")
FUNCTION = re.compile(r"^ *(?P<name>[\w.]+)\+0x")  # those behind a question mark are of older calls
NOW = re.compile(r"^now at (\d+) nsecs")
NEXT = re.compile(r"^lapic$.*?^ *next_event: +(\d+) nsecs", re.MULTILINE | re.DOTALL)
WAITING = {"__schedule", "schedule"}  # these say that it waits, not for what


def trace(lines):
    """The innermost functions of the interrupted code, or of a waiting task."""
    begin = max((at + 1 for at, line in enumerate(lines) if line.strip() == "</NMI>"), default=0)
    names = [found["name"] for line in lines[begin:] if (found := FUNCTION.match(line))]
    return " < ".join([name for name in names if name not in WAITING][:DEPTH]) or "no function of the kernel's"


def sections(lines, heads):
    """Each line that matches one of the expressions, with the lines up to the next match."""
    found = [(at, match) for at, line in enumerate(lines) for head in heads if (match := head.search(line))]
    for (at, match), (end, _) in zip(found, found[1:] + [(len(lines), None)]):
        yield match, lines[at + 1:end]


def clock(lines):
    """The time, and when the processors' timers should interrupt. A time that is long over means a lost interrupt."""
    now = next((found[1] for line in lines if (found := NOW.match(line))), None)
    events = ", ".join(f"{int(event) / 1e9:.3f}" for event in NEXT.findall("\n".join(lines)))
    return [f"  clock: at {int(now) / 1e9:.3f} s; next interrupts of timers at {events or 'none'}"] if now else []


def before(console):
    """The kernel's messages before those about its tasks."""
    found = TASK.search(console)
    return console[:console.rfind("\n", 0, found.start()) + 1] if found else console


def summary(console):
    """`console`: the kernel's messages. A line for the clock, the first processor, each process, and each thread of the
    kernel's that has work; empty: it said nothing of them."""
    lines = [re.sub(r"^\[ *[\d.]+\] ", "", line) for line in console.split("\n")]
    told = {}
    for match, rest in sections(lines, [TASK, PROCESSOR]):
        if match.re is PROCESSOR:
            told[f"processor {match['number']}"] = f"{match['name']} {match['pid']}: {trace(rest)}"
        elif (match["parent"] != KTHREADD and match["pid"] != KTHREADD) or match["state"] in "RD":
            told[f"{match['name']} {match['pid']}"] = f"state {match['state']}: {trace(rest)}"
    return clock(lines) + [f"  {what}: {where}" for what, where in told.items()]
