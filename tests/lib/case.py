"""The command line of a test program, what each of its cases has, and the end of all that a case has started."""
import argparse
import contextlib
import pathlib
import signal
import sys
import tempfile
import types

from lib.outcome import SKIPPED, Failed, Skipped

# Of the case that runs: its name, the build folder, the tool in it, a folder that is removed afterwards, further options, if any, and
# whether it has a network namespace of its own.
case = types.SimpleNamespace(name="", build=None, tool=None, folder=None, options=None, own_network=False)
SCOPES = [contextlib.ExitStack()]
PROCESSES = []  # that have not been ended


@contextlib.contextmanager
def scope():
    """A part of a case: what is started within is ended with it."""
    with contextlib.ExitStack() as stack:
        SCOPES.append(stack)
        try:
            yield
        except Failed:
            tell()
            raise
        finally:
            SCOPES.remove(stack)


def tell():
    """After a failure: what processes that still run have printed."""
    for process in [each for each in PROCESSES if each.alive() and each.text()]:
        print(f"--- still runs: {process.shown()[-6000:]}", flush=True)
        PROCESSES.remove(process)


def at_end(work, *arguments):
    """Calls this at the end of the scope, the last one first."""
    SCOPES[-1].callback(work, *arguments)


def choose(build, name=""):
    """Sets what all cases have, but the folder."""
    case.name, case.build, case.tool = name, build.resolve(), build.resolve() / "tfabric"


def main(cases, before=lambda: None, options=lambda parser: None):
    """Runs the case that the command line names, a function without arguments. `before`: what skips the program as a whole, or makes its
    surroundings. `options`: adds further ones to the parser."""
    path = pathlib.Path(sys.argv[0]).resolve()
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f"Exit status 0: all right; 1: something is not; {SKIPPED}: cannot be run here, and why.")
    parser.add_argument("case", choices=cases)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    options(parser)
    case.options = parser.parse_args()
    choose(case.options.build, case.options.case)
    who = f"{path.parent.name}/{path.name} {case.name}"
    sys.exit(judged(who, lambda: (before(), cases[case.name]())))


def judged(who, work):
    """The exit status of this work, in a folder and a scope of its own; one line says how it ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix="tfabric-test-") as folder, scope():
            case.folder = pathlib.Path(folder)
            work()
    except Skipped as why:
        print(f"{who}: skipped: {why}")
        return SKIPPED
    except Failed as why:
        print(f"{who}: FAILED: {why}")
        return 1
    print(f"{who}: right")
    return 0
