#!/bin/sh
# What the library shows, and what it and the tool need: symbols.sh LIBRARY TOOL [SANITIZERS]
#
# Loaded into a process with other libraries of all kinds, it must not lend or take symbols, and must load
# wherever there is a libc.
library=$1 tool=$2
if [ -n "$3" ]; then
  echo "skipped: a library built with -fsanitize=$3 needs the sanitizers' libraries"
  exit 77
fi
. "$(dirname "$0")/../../tools/shell/glibc.sh"
failed=0

expected=$({
  for v in 4 5 6 7 8 9 10 11 12; do echo "ncclNetPlugin_v$v"; done
  echo tfabric_copy_state
} | sort)
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
if [ "$shown" != "$expected" ]; then
  echo "it exports:"; echo "$shown"; failed=1
fi

# libmvec belongs to libm, and libpthread and libdl to a libc that is older than 2.34.
parts='linux-vdso\.so\.1|libc\.so\.6|libm\.so\.6|libmvec\.so\.1|libpthread\.so\.0|libdl\.so\.2|.*/ld-linux.*'
foreign=$(ldd "$library" "$tool" | grep -v ':$' | awk '{print $1}' | grep -Ev "^($parts)$")
if [ -n "$foreign" ]; then
  echo "they need:"; echo "$foreign"; failed=1
fi
check_glibc "$library" "$tool" || failed=1
exit $failed
