# The releases of NCCL that are known to the tests. Sourced by tests/nccl/run and tests/nccl/releases/run.

# Version; CUDAs that its Python packages are built with, of which tests/nccl/run takes the first unless FAKECUDA_TOOLKIT names another;
# whether fakecuda has its kernels (release.cc); and the tables to try: the newest that it knows, and, by a library that has no newer
# one, tables of releases that are not to be had.
known_releases='
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
2.32.3 13,12 yes 12'

# known_release VERSION: sets release_cuda, release_kernels and release_tables. Fails if it is not known.
known_release() {
  # shellcheck disable=SC2034
  read -r _ release_cuda release_kernels release_tables < <(awk -v wanted="$1" '$1 == wanted' <<<"$known_releases")
}
