"""The tool `tfabric` as tests use it: environments and configurations, the two ends of perf, what `stat` shows, what processes say."""
import json
import os
import re
import secrets
import shutil

from lib.case import case
from lib.process import Process, run

UNUSABLE, REMOTE = 3, 4  # exit statuses
PERF_TIMEOUT_S = 120     # of perf, for its connections and for each operation
TOKEN = ("--token", secrets.token_hex(16))  # of the two ends of a control connection
# What perf does in most tests: messages both ways, of which every byte is checked.
STREAM = ("--mode", "bw", "-b", "256K", "-e", "256K", "--comms", 4, "--bidirectional", "--check", "all")
# A line about a wait: its level, its text and its cause.
SAID = re.compile(r"^plugin( WARN|): NET/tfabric: (.*) \[([a-z-]+)\]\s*$")
FOREIGN = ("TFABRIC_", "NCCL_", "LOCAL_", "FAKECUDA_", "KERNELNET_")


def text_of(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def environment(**more):
    """Ours, without what says how to use tfabric or NCCL, and with these."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN) or key == "TFABRIC_TEST_NCCL"}
    return own | {"TFABRIC_CONFIG": "/dev/null"} | {key: text_of(value) for key, value in more.items()}


def configuration(*rails, **keys):
    """The text of a configuration file. `rails`: a dictionary each; `keys` with sections, as in memory__hugepages."""
    sections = {"": {"transport": "tcp"}}
    for key, value in keys.items():
        section, _, name = key.rpartition("__")
        sections.setdefault(section, {})[name] = value
    lines = []
    for heading, values in [(f"[{name}]" if name else "", each) for name, each in sections.items()] + [("[[tcp.rails]]", each) for each in rails]:
        lines += [heading] + [f"{name} = {text_of(value) if isinstance(value, bool) else json.dumps(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def perf(where, *words, env, space=None, before=()):
    """One end of perf, in a network namespace or here. `where`: --listen, or the host that listens."""
    start = space.start if space else Process
    return start(*before, case.tool, "perf", where, *TOKEN, "--timeout", PERF_TIMEOUT_S, *words, env=env)


def both_ends(client, server, what="perf", **how):
    """What each has printed, after an end in order."""
    return client.finish(what, **how), server.finish("its peer", **how)


def said_by(process):
    """(level, text, cause) of each line about a wait so far."""
    return [match.groups() for match in map(SAID.search, list(process.lines)) if match]


def pages(*words, **how):
    """What `tfabric stat --json` shows of each process."""
    return json.loads(run(case.tool, "stat", "--json", *words, status=(0, UNUSABLE), **how).stdout)["processes"]


def rows(table, *words, **how):
    """Of a table, of all processes that are shown."""
    return [row for page in pages(*words, **how) for row in page.get("tables", {}).get(table, {}).get("rows", [])]


def metrics(text, name):
    """[(labels, value)] of a metric."""
    return re.findall(rf"^tfabric_{name}(\{{.*\}}) (\S+)$", text, re.MULTILINE)


def check_metrics(text):
    """By promtool, where it is installed."""
    if shutil.which("promtool"):
        run("promtool", "check", "metrics", text=text)
    else:
        print("promtool is not installed (Debian: prometheus): the metrics are not judged by it")
