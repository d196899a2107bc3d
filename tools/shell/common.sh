# Functions that the scripts in tools/ share. Sourced by bash, with `root` set to the source folder.

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# In a container the sources may belong to another user.
in_git() { git -C "$root" -c safe.directory="$root" "$@"; }

# Prints the packages of the sections named in tools/dependencies.txt.
dependencies() {
  local section='' line wanted
  while read -r line; do
    case $line in
      '# ['*']') section=${line#'# ['} section=${section%']'} ;;
      '' | '#'*) ;;
      *) for wanted in "$@"; do [[ $wanted == "$section" ]] && echo "$line"; done ;;
    esac
  done <"$root/tools/dependencies.txt"
}

# Installs what is missing of the sections named; does nothing, and needs no rights, if nothing is.
install_dependencies() {
  local package missing=()
  command -v dpkg-query >/dev/null || die "this is not Debian (no dpkg-query): install what tools/dependencies.txt lists and use --no-install"
  for package in $(dependencies "$@"); do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing packages: ${missing[*]}. Install them as root, then run this again"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get -qq update || die "apt-get update failed: see above"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${missing[@]}" \
    >/dev/null || die "apt-get could not install ${missing[*]}: see above"
}

# configure PRESET: into build/PRESET; ccache is used where there is one.
configure() {
  local preset=$1 launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  (cd "$root" && cmake --preset "$preset" "${launcher[@]}" >"$root/build/$preset.configure.log" 2>&1) || {
    tail -n 30 "$root/build/$preset.configure.log" >&2
    die "cmake --preset $preset failed"
  }
}

# configure_and_build PRESET [TARGET...]: progress goes to the terminal.
configure_and_build() {
  local preset=$1
  shift
  # ccache is to compare the contents of precompiled headers and what goes into them, not their times.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  # The compiler names what a file includes: a file that is not in the cache is not preprocessed twice.
  export CCACHE_DEPEND=1
  say "building: preset $preset${*:+ ($*)}"
  configure "$preset"
  cmake --build "$root/build/$preset" ${1:+--target "$@"} || die "the build of preset $preset failed"
}
