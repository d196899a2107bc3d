"""What a source file of the project defines outside of all classes, as far as lines tell. Files that have no name in common
can be compiled as one: tools/shell/tidy and tools/shell/unity-groups do so."""
import re

DEFINITION = re.compile(r"^(?:struct|class|enum|enum class|union|using) (\w+)(?= {| :| =)"
                        r"|^(?!using|namespace|template|TEST)\w[\w:<>,&* ]* [&*]?(\w+)(?:\(| =|{|\[|;)", re.MULTILINE)
# The second and further ones of "constexpr int kOne = 1, kTwo = 2;".
FURTHER = re.compile(r", (k[A-Z]\w*)(?= =)")


def names_in(file):
    text = file.read_text(encoding="utf-8")
    found = {name for names in DEFINITION.findall(text) for name in names if name}
    return found.union(*(FURTHER.findall(line) for line in text.splitlines() if line.startswith("constexpr ")))


class Batch:
    """Files that have no name in common."""

    def __init__(self):
        self.files, self.names = [], set()

    def takes(self, file, most):
        """Whether it is one more of at most `most`."""
        names = names_in(file)
        if len(self.files) == most or not self.names.isdisjoint(names):
            return False
        self.files.append(file)
        self.names |= names
        return True


def batches(files, most):
    """The files, in as few lists of at most `most` as it takes when each goes into the first that takes it."""
    made = []
    for file in files:
        if not any(batch.takes(file, most) for batch in made):
            made.append(Batch())
            made[-1].takes(file, most)
    return [batch.files for batch in made]
