"""Whether the two CPUs of a measurement share a cache: how long a line takes from one to the other, before each round."""
import subprocess

NEAR_NS = 110  # up to this; lines of CPUs that share no cache take 170 to 240 ns


class Mode:
    def __init__(self, build):
        self.program = build / "bench_line_time"
        self.found = []

    def look(self):
        """Measures it once, and returns the mode's name with the time."""
        done = subprocess.run([self.program], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            return f"unknown ({done.stderr.strip()})"
        self.found.append(int(done.stdout))
        return f"{name(self.found[-1])}, {self.found[-1]} ns"

    def summary(self):
        if not self.found:
            return "how long a cache line takes from CPU to CPU is not known"
        near = sum(name(ns) == "near" for ns in self.found)
        return (f"a cache line took {min(self.found)} to {max(self.found)} ns from CPU to CPU, "
                f"{'near' if near == len(self.found) else 'far' if near == 0 else f'near in {near} of {len(self.found)} looks'}")


def name(nanoseconds):
    return "near" if nanoseconds <= NEAR_NS else "far"
