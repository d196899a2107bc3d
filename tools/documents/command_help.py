"""What `tfabric … --help` says, as data. The manual pages take options, exit codes and sub-commands from it, so that nothing is
described twice."""

import re
import subprocess
from dataclasses import dataclass, field

# Where CLI11 begins the texts of options; behind a longer name, on the next line.
TEXT_COLUMN = 30


@dataclass
class Entry:
    """An option, a positional argument or a sub-command: "-b,--min-bytes SIZE=8", and what it is for."""
    head: str
    text: str = ""


@dataclass
class Command:
    name: str  # "tfabric perf"
    text: str = ""
    footer: str = ""
    sections: dict = field(default_factory=dict)  # "Positionals", "Options" and "Subcommands" to entries


@dataclass
class Option:
    names: list  # "-b", "--min-bytes"
    positional: bool
    value: str  # "SIZE"; empty: a flag
    bounds: str  # "from 1 to 64"
    default: str
    excludes: list
    repeatable: bool
    required: bool


def begins_text(line):
    """Whether the line of an entry has the beginning of its text, which a name of just as many columns is a blank away from."""
    if line[TEXT_COLUMN - 2:TEXT_COLUMN] == "  ":
        return True
    head = line[:TEXT_COLUMN]
    return (head.endswith(" ") and head.count("[") == head.count("]") and not head.endswith("Excludes: ") and
            not re.fullmatch(r".* Excludes:( --?[\w-]+)+", line))


def entries_of(lines):
    entries = []
    for line in lines:
        if entries and line.startswith(" " * TEXT_COLUMN):
            entries[-1].text = (entries[-1].text + " " + line.strip()).strip()
        elif entries and not entries[-1].text and re.fullmatch(r" ( --?[\w-]+)+", line):
            entries[-1].head += " " + line.strip()  # a long list of options that it excludes
        elif not re.match(r"  [-a-z]", line):
            entries[-1].text += " " + line.strip()
        elif begins_text(line):
            entries.append(Entry(line[:TEXT_COLUMN].strip(), line[TEXT_COLUMN:].strip()))
        else:
            entries.append(Entry(line.strip()))
    return entries


def read_command(tfabric, *words):
    """Asks the program `tfabric` for the help of a sub-command."""
    said = subprocess.run([tfabric, *words, "--help"], check=True, capture_output=True, encoding="utf-8").stdout
    text, _, rest = said.partition("\nUsage: ")
    command = Command(" ".join(["tfabric", *words]), " ".join(text.split()))
    rest = rest.partition("\n")[2]
    for title, body in re.findall(r"^(\w+):\n((?:  .*\n)+)", rest, re.MULTILINE):
        command.sections[title] = entries_of(body.splitlines())
    # What stands below the last section, or of a command without any, below its usage.
    command.footer = re.split(r"^\w+:\n(?:  .*\n)+", rest, flags=re.MULTILINE)[-1].strip()
    return command


def exit_codes(command):
    """"Exit codes: 0 done, 1 a step failed." as pairs; texts may have commas of their own."""
    found = re.search(r"Exit codes: (.*?)\.$", command.footer, re.DOTALL | re.MULTILINE)
    return re.findall(r"(\d+) (.*?)(?=, \d+ |$)", " ".join(found[1].split())) if found else []


def parse_option(head):
    head, _, excludes = head.partition(" Excludes: ")
    head = re.sub(r" Needs: \S+", "", head)
    required, repeatable = head.endswith(" REQUIRED"), " ..." in head
    names, _, kind = re.sub(r" \.\.\.| REQUIRED", "", head).partition(" ")
    words = re.search(r"\{([^}]*)\}", kind)
    bounds = re.search(r" in \[(\S+) - (\S+)\]", kind)
    # Of "NIC=ADDRESS" both are the value's name.
    default = re.search(r"=(?![A-Z]{2})(.*)$", kind)
    # CLI11's name of a type says nothing to users.
    value = re.match(r"(?:\[[^\]]*\]|=(?=[A-Z]{2})|[^:={\[])*", kind)[0]
    if value in ("", "TEXT") and words:
        value = words[1].replace(",", "|")
    elif value in ("INT", "UINT"):
        value = "N"
    return Option(names=names.split(","), positional=not names.startswith("-"), value=value,
                  bounds=f"from {bounds[1]} to {bounds[2]}" if bounds else "", default=default[1] if default else "",
                  excludes=excludes.split(), repeatable=repeatable, required=required)
