"""What the editors `ed`, `ex` and `vim` are told to do, by an option or through their input: files that they read and
write, and programs that they start. Their own language is followed as far as such commands need it."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.words import HOLE, Word

LINE_EDITORS = frozenset(("ed", "red"))
EDITORS = frozenset(("ex", "vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim", "gvimdiff", *LINE_EDITORS))
_LONGEST = 100_000
_RANGE = regex(r"(?::|\s|[%.$*,;+-]|\d+|'\S|/(?:[^/\\]|\\.){0,300}/|\?(?:[^?\\]|\\.){0,300}\?)*", re.DOTALL)
_NAME = regex(r"([A-Za-z]+)(!?)[ \t]*")
_READS = regex(r"r(?:ead?)?|re")
_WRITES = regex(
    r"w|wr(?:i(?:te?)?)?|wq|x|xit?|exi(?:t)?|up(?:d(?:a(?:te?)?)?)?|sav(?:e(?:as?)?)?|wn(?:e(?:xt?)?)?|wa(?:ll?)?|wqa(?:ll?)?"
    r"|xa(?:ll?)?|mks(?:ession)?|mkv(?:imrc)?|mk(?:exrc)?|wu(?:ndo)?|wv(?:iminfo)?|redir?|ha(?:rdcopy)?"
)
_OPENS = regex(
    r"e|edit?|enew?|ex|f|file?|vi(?:s(?:u(?:al?)?)?)?|vie(?:w)?|sv(?:iew)?|new|vne(?:w)?|sp(?:l(?:it?)?)?|vs(?:p(?:l(?:it?)?)?)?"
    r"|tabe(?:d(?:it?)?)?|tabnew|tabf(?:ind)?|n(?:e(?:xt?)?)?|ar(?:gs?)?|arge(?:dit)?|arga(?:dd)?|bad(?:d)?|fin(?:d)?"
    r"|sf(?:ind)?|ped(?:it)?|diffs(?:plit)?|diffp(?:atch)?|dr(?:op)?"
)
_TYPES = regex(r"a(?:p(?:p(?:e(?:nd?)?)?)?)?|i(?:n(?:s(?:e(?:rt?)?)?)?)?|c(?:h(?:a(?:n(?:ge?)?)?)?)?")
"""What follows it is text, up to a line with a dot."""
_BEFORE = regex(
    r"sil(?:ent)?|noa(?:utocmd)?|nos(?:wapfile)?|kee\w*|lockmarks|verb(?:ose)?|conf(?:irm)?|hid(?:e)?|tab|vert(?:ical)?"
    r"|(?:buf|win|tab|arg|c|cf|l|lf)do|uns(?:ilent)?|sandbox|exe(?:c(?:u(?:te?)?)?)?"
)
"""What stands before another command."""
_HIDES = regex(
    r"so(?:u(?:r(?:ce?)?)?)?|ru(?:n(?:time)?)?|lua\w*|py\w*|perl?\w*|rub\w*|tcl\w*|mz\w*|te(?:rm\w*)?|sh(?:e(?:ll?)?)?"
    r"|mak(?:e)?|gr(?:ep?)?|cs(?:cope)?|packadd|ter(?:minal)?"
)
_CALLS = regex(
    r"\b(?:system(?:list)?|term_start|termopen|job_?start|writefile|readfile|readblob|delete|rename|luaeval|py\w*eval)\("
)
_ENDS = regex(r"(?:^|[|:\s])(?:x|wq|q|cq|qa|wqa|xa|xit|quit|qall|wqall|xall)!?\s*(?:$|\|)")


class EditorCommands(NamedTuple):
    """What commands would do."""

    codes: tuple[str, ...] = ()
    """Of a shell."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unknown: bool = False
    """Something that nobody can tell beforehand."""


def read_editor(text: str, *, by_line: bool = False) -> EditorCommands:
    """What an editor is told; `by_line`: by the letters of `ed`.

    >>> read_editor("1,3w! notes.txt\\n%!sort | uniq\\nq")
    EditorCommands(codes=('sort | uniq',), reads=(), writes=('notes.txt',), unknown=False)
    """
    if len(text) > _LONGEST:
        return EditorCommands(unknown=True)
    reader = _Reader(by_line)
    for line in text.splitlines():
        reader.line(line)
    return EditorCommands(tuple(reader.codes), tuple(reader.reads), tuple(reader.writes), reader.unknown)


def command_texts(arguments: list[Word]) -> list[str]:
    """The commands among the words of an editor: `-c`, `--cmd`, `+`."""
    told = [word.value[1:] for word in arguments if word.value.startswith("+")]
    told += [word.value[2:] for word in arguments if re.match(r"-c[^-]", word.value)]
    for before, word in pairwise(arguments):
        if before.value == "--cmd" or re.fullmatch(r"-[a-zA-Z]*c", before.value):
            told.append(word.value)
    return told


def obeys_input(program: str, arguments: list[Word]) -> bool:
    """Whether an editor takes commands from its input, and not only text."""
    if any(_ENDS.search(one) for one in command_texts(arguments)):
        return False  # it has ended before
    return program in ("ex", *LINE_EDITORS) or any(
        re.fullmatch(r"-[A-Zabd-z]*[eE][A-Za-z]*", one.value) for one in arguments
    )


class _Reader:
    def __init__(self, by_line: bool) -> None:
        self.by_line = by_line
        self.codes: list[str] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.opened: list[str] = []
        """What a command that writes without a name writes to, besides what the editor was started with."""
        self.unknown = False
        self.types = False

    def line(self, line: str) -> None:
        if self.types:
            self.types = line.strip() != "."
            return
        todo, depth = line, 0
        while todo.strip() and depth < 100:
            todo, depth = self._command(todo), depth + 1

    def _command(self, text: str) -> str:
        """One command; what is left behind it comes back."""
        ranged = _RANGE.match(text)
        text = text[ranged.end() :] if ranged is not None else text
        if text.startswith("!"):
            self.codes.append(text[1:].lstrip("!"))
            return ""
        named = re.match(r"([A-Za-z])(!?)[ \t]*", text) if self.by_line else _NAME.match(text)
        if named is None:
            return ""
        name, rest = named[1], text[named.end() :]
        if name in ("g", "v", "global", "vglobal", "G", "V"):
            return _behind(rest, 1)
        if not self.by_line and _BEFORE.fullmatch(name):
            return re.sub(r"['\"]", "", rest) if name.startswith("exe") else rest
        if name[0] in "s&~" and rest[:1] and not rest[0].isalnum() and rest[0] not in '|" ':
            return _behind(rest, 2).partition("|")[2]
        if _TYPES.fullmatch(name):
            self.types = "|" not in rest
            return ""
        return self._take_command(name, named[2], rest)

    def _take_command(self, name: str, bang: str, rest: str) -> str:
        if _CALLS.search(rest) or (not self.by_line and _HIDES.fullmatch(name)):
            self.unknown = True
            return ""
        if not self.by_line and name.startswith("norm"):
            self.unknown |= ":" in rest or "!" in rest
            return ""
        reads, writes = _READS.fullmatch(name), _WRITES.fullmatch(name) or name == "W"
        if (reads or writes or _OPENS.fullmatch(name)) and (rest.startswith("!") or (bang and rest and self.by_line)):
            self.codes.append(rest.lstrip("!"))
            return ""
        file, bar, left = (rest, "", "") if self.by_line else rest.partition("|")
        files = list(_files(file))
        self.unknown |= "`" in file
        if reads:
            self.reads += files
        elif writes:
            self.writes += files or self.opened
        elif _OPENS.fullmatch(name) or name == "E":
            self.reads += files
            self.opened += files
        return left if bar else ""


def _behind(rest: str, count: int) -> str:
    """What stands behind texts between signs: `/pattern/replacement/flags`."""
    sign, at = rest[:1], 1
    while count and at < len(rest):
        count -= rest[at] == sign
        at += 2 if rest[at] == "\\" else 1
    return rest[at:]


def _files(text: str) -> Iterator[str]:
    """The names of files behind a command, with a variable as text that nobody knows."""
    for word in re.sub(r"^\s*(?:>>?|=>)\s*", "", text).replace("\\ ", "\ue001").split():
        if not word.startswith("++"):
            yield re.sub(r"\$\w+|\$\{\w+\}", HOLE, word.replace("\ue001", " ").replace("\\", ""))
