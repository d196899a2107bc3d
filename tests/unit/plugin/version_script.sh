#!/bin/bash
# Where cmake/version.cmake finds the version: version_script.sh SOURCE_DIR CMAKE
source=$1 cmake=$2
command -v git >/dev/null || { echo "skipped: git is missing" && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
failed=0

expect() { # WHAT EXPECTED ACTUAL
  [[ $2 == "$3" ]] || { echo "$1: $3, expected $2" && failed=1; }
}
version_of() { # FOLDER
  "$cmake" -DSOURCE="$1" -DFALLBACK=0.1.0 -DOUTPUT="$folder/version.cc" -P "$source/cmake/version.cmake" 2>&1
  sed -n 's/.*"tfabric version \(.*\)".*/\1/p' "$folder/version.cc"
}
in_repository() { git -C "$folder/repository" -c user.name=a -c user.email=a@localhost "$@"; }

mkdir "$folder"/{repository,archive}
expect "neither git nor a file" 0.1.0 "$(version_of "$folder/repository")"
cp "$source"/{VERSION,.gitattributes} "$folder/repository"
expect "a file that git archive has not filled in" 0.1.0 "$(version_of "$folder/repository")"

in_repository init -q
in_repository add .
in_repository commit -q -m first
hash=$(in_repository rev-parse --short HEAD)
expect "a commit without a tag" "$hash" "$(version_of "$folder/repository")"
touch -d '2020-01-01' "$folder/version.cc"
version_of "$folder/repository" >/dev/null
expect "the file's year when the version is the same" 2020 "$(date -r "$folder/version.cc" +%Y)"
in_repository archive HEAD | tar -x -C "$folder/archive"
expect "an archive without a tag" "$hash" "$(version_of "$folder/archive")"

in_repository tag v0.2.0
expect "a tag" v0.2.0 "$(version_of "$folder/repository")"
in_repository commit -q --allow-empty -m second
hash=$(in_repository rev-parse --short HEAD)
expect "a commit after a tag" "v0.2.0-1-g$hash" "$(version_of "$folder/repository")"
in_repository archive HEAD | tar -x -C "$folder/archive"
expect "an archive" "v0.2.0-1-g$hash" "$(version_of "$folder/archive")"
echo change >>"$folder/repository/VERSION"
expect "changes that are not committed" "v0.2.0-1-g$hash-dirty" "$(version_of "$folder/repository")"
if ((EUID == 0)); then
  chown -R nobody "$folder/repository"
  expect "sources of another user" "v0.2.0-1-g$hash-dirty" "$(version_of "$folder/repository")"
fi

debian_of() { # VERSION
  printf 'include(%s)\ntfabric_debian_version(%s 0.1.0 debian)\nmessage("${debian}")\n' \
    "$source/cmake/version.cmake" "$1" >"$folder/debian.cmake"
  "$cmake" -P "$folder/debian.cmake" 2>&1
}
while read -r version debian; do
  expect "Debian's version of $version" "$debian" "$(debian_of "$version")"
done <<'END'
0.1.0 0.1.0
f98576c 0.1.0+f98576c
1234567-dirty 0.1.0+1234567.dirty
v0.2.0 0.2.0
v0.2.0-dirty 0.2.0.dirty
v0.2.0-5-gabc1234 0.2.0+5.gabc1234
v1.0-rc1 1.0~rc1
v1.0-rc1-3-gabc1234-dirty 1.0~rc1+3.gabc1234.dirty
release-7-3-gabc1234 0.1.0+release.7.3.gabc1234
END
exit $failed
