"""Renders the chart of packaging/kubernetes as helm does, as far as its templates go.

Known are values, `quote`, `toYaml X | nindent N`, `add`, `mul` and `if VALUE` … `end` over whole lines. Everything else is an error,
as is a value that values.yaml does not have.
"""
import re

import yaml

ACTION = re.compile(r"(\n[ \t]*)?\{\{(-)? (.*?) \}\}")
WHOLE_IF = re.compile(r"\A\{\{- if (\S+) \}\}\n(.*)\{\{- end \}\}\n\Z", re.DOTALL)


class Wrong(Exception):
    """The chart or a manifest is wrong; the text says how."""


def value_of(path, scope):
    """What `.Values.a.b` means."""
    if re.fullmatch(r"\d+", path):
        return int(path)
    names = path.split(".")
    if names[0] != "" or len(names) < 3:
        raise Wrong(f"`{path}` is not a value")
    found = scope
    for name in names[1:]:
        if not isinstance(found, dict) or name not in found:
            raise Wrong(f"`{path}` is not in values.yaml")
        found = found[name]
    return found


def text_of(action, scope):
    """What an action puts in its place."""
    first, *filters = [each.split() for each in action.split(" | ")]
    if first[0] == "toYaml" and len(first) == 2:
        result = yaml.safe_dump(value_of(first[1], scope), default_flow_style=False, sort_keys=False).rstrip("\n")
    elif first[0] in ("add", "mul") and len(first) == 3:
        one, other = (value_of(each, scope) for each in first[1:])
        result = one + other if first[0] == "add" else one * other
    elif len(first) == 1:
        result = value_of(first[0], scope)
        if isinstance(result, (dict, list)):
            raise Wrong(f"`{action}` is a list or a map, and needs toYaml")
    else:
        raise Wrong(f"`{action}` is not known to this test")
    for name, *arguments in filters:
        if name == "quote" and not arguments:
            result = f'"{result}"'
        elif name == "nindent" and len(arguments) == 1:
            blanks = " " * int(arguments[0])
            result = "\n" + "\n".join(blanks + line for line in str(result).split("\n"))
        else:
            raise Wrong(f"`{name}` is not known to this test")
    return str(result).lower() if isinstance(result, bool) else str(result)


def render(text, scope):
    """A template's text with its actions carried out; empty if its condition is false."""
    if whole := WHOLE_IF.match(text):
        if not value_of(whole.group(1), scope):
            return ""
        text = whole.group(2)

    def put(match):
        before, trim, action = match.groups()
        return ("" if trim else before or "") + text_of(action, scope)

    done = ACTION.sub(put, text)
    if "{{" in done or "}}" in done:
        raise Wrong(f"an action was not understood: {done[done.find('{{'):][:80]}")
    return done
