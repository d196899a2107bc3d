"""Instructions of a program by callgrind, which do not depend on the host's speed or load."""
import os
import re
import subprocess


class Failed(Exception):
    pass


def count(command, options=(), environment=None, timeout=300):
    """Runs a program under callgrind with further options. Returns the instructions that it has counted, and what the
    program has printed."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, *command],
                          env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=timeout,
                          check=False)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or total is None:
        raise Failed(f"exit code {done.returncode} under callgrind: {' '.join(command)}\n{done.stderr.strip()[-2000:]}")
    return int(total.group(1)), done.stdout
