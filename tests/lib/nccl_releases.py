"""The releases of NCCL that are known to the tests."""
import dataclasses

from lib.outcome import Skipped


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    # That its Python packages are built with, of which tests take the first unless FAKECUDA_TOOLKIT names another.
    cudas: tuple
    kernels: bool  # whether fakecuda has them (release.cc)
    # To try: the newest that it knows, and, by a library that has no newer one, tables of releases that are not to be had.
    tables: tuple

    @property
    def newest(self):
        return self.tables[0]


def release(line):
    version, cudas, kernels, *tables = line.split()
    return version, Release(version, tuple(cudas.split(",")), kernels == "yes", tuple(map(int, tables)))


RELEASES = dict(map(release, """
2.13.4 11 no 6
2.14.3 11 no 6
2.15.5 11 no 6
2.16.5 12 no 6 5 4
2.17.1 12 no 6
2.18.3 12 no 6 5 4
2.19.3 12 no 7
2.20.5 12 no 8
2.21.5 12 no 8
2.22.3 12 yes 8
2.23.4 12 yes 8
2.24.3 12 yes 9
2.25.1 12 yes 9 5
2.26.5 12 yes 10
2.27.7 13 yes 10
2.28.9 13 yes 11
2.29.7 13 yes 11
2.30.7 13,12 yes 12
2.31.2 13,12 yes 12
2.32.3 13,12 yes 12
""".strip().splitlines()))
EMULATED = [each for each in RELEASES.values() if each.kernels]


def emulated(version, library):
    """The release, whose collectives can be run. Skips what needs them otherwise."""
    found = RELEASES.get(version)
    if not found or not found.kernels:
        raise Skipped(f"{library} is NCCL {version or 'of an unknown version'}, whose kernels are not emulated (docs/testing-with-nccl.md)")
    return found
