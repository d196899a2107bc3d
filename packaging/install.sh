#!/bin/sh
# Puts the files of this folder where NCCL and the shell find them: see --help.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--rccl] [--uninstall] [--help]

Copies bin/tfabric, lib/libnccl-net.so, the documentation, manual pages and completion for bash and zsh to DIR (/usr/local). For
every job to use it, DIR/lib must be a folder of the dynamic linker (/etc/ld.so.conf) or of LD_LIBRARY_PATH. There
NCCL_NET_PLUGIN=tfabric finds it as well, by further names for NCCL and RCCL, and AWS Neuron by its own.

  --rccl       also as librccl-net.so, so that RCCL uses it without NCCL_NET_PLUGIN; another file of this name stays
  --uninstall  remove what was installed there
END
}

prefix=/usr/local uninstall=false rccl=false
links="libnccl-net-tfabric.so librccl-net-tfabric.so"
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -gt 1 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 2; }
      prefix=$2
      shift
      ;;
    --rccl) rccl=true ;;
    --uninstall) uninstall=true ;;
    -h | --help) usage; exit ;;
    *) usage >&2; echo "install.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
here=$(cd "$(dirname "$0")" && pwd)

# The linker's cache is the administrator's; without the right to it, LD_LIBRARY_PATH works.
refresh_cache() {
  if [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi
}

# What lies below share/: the folder of the documents, and files in folders of the system.
files_of_share() { (cd "$here/share" && find . -type f ! -path './doc/*'); }
remove_shared() {
  rm -rf "$prefix/share/doc/tfabric"
  files_of_share | while read -r file; do rm -f "$prefix/share/$file"; done
}

if $uninstall; then
  rm -f "$prefix/bin/tfabric" "$prefix/lib/libnccl-net.so" "$prefix/lib/libnccom-net.so"
  for link in $links librccl-net.so; do
    [ "$(readlink "$prefix/lib/$link")" != libnccl-net.so ] || rm "$prefix/lib/$link"
  done
  remove_shared
  refresh_cache
  echo "tfabric is gone from $prefix; NCCL uses its own network"
  exit
fi
for folder in bin lib share; do mkdir -p "$prefix/$folder"; done
# A new file, not new contents: a job that uses the old one keeps it.
for file in bin/tfabric lib/libnccl-net.so lib/libnccom-net.so; do
  cp "$here/$file" "$prefix/$file.new"
  mv -f "$prefix/$file.new" "$prefix/$file"
done
for link in $links; do ln -sf libnccl-net.so "$prefix/lib/$link"; done
if $rccl && ! ln -s libnccl-net.so "$prefix/lib/librccl-net.so" 2>/dev/null &&
  [ "$(readlink "$prefix/lib/librccl-net.so")" != libnccl-net.so ]; then
  echo "install.sh: $prefix/lib/librccl-net.so is there already, and stays: RCCL uses tfabric with NCCL_NET_PLUGIN=tfabric" >&2
fi
remove_shared
cp -R "$here/share/." "$prefix/share/"
refresh_cache
"$prefix/bin/tfabric" --version
echo "installed to $prefix; \`$prefix/bin/tfabric perf --local\` tries it, and share/doc/tfabric/administrator.md goes on from here"
