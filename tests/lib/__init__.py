"""What the programs of tests/ have in common, so that a new one is its cases and little else:

    outcome      what is expected and waited for; what a case fails with, and why it is skipped
    case         the command line CASE --build DIR; what a case has, and what is ended with it
    process      programs in the background, with a limit of time, and programs that are waited for
    namespace    network namespaces, their interfaces and counters; what they need
    tfabric      the tool: environments, two ends of perf, what `stat` shows as JSON, what processes say
    cable        two processes of perf with a rail each, joined by a cable
    nccl         the real NCCL: where it is, jobs of it by tests/nccl/run; nccl_releases: what is known of each release
    wire         an emulated network between two ends (tests/wire)
    xdp_program  AF_XDP: whether this host has it, and a stranger's XDP program

A program begins with these lines, and ends with main():

    #!/usr/bin/env -S python3 -B
    \"\"\"What it proves: its --help.\"\"\"
    import sys

    sys.path.insert(1, sys.path[0] + "/..")
    from lib import case, expect, main, perf

All that a case starts (processes, namespaces, folders) is ended with it, however it ends.
"""
import pathlib

from lib import nccl, xdp_program
from lib.cable import Cable
from lib.case import at_end, case, main, scope
from lib.namespace import Namespace, need_namespaces, own_network
from lib.outcome import LIMIT_S, SKIPPED, Failed, Skipped, expect, need, wait_until
from lib.process import Process, free_port, run
from lib.tfabric import (PERF_TIMEOUT_S, REMOTE, STREAM, TOKEN, UNUSABLE, both_ends, check_metrics, configuration, environment, metrics,
                         pages, perf, rows, said_by)

TESTS = pathlib.Path(__file__).resolve().parents[1]
