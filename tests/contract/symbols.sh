#!/bin/sh
# What the library shows and what it needs: symbols.sh LIBRARY [SANITIZERS]
#
# Loaded into a process with other libraries of all kinds, it must not lend or take symbols, and must load
# wherever there is a libc.
library=$1
if [ -n "$2" ]; then
  echo "skipped: a library built with -fsanitize=$2 needs the sanitizers' libraries"
  exit 77
fi
failed=0

expected=$({
  for v in 6 7 8 9 10 11 12; do echo "ncclNetPlugin_v$v"; done
  echo tfabric_copy_state
} | sort)
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
if [ "$shown" != "$expected" ]; then
  echo "it exports:"; echo "$shown"; failed=1
fi

# libmvec belongs to libm.
foreign=$(ldd "$library" | awk '{print $1}' | grep -Ev '^(linux-vdso\.so\.1|libc\.so\.6|libm\.so\.6|libmvec\.so\.1|.*/ld-linux.*)$')
if [ -n "$foreign" ]; then
  echo "it needs:"; echo "$foreign"; failed=1
fi
exit $failed
