"""Runs the emulated network of tests/wire: writes commands to its standard input, and reads the line that answers each."""
import json
import os
import subprocess

from lib.case import case
from lib.outcome import LIMIT_S, expect, wait_until


class Wire:
    """`start`: what starts a program by words, as Process does, here or in a namespace. `words`: ports and options (--help). `programs`:
    the folder of the program, if it is not the case's."""

    def __init__(self, start, *words, programs=None, seed=None, stderr=None):
        program = (programs or case.build / "tests") / "emulated_wire"
        self.process = start(program, *words, "--seed", seed or os.environ.get("TFABRIC_TEST_SEED", "1"), stdin=subprocess.PIPE,
                             stderr=stderr)
        self.answers = 0
        self.answer("its start")

    def answer(self, line):
        wait_until(lambda: len(self.process.lines) > self.answers, f"the wire's answer to {line}", of=(self.process,), pause=0.001)
        answer = self.process.lines[self.answers].strip()
        self.answers += 1
        expect(not answer.startswith("error"), f"the wire, {line}: {answer}")
        return answer

    def ask(self, line):
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # there is no answer then
        return self.answer(line)

    def counters(self):
        """{direction: {counter: number}}"""
        return json.loads(self.ask("stats"))

    def close(self):
        """It ends in order, and removes its sockets."""
        self.process.stdin.close()
        expect(self.process.ends_within(LIMIT_S) and self.process.returncode == 0, f"the wire has ended with {self.process.returncode}")
