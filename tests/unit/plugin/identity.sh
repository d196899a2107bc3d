#!/bin/bash
# What the products say of themselves, and what they must not contain: identity.sh LIBRARY TOOL SOURCE_DIR [KIND_OF_BUILD]
library=$1 tool=$2 source=$3 kind=$4
failed=0
wrong() {
  echo "$*"
  failed=1
}

version=$("$tool" --version)
[[ -n $version ]] || wrong "tfabric --version prints nothing"
[[ $("$tool" -V) == "$version" ]] || wrong "tfabric -V prints $("$tool" -V), not $version"
# The debugging information may have it once more.
found=$(strings -a "$tool" | grep '^tfabric version ' | sort -u)
[[ $found == "tfabric version $version" ]] || wrong "$tool: found \"$found\", expected \"tfabric version $version\""
# The library may be of another build than the tool, if only one of them has been built since.
library_version=$(strings -a "$library" | sed -n 's/^tfabric version //p' | sort -u)
[[ -n $library_version ]] || wrong "$library: found no string with its version"

# The configuration is wrong, so nothing on this host is touched.
export TFABRIC_TRANSPORT=none
text=$("$tool" info)
[[ $(grep -m 1 '^Version: ' <<<"$text") == "Version: $version" ]] || wrong "tfabric info does not have the version: $text"
[[ $(grep -m 1 '^Log: ' <<<"$text") == "Log: NET/tfabric: version $library_version, called by NCCL's table v12" ]] ||
  wrong "the plugin's first line is not its version: $text"
for command in info check 'setup --dry-run'; do
  # The keys of the top level have two spaces before them.
  json=$("$tool" $command --json 2>/dev/null)
  [[ $(grep '^  "version": ' <<<"$json") == "  \"version\": \"$version\""* ]] ||
    wrong "tfabric $command --json does not have the version: $json"
done

if [[ -n $kind ]]; then
  echo "paths of the builder are not looked for in a build with $kind"
else
  # Not as the end of another path: sources may lie in /tfabric, and /usr/local/tfabric is the default configuration's.
  pattern="(^|[^A-Za-z0-9_.-])$(sed 's/[^A-Za-z0-9/_-]/\\&/g' <<<"$source")(/|\$)"
  for product in "$library" "$tool"; do
    paths=$(strings -a "$product" | grep -E "$pattern" | head -n 5)
    [[ -z $paths ]] || wrong "$product names the folder in which it was built: $paths"
  done
fi
exit $failed
