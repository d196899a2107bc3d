# Which glibc a product needs. Sourced by sh or bash.

# The oldest glibc that the products load with; see base/old_glibc/CMakeLists.txt.
oldest_glibc=2.17

# glibc_versions FILE: the versions of glibc's symbols that it needs, the newest last.
glibc_versions() {
  readelf --version-info --wide "$1" | grep -oE 'Name: GLIBC_[^ ]+' | sed 's/Name: GLIBC_//' | sort -uV
}

# check_glibc FILE...: prints what each needs. Returns 1, and says which symbols, if that is newer than the oldest glibc.
check_glibc() {
  _failed=0
  for _file in "$@"; do
    _newest=$(glibc_versions "$_file" | tail -n 1)
    if [ -z "$_newest" ]; then
      echo "$_file: no version of glibc can be read from it; expected an ELF file that is linked to libc"
      _failed=1
    elif [ "$(printf '%s\n' "$_newest" "$oldest_glibc" | sort -V | tail -n 1)" != "$oldest_glibc" ]; then
      echo "$_file needs glibc $_newest, not $oldest_glibc at most. Give each of these an older version, or a replacement," \
        "in base/old_glibc:"
      objdump -T "$_file" | grep -oE '\(?GLIBC_[^ )]+\)? +[^ ]+$' | tr -d '()' | sort -V | awk -v oldest="$oldest_glibc" \
        '{ split($1, version, /[_.]/); split(oldest, most, "."); if (version[2] > most[1] || version[3] > most[2]) print "  " $2, $1 }'
      _failed=1
    else
      echo "$_file needs glibc $_newest"
    fi
  done
  return $_failed
}
