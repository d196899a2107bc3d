"""The two ends of a stream as processes, with what they print, and a limit of time."""
import json
import time

from lib import Failed, Process, expect, wait_until
from lib.namespace import START_S
from network import KERNEL, OURS, PREFIX

KINDS = {"tap": "tap", "xdp": "af_xdp"}  # of our rail, by the kind of the network


class Peer(Process):
    """A program that prints `ready`, `step …`, and at its end a JSON object, its report."""

    def __init__(self, who, namespace, log, *words):
        super().__init__(*namespace.command(*words), stderr=log)
        self.who = who

    @property
    def report(self):
        return next((json.loads(line) for line in reversed(list(self.lines)) if line.startswith("{")), None)

    def await_line(self, wanted, seconds=START_S):
        wait_until(lambda: f"{wanted}\n" in list(self.lines), f"{self.who}: \"{wanted}\"", seconds, of=(self,))

    def finish(self, seconds):
        expect(self.ends_within(max(0.1, seconds)), f"{self.who}: not done in time, at \"{self.lines[-1:]}\"")
        self.text()
        expect(self.returncode == 0, f"{self.who} ended with exit code {self.returncode}")


def our_peer(case, network, programs, log):
    words = ["--kind", KINDS.get(network.kind, "af_packet"), "--device", network.device, "--port", case.port, "--script", case.ours, "--timeout", case.timeout_s, *case.our_options]
    for family in (4, 6):
        words += ["--address", f"{OURS[family]}/{PREFIX[family]}"]
    if case.connects == "us":
        words += ["--connect", KERNEL[case.family]]
    return Peer("our peer", network.ours, log, programs / "interop_peer", *words)


def kernel_peer(case, network, programs, log):
    words = ["--listen", KERNEL[case.family]] if case.connects == "us" else ["--connect", OURS[case.family]]
    return Peer("kernel's peer", network.kernel, log, programs / "interop_kernel_peer", *words, "--port", case.port,
                "--script", case.kernel, "--timeout", case.timeout_s, *case.kernel_options)


def start_peers(case, network, programs, log, peers, capture):
    """Starts both ends of a case, the listening one first, and puts them into `peers`. The capture of a TAP begins here."""
    listens = case.connects == "us" and case.kernel
    if listens:
        peers["kernel"] = kernel_peer(case, network, programs, log)
        peers["kernel"].await_line("ready")
    peers["us"] = our_peer(case, network, programs, log)
    peers["us"].await_line("ready")
    if network.kind == "tap":
        network.raise_tap()
        capture.start(network.kernel, network.theirs)
        network.address_kernel()
    if case.kernel and not listens:
        peers["kernel"] = kernel_peer(case, network, programs, log)


def run_peers(case, network, programs, log, capture):
    """Runs a case. Returns what went wrong, and the report of each end."""
    until = time.monotonic() + START_S + case.timeout_s
    peers, faults = {}, []
    try:
        start_peers(case, network, programs, log, peers, capture)
        for who, step, delay, command in case.events:
            peers[who].await_line(step, case.timeout_s)
            if case.first_lost:
                wait_until(lambda: network.wire.counters()[case.first_lost]["dropped.loss"] > 0, "a packet that the wire loses", case.timeout_s)
            time.sleep(delay)
            network.wire.ask(command)
    except Failed as error:
        faults.append(str(error))
    for peer in peers.values():
        try:
            peer.finish(0 if faults else until - time.monotonic())
        except Failed as error:
            faults.append(str(error))
        finally:
            peer.stop()
    return faults, {who: peer.report for who, peer in peers.items()}
