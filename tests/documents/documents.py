"""What the programs of this folder have in common: where the sources and documents are, and the command line and the end of a program."""
import argparse
import pathlib
import sys

SOURCES = ("base", "config", "host", "hugepage", "observe", "plugin", "tools", "transport")


def pages_of(root):
    return sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))


def main(faults_of, right):
    """`faults_of`: yields what is wrong with the sources in a folder. `right`: what is printed if nothing is."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2],
                        help="the folder of the sources")
    source = parser.parse_args().source.resolve()
    if not (source / "docs").is_dir():
        parser.error(f"{source} has no folder docs: --source names the folder of tfabric's sources")
    faults = list(faults_of(source))
    print("\n".join(faults) or right)
    sys.exit(1 if faults else 0)
