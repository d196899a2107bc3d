# Completion for tfabric by bash, of what `tfabric … --help` lists. It needs nothing of the package bash-completion.

# _tfabric_value OPTION: sets `value` to what the help calls the value of the option; empty: it is a flag, or there is none.
_tfabric_value() {
  value=''
  if [[ $help =~ $'\n  '(-.,)?"$1"(,--[a-z-]+)?' '([A-Z{][^ ]*) && ${BASH_REMATCH[3]} != Excludes: ]]; then
    value=${BASH_REMATCH[3]}
  fi
}

# _tfabric_entries TITLE: what a section of a help lists.
_tfabric_entries() { sed -n "/^$1:/,/^\$/s/^  \([-a-z].*\)/\1/p"; }

# _tfabric_propose VALUE: proposes values for `current`.
_tfabric_propose() {
  local words=${1#*\{}
  case $1 in
    *\{*\}*) words=${words%%\}*} && compgen -W "${words//,/ }" -- "$current" ;;
    PATH | FILE) compgen -f -- "$current" ;;
    HOST) compgen -A hostname -- "$current" ;;
    GROUP) compgen -g -- "$current" ;;
    NIC) compgen -W "$(cd /sys/class/net && dirname -- */device)" -- "$current" ;;
    SUBCOMMAND) compgen -W "$("${path[0]}" --help | _tfabric_entries Subcommands | cut -d ' ' -f 1)" -- "$current" ;;
  esac
}

_tfabric() {
  local line=${COMP_LINE:0:COMP_POINT} value='' kept='' whole current word help i
  local -a typed path
  read -ra typed <<<"$line"
  [[ $line != *[[:blank:]] ]] || typed+=('')
  path=("${typed[0]/#\~/$HOME}") whole=${typed[${#typed[@]} - 1]} current=$whole
  help=$("${path[@]}" --help 2>/dev/null)
  for word in "${typed[@]:1:${#typed[@]}-2}"; do
    if [[ -n $value ]]; then
      value=''  # of the option before
    elif [[ $word == -* ]]; then
      _tfabric_value "$word"
    elif _tfabric_entries Subcommands <<<"$help" | grep -q "^$word "; then
      path+=("$word")
      help=$("${path[@]}" --help 2>/dev/null)
    fi
  done
  if [[ -z $value && $whole == --*=* ]]; then
    _tfabric_value "${whole%%=*}"
    [[ -z $value ]] || kept=${whole%%=*}= current=${whole#*=}
  fi
  if [[ -n $value ]]; then
    mapfile -t COMPREPLY < <(_tfabric_propose "$value")
  elif [[ $whole == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tfabric_entries Options <<<"$help" | grep -oE '^(-.,)?-[-a-z]*' | tr ',' ' ')" -- "$current")
  else
    value=$(_tfabric_entries Positionals <<<"$help" | cut -d ' ' -f 2)
    mapfile -t COMPREPLY < <(
      _tfabric_propose "$value"
      compgen -W "$(_tfabric_entries Subcommands <<<"$help" | cut -d ' ' -f 1)" -- "$current"
    )
  fi
  [[ $value != PATH && $value != FILE ]] || compopt -o filenames 2>/dev/null
  # Readline replaces only what stands behind the last of its own word breaks.
  local breaks=${COMP_WORDBREAKS//[^=:]/} before=''
  [[ -z $breaks ]] || before=${whole%"${whole##*[$breaks]}"}
  for i in "${!COMPREPLY[@]}"; do
    word=$kept${COMPREPLY[i]}
    COMPREPLY[i]=${word#"$before"}
  done
}

complete -F _tfabric tfabric
