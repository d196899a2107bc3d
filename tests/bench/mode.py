"""Whether the two CPUs of a measurement share a cache, by how long a line takes from one to the other.

Virtual machines change in this every few seconds, as their CPUs are moved, and with it by a factor of two and more what two
processes reach. So each measurement is counted for the mode in which it began and ended, or left out if these are not the same.
"""
import collections
import subprocess

NEAR_NS = 110  # up to this; lines of CPUs that share no cache take 170 to 240 ns
MODES = ("near", "far")


class Mode:
    def __init__(self, build):
        self.program = build / "bench_line_time"
        self.times = []
        self.mixed = 0  # measurements that were left out

    def look(self):
        done = subprocess.run([self.program], capture_output=True, text=True, timeout=120, check=True)
        self.times.append(int(done.stdout))
        return "near" if self.times[-1] <= NEAR_NS else "far"

    def measure(self, one):
        """The mode of a measurement, None if it changed meanwhile, and what it has found."""
        before = self.look()
        found = one()
        if self.look() == before:
            return before, found
        self.mixed += 1
        return None, found

    def rounds(self, candidates, count):
        """Measures the candidates {name: function} by turns. {mode: {name: [what it has found]}}, with the modes in which each
        candidate has been measured."""
        values = collections.defaultdict(lambda: collections.defaultdict(list))
        for turn in range(count):
            for name, one in candidates.items():
                mode, found = self.measure(one)
                values[mode][name].append(found)
            yield turn, {mode: values[mode] for mode in MODES if len(values[mode]) == len(candidates)}

    def summary(self):
        if not self.times:
            return "nothing was measured"
        return (f"near: a cache line takes up to {NEAR_NS} ns from CPU to CPU; here it took {min(self.times)} to {max(self.times)} ns. "
                f"{self.mixed} measurements were left out, during which this changed")
