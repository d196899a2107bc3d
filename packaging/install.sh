#!/bin/sh
# Puts the files of this folder where NCCL and the shell find them: see --help.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--uninstall] [--help]

Copies bin/tfabric, lib/libnccl-net.so, the documentation, manual pages and completion for bash and zsh to DIR (/usr/local). For
every job to use it, DIR/lib must be a folder of the dynamic linker (/etc/ld.so.conf) or of LD_LIBRARY_PATH. Where it is one of
LD_LIBRARY_PATH, NCCL_NET_PLUGIN=tfabric finds it as well, by a second name.

  --uninstall  remove what was installed there
END
}

prefix=/usr/local uninstall=false
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -gt 1 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 2; }
      prefix=$2
      shift
      ;;
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
  rm -f "$prefix/bin/tfabric" "$prefix/lib/libnccl-net.so" "$prefix/lib/libnccl-net-tfabric.so"
  remove_shared
  refresh_cache
  echo "tfabric is gone from $prefix; NCCL uses its own network"
  exit
fi
for folder in bin lib share; do mkdir -p "$prefix/$folder"; done
# A new file, not new contents: a job that uses the old one keeps it.
for file in bin/tfabric lib/libnccl-net.so; do
  cp "$here/$file" "$prefix/$file.new"
  mv -f "$prefix/$file.new" "$prefix/$file"
done
ln -sf libnccl-net.so "$prefix/lib/libnccl-net-tfabric.so"
remove_shared
cp -R "$here/share/." "$prefix/share/"
refresh_cache
"$prefix/bin/tfabric" --version
echo "installed to $prefix; \`$prefix/bin/tfabric perf --local\` tries it, and share/doc/tfabric/administrator.md goes on from here"
