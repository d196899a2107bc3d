#!/bin/sh
# How the products are hardened, by what readelf shows: hardening.sh LIBRARY TOOL ARCHIVE CONFIG [SANITIZERS]
#
# ARCHIVE is compiled like all of the project's code and, unlike the products, holds no code of DPDK's, which Debian
# hardens: what the compiler adds is looked for there.
library=$1 tool=$2 archive=$3 config=$4
if [ -n "$5" ]; then
  echo "skipped: a build with -fsanitize=$5 does not ship"
  exit 77
fi
failed=0
wrong() {
  echo "$*"
  failed=1
}

for product in "$library" "$tool"; do
  segments=$(readelf -lW "$product")
  dynamic=$(readelf -dW "$product")
  echo "$segments" | grep -q 'GNU_RELRO' || wrong "$product: no RELRO"
  echo "$segments" | grep 'GNU_STACK' | grep -q ' RW ' || wrong "$product: its stack is executable"
  echo "$dynamic" | grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' || wrong "$product: symbols are bound lazily, so RELRO is partial"
  if echo "$dynamic" | grep -q '(TEXTREL)'; then wrong "$product: relocations in its code"; fi
done
readelf -hW "$tool" | grep -q 'Type: *DYN' || wrong "$tool: not position-independent"

undefined=$(readelf -sW "$archive" | grep ' UND ')
echo "$undefined" | grep -q '__stack_chk_fail' || wrong "$archive: no stack protector"
# Without optimisation there is none.
if [ "$config" != Debug ]; then
  echo "$undefined" | grep -qE '__(snprintf|fprintf|memcpy)_chk' || wrong "$archive: _FORTIFY_SOURCE is off"
fi
exit $failed
