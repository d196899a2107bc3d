"""Writes the manual pages: one for `tfabric`, one for each of its sub-commands, and tfabric.toml(5), each also packed.
   manual.py TFABRIC DOCS OUTPUT
Options and exit codes are what the program TFABRIC says in its help, the rest is from the pages in the folder DOCS. All of it
becomes Markdown, which lowdown makes a manual page of."""

import gzip
import pathlib
import re
import subprocess
import sys

from command_help import exit_codes, parse_option, read_command

# What a sub-command's page has of its document: the beginning, and these sections.
ORIGINS = {
    "check": ("check.md", ["Two hosts", "For scripts"]),
    "dump": ("night-duty.md", ["What was on the wire"]),
    "fault": ("rehearsal.md", ["In a running job"]),
    "info": ("tfabric-info.md", ["All sub-commands"]),
    "perf": ("perf.md", ["Control connections"]),
    "setup": ("setup.md", ["Which NICs", "What it does", "Files", "Undo", "After a reboot", "Containers"]),
    "stat": ("night-duty.md", ["A first look", "From symptom to cause", "What the log says of a hang", "Comms and flows",
                               "What it sees, and what it costs", "What is slow", "Over the network", "For programs"]),
}


def sentence(text):
    """The text with a capital in front, unless it begins with the project's own name, and a full stop at the end."""
    text = text if text.startswith("tfabric") else text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def term(name, text):
    return f"{name}\n: {text}\n\n"


def row_as_term(names, row):
    """First what a name says of its column, such as "default: auto"; then the text."""
    facts = "; ".join(f"{name}: {cell}" for name, cell in zip(names[1:], row[1:]) if name and cell)
    text = " ".join(cell for name, cell in zip(names[1:], row[1:]) if not name and cell)
    # What is no name already is shown like one.
    return term(row[0] if re.search("[`*]", row[0]) else f"**{row[0]}**", ". ".join(part for part in (facts, text) if part))


def tables_as_terms(lines, leave_out):
    """A terminal is too narrow for tables. Those whose first column has a name of `leave_out` are left out."""
    names = None
    for line in lines:
        if not line.startswith("|"):
            names = None
            yield line
            continue
        row = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if names is None:
            names = row
        elif not all(re.fullmatch("[-:]+", cell) for cell in row) and names[0] not in leave_out:
            yield row_as_term(names, row)


class Document:
    """A page of docs/, in sections: those below headings of level 2, and "" for what stands before them."""

    def __init__(self, path, leave_out=()):
        # A link among the pages becomes its text.
        text = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", path.read_text(encoding="utf-8"))
        self.name, self.sections = path.name, {"": []}
        title, fenced = "", False
        for line in tables_as_terms(text.splitlines(), leave_out):
            fenced ^= line.startswith("```")
            if not fenced and line.startswith("## "):
                title = line[3:].replace("`", "")
                self.sections[title] = []
            elif fenced or not line.startswith("# "):
                # What was below a heading of level 2 is now below one of level 1.
                self.sections[title].append(line if fenced else re.sub("^##(?=#)", "#", line))

    def section(self, title):
        if title not in self.sections:
            sys.exit(f"manual.py: docs/{self.name} has no section \"{title}\"")
        return "\n".join(self.sections[title]) + "\n"


def options_of(command):
    text, values = "", {}
    for entry in command.sections.get("Positionals", []) + command.sections["Options"]:
        option = parse_option(entry.head)
        values[option.names[0]] = option.value
        parts = [sentence(entry.text)]
        if option.bounds:
            parts.append(sentence(option.bounds))
        if option.default:
            parts.append(f"Default: {option.default}.")
        if option.excludes:
            # A positional argument is known by its value.
            parts.append(f"Not together with {', '.join(name if name.startswith('-') else values[name] for name in option.excludes)}.")
        heads = [f"**{name}**" for name in option.names if not option.positional]
        text += term(", ".join(heads) + f" *{option.value}*" * bool(option.value), " ".join(parts))
    return text


def synopsis(command):
    text = f"**{command.name}** *[OPTION]...*"
    for option in (parse_option(entry.head) for entry in command.sections.get("Positionals", [])):
        word = option.value + "..." * option.repeatable
        text += f" *{word}*" if option.required else f" *[{word}]*"
    return text + "\n\n"


def name_line(name, text):
    """"tfabric: say what is wrong. Changes nothing" gives "say what is wrong"."""
    text = text.removeprefix("tfabric: ").split(". ")[0]
    return f"# NAME\n\n{name} - {text[0].lower()}{text[1:]}\n\n"


def see_also(own, document):
    pages = [f"**tfabric-{name}**(1)" for name in ORIGINS] + ["**tfabric**(1)", "**tfabric.toml**(5)"]
    return ("# SEE ALSO\n\n" + ", ".join(sorted(page for page in pages if not page.startswith(f"**{own}**"))) +
            f"\n\nThe documents that are installed with tfabric, in */usr/share/doc/tfabric* or the like; **{document}** there.\n")


def exit_status(command):
    return "# EXIT STATUS\n\n" + "".join(term(f"**{code}**", sentence(text)) for code, text in exit_codes(command))


def command_page(tfabric, name, docs):
    file, titles = ORIGINS[name]
    document = Document(docs / file, leave_out=("exit code", "exit status", "option"))
    command = read_command(tfabric, name)
    below = [read_command(tfabric, name, entry.head) for entry in command.sections.get("Subcommands", [])]
    text = name_line(f"tfabric-{name}", command.text) + "# SYNOPSIS\n\n" + "".join(map(synopsis, [command, *below]))
    text += "# DESCRIPTION\n\n" + document.section("") + "\n# OPTIONS\n\n" + options_of(command)
    for each in below:
        text += f"## {each.name}\n\n{sentence(each.text)}\n\n" + options_of(each)
    text += exit_status(command)
    for title in titles:
        text += f"# {title.upper()}\n\n" + document.section(title)
    return text + see_also(f"tfabric-{name}", file)


def overview_page(tfabric, docs):
    command = read_command(tfabric)
    text = name_line("tfabric", command.text) + "# SYNOPSIS\n\n**tfabric** *SUBCOMMAND* *[OPTION]...*\n\n"
    text += ("# DESCRIPTION\n\ntfabric is a network plugin for NCCL: `libnccl-net.so`, which NCCL loads into each rank of a job. This "
             "program prepares a host for it, checks the host, shows what NCCL would see, and measures.\n\n")
    text += command.footer.partition("\n")[2] + "\n\n# SUB-COMMANDS\n\n"
    text += "".join(term(f"**{entry.head}**", sentence(entry.text)) for entry in command.sections["Subcommands"])
    text += "# OPTIONS\n\n" + options_of(command) + exit_status(command)
    text += "# ENVIRONMENT\n\n" + term("**TFABRIC_CONFIG**", "The configuration file, instead of those below.")
    text += term("**TFABRIC_***KEY*", "Each key of the configuration has a variable: tfabric.toml(5).") + "# FILES\n\n"
    found = Document(docs / "configuration.md").section("Where the file is looked for")
    for file in re.findall("^[0-9]+[.] `(/.*)`$", found, re.MULTILINE):
        text += term(f"*{file}*", "The configuration; the first of these files that exists is used.")
    return text + see_also("tfabric", "administrator.md")


def configuration_page(docs):
    document = Document(docs / "configuration.md")
    text = "# NAME\n\ntfabric.toml - configuration of tfabric, a network plugin for NCCL\n\n# DESCRIPTION\n\n"
    text += document.section("")
    text += "".join(f"# {title.upper()}\n\n" + document.section(title) for title in document.sections if title)
    return text + see_also("tfabric.toml", "configuration.md")


def as_roff(markdown):
    made = subprocess.run(["lowdown", "-tman", "--out-no-smarty", "--parse-no-metadata", "--parse-no-super", "--parse-no-intraemph"], input=markdown, check=True,
                          capture_output=True, encoding="utf-8").stdout
    # Of a term and its text lowdown makes paragraphs at a distance of -1, which stand below each other however short the term is.
    made = re.sub(r'\.LP\n(.*)\n(?:\.if . \\\n\.sp -.*\n){2}\.IP "" 5n\n', r".TP\n\1\n", made)
    made = re.sub(r'^\.IP "([^ "]+) *".*$', r'.IP "\1" 4', made, flags=re.MULTILINE)
    # Terminals have no font for code, and behind .EE groff hyphenates again.
    made = made.replace(r"\fC", r"\fB").replace(".EX\n", ".RS 4\n.nf\n").replace(".EE\n", ".fi\n.RE\n")
    # What is to be searched for and copied stays as it is typed; troff would make a hyphen and a quotation mark of it.
    made = re.sub(r"^(?!\.).*$", lambda line: re.sub(r"(?<!\\)-", r"\\-", line[0]).replace("'", r"\(aq"), made, flags=re.MULTILINE)
    return re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", made)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: manual.py TFABRIC DOCS OUTPUT")
    tfabric, docs, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    version = subprocess.run([tfabric, "--version"], check=True, capture_output=True, encoding="utf-8").stdout.strip()
    pages = {f"tfabric-{name}.1": command_page(tfabric, name, docs) for name in ORIGINS}
    pages |= {"tfabric.1": overview_page(tfabric, docs), "tfabric.toml.5": configuration_page(docs)}
    for old in output.glob("*.[15]*"):
        old.unlink()
    for file, markdown in pages.items():
        name, _, section = file.rpartition(".")
        # No date: the version says how old it is. No hyphenation, so that names are found; no wide gaps beside long names.
        text = f'.TH "{name.upper()}" {section} "" "tfabric {version}" "tfabric"\n.nh\n.ad l\n'.replace("-", r"\-") + as_roff(markdown)
        (output / file).write_text(text)
        # Without name and time, so that two builds are equal.
        (output / f"{file}.gz").write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
