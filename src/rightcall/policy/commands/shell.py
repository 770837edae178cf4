"""Reads a command line as `sh` and `bash` do, as far as needed to say which programs it would start, and how.

Nothing is kept of the structure but what a judgement needs: every simple command, in order, with the folder it runs in,
what is piped into it, and where its output goes. Commands in substitutions, groups, loops, branches and functions count
like all others: whether they run is not known before.
"""

import os
import re
from typing import NamedTuple

from msgspec import Struct

from rightcall.policy.commands.paths import search_starts, searched_for
from rightcall.policy.commands.places import names_in
from rightcall.policy.commands.scanner import ReadingBudget, Values, WordScanner, decode_escapes
from rightcall.policy.commands.words import (
    CUT,
    HOLE,
    KEPT,
    MOST_WORDS,
    WILD,
    Pieces,
    UnreadableLine,
    Word,
    could_be,
)

_REDIRECT = re.compile(r"(\d{0,9}|\{\w+\})(<<<|<<-|<<|<>|<&|>&|>>|>\||&>>|&>|<|>)")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]=]*\])?\+?=", re.DOTALL)
_FUNCTION = re.compile(r"[ \t]*\(\s*\)")
_MOST_FOLDERS = 8
_OPENING = frozenset(("if", "while", "until", "for", "case", "select", "{", "function", "[[", "time", "!", "coproc"))
_CLOSING = frozenset(("then", "do", "done", "fi", "elif", "else", "esac", "}", "in"))


class Redirect(NamedTuple):
    """`> file`. `text` is what stands in a here-document or here-string."""

    operator: str
    target: Word
    text: str | None = None

    @property
    def writes(self) -> bool:
        return ">" in self.operator


class Simple(Struct):
    """One command with its words. Filled while it is read, not changed afterwards."""

    words: list[Word]
    assigned: list[tuple[str, Word]]
    redirects: list[Redirect]
    folders: tuple[str, ...]
    """Where it may run: mostly one folder."""
    depth: int = 0
    fed: tuple[int, ...] = ()
    """The commands whose output it reads, as positions in the list of all."""
    ways: tuple[list[Word], ...] = ()
    """Its words for each value that a loop gives to its variable, where `words` has all values beside each other."""
    called: bool = False
    """It stands in a function that is called later, where it is read again with the words that are given."""
    opened: bool = False
    """The text that it runs in this very shell has been read in its place."""
    holds: range = range(0)
    """Of the redirects of a whole group: the commands in it, as positions in the list of all."""


OPENED = frozenset(("eval", "source", "."))
STDIN = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


class _Here(NamedTuple):
    command: Simple
    at: int
    ending: str
    expands: bool
    tabs: bool


class LineReader(WordScanner):
    """One text. `commands` may hold those of the text around it."""

    def __init__(
        self, text: str, home: str, folders: tuple[str, ...], variables: dict[str, Values | None],
        budget: ReadingBudget, depth: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(text, home, variables, budget, depth)
        self.folders: tuple[str, ...] = folders
        self.commands: list[Simple] = []
        self.waiting: list[_Here] = []
        self.functions: dict[str, tuple[str, range]] = {}
        self.bombs = False

    def read(self) -> None:
        """All of it. Raises UnreadableLine."""
        self.sequence(())
        if self.at < self.end:
            raise UnreadableLine(f"`{self.text[self.at]}` is not expected there")
        if self.waiting:
            self._bodies()

    def _reader_inside(self, text: str, variables: dict[str, Values | None]) -> "LineReader":
        """For a text within this one, whose commands join those of this one."""
        inside = LineReader(text, self.home, self.folders, variables, self.budget, self.depth + 1)
        inside.commands = self.commands
        return inside

    # ── lists ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def sequence(self, closing: tuple[str, ...]) -> None:
        """Commands up to one of the words or signs that close a group; that one is left where it is."""
        self.depth += 1
        if self.depth > 60:
            raise UnreadableLine("it is nested too deeply")
        while True:
            self.blanks(lines=True)
            if self.at >= self.end or self._closes(closing):
                break
            before = self.at
            self.chain(closing)
            self._separator()
            if self.at == before:
                break
        self.depth -= 1

    def _separator(self) -> None:
        self.blanks()
        if self.starts(";;") or self.starts(";&"):
            return
        if self.peek() in (";", "&"):
            self.at += 1

    def _closes(self, closing: tuple[str, ...]) -> bool:
        for one in closing:
            if self.starts(one):
                after = self.text[self.at + len(one) : self.at + len(one) + 1]
                if not one[0].isalpha() or not after or after in " \t\r\n;&|<>()":
                    return True
        return False

    def chain(self, closing: tuple[str, ...]) -> None:
        """`a && b || c`: where the right side may not run, both folders count afterwards."""
        self.pipeline(closing)
        while True:
            self.blanks()
            if not (self.starts("&&") or self.starts("||")):
                break
            either = self.starts("||")
            self.at += 2
            self.blanks(lines=True)
            before = self.folders
            self.pipeline(closing)
            if either:
                self.folders = _either(before, self.folders)
        self.blanks()

    def pipeline(self, closing: tuple[str, ...]) -> None:
        """`a | b | c`; of several, each has a folder and variables of its own."""
        before, variables = self.folders, self.variables
        fed: tuple[int, ...] = ()
        stages = 0
        while True:
            first = len(self.commands)
            self.command(closing, fed)
            for one in self.commands[first:]:
                one.fed = one.fed or fed
            self.blanks()
            if self.peek() != "|" or self.starts("||"):
                break
            self.at += 2 if self.starts("|&") else 1
            if stages == 0:
                self.variables = dict(variables)
            stages += 1
            fed = (*fed, *range(first, len(self.commands)))[:200]
            self.folders = before
            self.blanks(lines=True)
        if stages:
            self.folders, self.variables = before, variables
        elif self.peek() == "&" and not self.starts("&&"):
            self.folders = before

    # ── commands ───────────────────────────────────────────────────────────────────────────────────────────────────

    def command(self, closing: tuple[str, ...], fed: tuple[int, ...] = ()) -> None:
        self.blanks()
        first = len(self.commands)
        if self.peek() == "(":
            self.at += 1
            if not (self.peek() == "(" and self._double()):
                self.group(")", fed)
            self._redirects_behind(first)
            return
        keyword = self._keyword()
        if keyword in _CLOSING and keyword not in closing and keyword != "in":
            raise UnreadableLine(f"`{keyword}` is not expected there")
        if keyword in _OPENING:
            self._compound(keyword, fed)
            return
        if keyword and (found := _FUNCTION.match(self.text, self.at + len(keyword))):
            self.at = found.end()
            self._function(keyword)
            return
        self.simple(fed)

    def _keyword(self) -> str:
        """The word here if nothing in it is quoted; it is not taken."""
        at = self.at
        while at < self.end and self.text[at] not in " \t\r\n;&|<>()'\"\\$`":
            at += 1
        if at < self.end and self.text[at] in "'\"\\$`":
            return ""
        return self.text[self.at : at]

    def _take(self, *words: str) -> str:
        """One of these has to come now."""
        self.blanks(lines=True)
        for word in words:
            if self._closes((word,)):
                self.at += len(word)
                return word
        raise UnreadableLine(f"`{words[0]}` is missing")

    def group(self, closing: str, fed: tuple[int, ...] = ()) -> None:
        """Up to a closing parenthesis or brace; a subshell's folder and variables end with it."""
        folders, variables = self.folders, self.variables
        if closing == ")":
            self.variables = dict(variables)
        first = len(self.commands)
        self.sequence((closing,))
        if not self.starts(closing):
            raise UnreadableLine(f"`{closing}` is missing")
        self.at += 1
        for one in self.commands[first:]:
            one.fed = one.fed or fed
        if closing == ")":
            self.folders, self.variables = folders, variables

    def _double(self) -> bool:
        """`((…))`; false where it is two subshells."""
        before = self.at
        self.at += 1
        if self.arithmetic(Pieces()):
            return True
        self.budget.read(self.text[before : self.at])
        self.at = before
        return False

    def _compound(self, keyword: str, fed: tuple[int, ...]) -> None:
        self.at += len(keyword)
        first = len(self.commands)
        if keyword == "{":
            self.group("}", fed)
        elif keyword in ("time", "!", "coproc"):
            self.blanks()
            if keyword == "time" and self._closes(("-p",)):
                self.at += 2
            self.command((), fed)
            return
        elif keyword == "function":
            self._named_function()
            return
        elif keyword == "[[":
            self._test()
        else:
            before = self.folders
            {"if": self._if, "case": self._case}.get(keyword, self._loop)(keyword)
            self.folders = _either(before, self.folders)
        self._redirects_behind(first)

    def _if(self, _keyword: str) -> None:
        self.sequence(("then",))
        self._take("then")
        while True:
            self.sequence(("elif", "else", "fi"))
            word = self._take("fi", "elif", "else")
            if word == "fi":
                return
            if word == "elif":
                self.sequence(("then",))
                self._take("then")

    def _loop(self, keyword: str) -> None:
        if keyword in ("for", "select"):
            self._loop_words()
        else:
            self.sequence(("do",))
        word = self._take("do", "{")
        self.sequence(("done",) if word == "do" else ("}",))
        self._take("done" if word == "do" else "}")

    def _loop_words(self) -> None:
        """`for x in a b`: x may be each of them."""
        self.blanks()
        if self.starts("(("):
            self.at += 2
            if not self.arithmetic(Pieces()):
                raise UnreadableLine("`))` is missing")
        else:
            name = self._keyword()
            if not name:
                raise UnreadableLine("a loop has no name")
            self.at += len(name)
            self.blanks(lines=True)
            values: list[str] = []
            if self._closes(("in",)):
                self.at += 2
                while (pieces := self._next_word()) is not None:
                    if pieces.inner:  # what is printed there is what the variable holds
                        held = [(name, Word(HOLE, inner=tuple(pieces.inner)))]
                        self._add(Simple([], held, [], self.folders))
                    for word in pieces.words(self.home):
                        values.append(HOLE if word.glob is not None else word.value)
                        if word.glob is not None:
                            values.append(KEPT + word.glob)
            if len(values) > MOST_WORDS:
                raise UnreadableLine("a loop goes over too many words")
            self.variables[name] = tuple(dict.fromkeys(values)) or None
        self.blanks()
        if self.peek() == ";":
            self.at += 1

    def _next_word(self) -> Pieces | None:
        self.blanks()
        return None if self.peek() in ("", "\n", ";", "&", "|", ")") else self.word()

    def _case(self, _keyword: str) -> None:
        self._next_word()
        self._take("in")
        while True:
            self.blanks(lines=True)
            if self._closes(("esac",)):
                self.at += 4
                return
            self._pattern()
            self.sequence((";;", ";&", "esac"))
            if self.starts(";;") or self.starts(";&"):
                self.at += 3 if self.starts(";;&") else 2

    def _pattern(self) -> None:
        if self.peek() == "(":
            self.at += 1
        while True:
            self.blanks(lines=True)
            if self.word() is None and self.peek() != "|":
                raise UnreadableLine("a pattern of `case` is missing")
            self.blanks(lines=True)
            if self.peek() == ")":
                self.at += 1
                return
            if self.peek() == "|":
                self.at += 1
            elif self.at >= self.end:
                raise UnreadableLine("`esac` is missing")

    def _named_function(self) -> None:
        self.blanks()
        name = self._keyword()
        self.at += len(name)
        if found := _FUNCTION.match(self.text, self.at):
            self.at = found.end()
        self._function(name)

    def _function(self, name: str) -> None:
        """Its body counts like all other commands. One that calls itself through a pipe fills the machine."""
        self.blanks(lines=True)
        first, start = len(self.commands), self.at
        folders = self.folders
        self.command(())
        self.folders = folders
        if "$" in self.text[start : self.at]:
            self.functions[name] = self.text[start : self.at], range(first, len(self.commands))
        own = [one for one in self.commands[first:] if one.words and one.words[0].value == name]
        if own and (any(one.fed for one in own) or "&" in self.text[start : self.at].replace("&&", "")):
            self.bombs = True

    def _test(self) -> None:
        """`[[ … ]]`: its words are looked at like those of `test`."""
        made = Simple([Word("[[")], [], [], self.folders, self.depth)
        self._add(made)
        while True:
            self.blanks(lines=True)
            if self.starts("]]"):
                self.at += 2
                return
            if self.at >= self.end:
                raise UnreadableLine("`]]` is missing")
            if self.peek() in "()<>&|;":
                self.at += 1
                continue
            pieces = self.word()
            if pieces is None:
                raise UnreadableLine("`]]` is missing")
            made.words += pieces.words(self.home)

    def _redirects_behind(self, first: int) -> None:
        """`} > file`: where the output of a whole group goes, of the commands from the first on."""
        made = Simple([], [], [], self.folders, self.depth, holds=range(first, len(self.commands)))
        while self._redirect(made):
            pass
        if made.redirects:
            self._add(made)
            made.words.append(Word("{"))

    def simple(self, fed: tuple[int, ...]) -> None:
        made = Simple([], [], [], self.folders, self.depth, fed)
        begun = self.at
        written: list[Pieces] = []
        while True:
            self.blanks()
            if self._redirect(made):
                continue
            pieces = self.word()
            if pieces is None:
                break
            if not made.words and (found := self._assignment(pieces)):
                made.assigned.append(found)
            else:
                made.words += pieces.words(self.home)
                written.append(pieces)
        if any(len(values) > 1 for pieces in written for values in pieces.texts):
            made.ways = self._ways(written)
        if self.at == begun:
            raise UnreadableLine(f"`{self.peek() or 'the end'}` is not expected there")
        self._add(made)
        for at in self.outward:
            self.commands[at].fed = self.commands[at].fed or (len(self.commands) - 1,)
        self.outward = []
        if made.words and made.words[0].value in self.functions:
            self._call(made)
        elif made.words and made.words[0].value == "alias":
            for name, equals, body in (word.value.partition("=") for word in made.words[1:]):
                if equals and HOLE not in body:
                    self.functions[name] = f'{body} "$@"', range(0)
        self._keep(made)
        self._open(made)

    def _open(self, made: Simple) -> None:
        """`eval 'f() { …; }'`, `source /dev/stdin <<< …`: what they are told counts as if it stood there, so that
        functions, variables and the folder are known behind it."""
        words = [word.value for word in made.words]
        if not words or words[0] not in OPENED:
            return
        if words[0] == "eval":
            text: str | None = " ".join(words[2 if words[1:2] == ["--"] else 1 :])
        else:
            text = made.redirects[0].text if words[1:2] and words[1] in STDIN and len(made.redirects) == 1 else None
        if not text or HOLE in text or made.ways or self.waiting:
            return
        made.opened = True
        inside = self._reader_inside(text, self.variables)
        inside.functions = self.functions
        inside.read()
        self.folders = inside.folders
        self.bombs |= inside.bombs

    def _ways(self, written: list[Pieces]) -> tuple[list[Word], ...]:
        """`for h in a b; do ssh $h reboot; done` is `ssh a reboot` and `ssh b reboot`."""
        ways = [pieces.ways() for pieces in written]
        found: list[list[Word]] = []
        for at in range(max(map(len, ways))):
            self.budget.command()
            words = [word for one in ways for word in one[min(at, len(one) - 1)].words(self.home)]
            if words and all(word.value != HOLE or word.inner for word in words):  # else a wildcard says more of it
                found.append(words)
        return tuple(found)

    def _call(self, made: Simple) -> None:
        """The body of a function with the words that it is given in their places."""
        body, defined = self.functions.pop(made.words[0].value)  # so that one that calls itself is read once
        for at in defined:
            self.commands[at].called = True
        variables = self.variables | positional([word.value for word in made.words[1:]])
        inside = self._reader_inside(body, variables)
        inside.functions = self.functions
        inside.read()
        self.functions[made.words[0].value] = body, defined

    def _assignment(self, pieces: Pieces) -> tuple[str, Word] | None:
        first = pieces.texts[0][0] if pieces.texts else ""
        found = _ASSIGNMENT.match(first)
        if found is None:
            return None
        pieces.texts[0] = (first[found.end() :],)
        words = pieces.words(self.home)
        value = words[0] if len(words) == 1 else Word(" ".join(word.value for word in words), None, True)
        if found.group().endswith("+="):
            before = self.variables.get(found[1])
            value = Word((before[0] if before else HOLE) + value.value, None, True)
        if found.group().rstrip("+=").endswith("]"):  # one item of a list, at a place that is not followed
            self.variables[f"{found[1]}[]"] = (*(self.variables.get(f"{found[1]}[]") or ()), value.value, HOLE)
        if words and (pieces.names or pieces.inner):
            value = Word(value.value, value.glob, value.quoted, tuple(pieces.names), tuple(pieces.inner))
        return found[1], value

    def _add(self, made: Simple) -> None:
        self.budget.command()
        self.commands.append(made)

    def _keep(self, made: Simple) -> None:
        """What a command changes for those behind it: variables, and the folder."""
        if not made.words:
            for name, word in made.assigned:
                self.variables[name] = (word.value,)
            return
        program = made.words[0].value
        if program in ("export", "readonly", "local", "declare", "typeset"):
            for word in made.words[1:]:
                name, equals, value = word.value.partition("=")
                if equals:
                    referred = any(re.fullmatch(r"-\w*n\w*", one.value) for one in made.words[1:])  # `declare -n`
                    self.variables[name] = None if referred else (value,)
        elif program in ("cd", "pushd", "chdir"):
            self._change(made.words[1:])
        elif program == "unset":
            self.variables.update((word.value, None) for word in made.words[1:])
        elif program == "eval":  # what it does is judged; what it changes is not known here
            text = " ".join(word.value for word in made.words)
            self.variables.update([(name, None) for name in self.variables if f"{name}=" in text])
        elif program == "read":
            names = [word.value for word in made.words[1:] if not word.value.startswith("-")]
            text = made.redirects[0].text if len(made.redirects) == 1 and len(names) == 1 else None
            listed = any(re.fullmatch(r"-\w*a\w*", word.value) for word in made.words[1:])
            known = None if text is None or HOLE in text or listed else (text.strip(),)
            self.variables.update((name, known) for name in names)
        elif program == "printf" and len(made.words) > 3 and made.words[1].value == "-v":
            text = _formatted([word.value for word in made.words[3:]])
            self.variables[made.words[2].value] = None if text is None or HOLE in text else (text,)
        elif program == "shift" and (known := self.variables.get("@")):
            left = known[0].split(CUT)[
                int(made.words[1].value) if made.words[1:] and made.words[1].value.isdigit() else 1 :
            ]
            self.variables.update({**dict.fromkeys("123456789"), **positional(left)})
        elif program == "set" and any(word.value == "--" for word in made.words):
            values = [word.value for word in made.words]
            self.variables.update(positional(values[values.index("--") + 1 :]))
        elif program == "popd":
            self.folders = _either(self.folders, (HOLE,))

    def _change(self, words: list[Word]) -> None:
        given = [word for word in words if word.value == "-" or not word.value.startswith("-")]
        if given and given[0].glob is not None and (found := self._meant(given[0].glob)):
            self.folders = found
            self.variables["PWD"] = None
            return
        names = [word.value for word in given]
        target = names[0] if names else self.home
        if target == "-":
            target = HOLE
        whole = os.path.expanduser(target) if target.startswith("~") else target
        self.folders = tuple(dict.fromkeys(_joined(folder, whole) for folder in self.folders))
        self.variables["PWD"] = self.folders[:1] if HOLE not in self.folders[0] else None

    def _meant(self, glob: str) -> tuple[str, ...]:
        """The folders that `cd p*` may lead to: those that are there."""
        found: list[str] = []
        for folder in self.folders:
            reached = ["/" if glob.startswith("/") else folder]
            for part in [one for one in glob.split("/") if one]:
                if WILD.search(part):
                    reached = [os.path.join(one, name) for one in reached if HOLE not in one for name in names_in(one)
                               if could_be(part, name)][:_MOST_FOLDERS]  # fmt: skip
                else:
                    reached = [_joined(one, part) for one in reached]
            found += [one for one in reached if os.path.isdir(one)]
        return (*found[: _MOST_FOLDERS - 1], HOLE) if found else ()

    # ── redirections and blanks ────────────────────────────────────────────────────────────────────────────────────

    def _redirect(self, made: Simple) -> bool:
        self.blanks()
        if self.peek() not in "<>&{0123456789" or not self.peek():
            return False
        found = _REDIRECT.match(self.text, self.at)
        if found is None or (self.text.startswith("(", found.end()) and found[2] in "<>"):
            return False
        operator = found[2]
        self.at = found.end()
        self.blanks()
        if operator in ("<<", "<<-"):
            self._here(made, operator)
            return True
        pieces = self.word()
        if pieces is None:
            raise UnreadableLine(f"`{operator}` leads nowhere")
        words = pieces.words(self.home) or [Word("")]
        if operator in ("<&", ">&") and (words[0].value.isdigit() or words[0].value in ("-", "1-", "2-")):
            return True
        text = words[0].value + "\n" if operator == "<<<" else None
        made.redirects += [Redirect(operator, word, text) for word in words]
        return True

    def _here(self, made: Simple, operator: str) -> None:
        pieces = self.word()
        if pieces is None:
            raise UnreadableLine("a here-document has no end")
        ending = "".join(word.value for word in pieces.words(self.home))
        made.redirects.append(Redirect("<<", Word(""), ""))
        self.waiting.append(_Here(made, len(made.redirects) - 1, ending, not pieces.quoted, operator == "<<-"))

    def _bodies(self) -> None:
        """The here-documents of the line that has just ended."""
        waiting, self.waiting = self.waiting, []
        for here in waiting:
            lines: list[str] = []
            while True:
                if self.at >= self.end:
                    break  # a shell takes the end of the text for the end of the document
                end = self.text.find("\n", self.at)
                end = self.end if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, self.end)
                bare = line.lstrip("\t") if here.tabs else line
                if bare.rstrip("\r") == here.ending:
                    break
                lines.append(bare)
            body, inner = "\n".join(lines) + "\n" if lines else "", ()
            if here.expands and ("$" in body or "`" in body):
                body, inner = self._expanded(body)
            here.command.redirects[here.at] = Redirect("<<", Word("", None, True, (), inner), body)

    def _expanded(self, body: str) -> tuple[str, tuple[int, ...]]:
        inside = self._reader_inside(body, dict(self.variables))
        pieces = Pieces()
        inside.double(pieces, "")
        words = pieces.words(self.home)
        return words[0].value if words else "", tuple(pieces.inner)

    def blanks(self, *, lines: bool = False) -> None:
        """Past blanks, continued lines and comments; with `lines` past empty lines and `;` too."""
        while self.at < self.end:
            character = self.text[self.at]
            if character in " \t\r":
                self.at += 1
            elif character == "\\" and self.text.startswith(("\\\n", "\\\r\n"), self.at):
                self.at += 2 if self.peek(1) == "\n" else 3
            elif character == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\r\n;&|()"):
                end = self.text.find("\n", self.at)
                self.at = self.end if end < 0 else end
            elif character == "\n" and lines:
                self.at += 1
                if self.waiting:
                    self._bodies()
            elif character == ";" and lines and not self.text.startswith((";;", ";&"), self.at):
                self.at += 1
            else:
                return

    # ── substitutions ──────────────────────────────────────────────────────────────────────────────────────────────

    def substitute(self, closing: str, pieces: Pieces) -> str | None:
        """The commands up to the closing sign; what they print, where that is plain."""
        first = len(self.commands)
        waiting, self.waiting = self.waiting, []
        self.group(closing)
        self.waiting = [*waiting, *self.waiting]
        return self._printed(first, pieces)

    def substitute_text(self, text: str, pieces: Pieces) -> str | None:
        first = len(self.commands)
        inside = self._reader_inside(text, dict(self.variables))
        inside.read()
        return self._printed(first, pieces)

    def _printed(self, first: int, pieces: Pieces) -> str | None:
        pieces.inner += range(first, len(self.commands))
        if len(self.commands) != first + 1 or not self.commands[first].words:
            return None
        command = self.commands[first]
        return printed(command, self.variables)


def positional(values: list[str], first: int = 1) -> dict[str, Values | None]:
    """`$1`, `$2` and so on, and `$@`."""
    numbered: dict[str, Values | None] = {str(at): (value,) for at, value in enumerate(values[:9], first)}
    return {**numbered, "@": (CUT.join(values[1 - first :]),)}


def printed(command: Simple, variables: dict[str, Values | None]) -> str | None:
    """What a command prints, where its words alone tell it; None otherwise."""
    values = [word.value for word in command.words]
    program, arguments = values[0], values[1:]
    if any(HOLE in one for one in arguments):
        return None
    if program == "echo":
        escapes = False
        while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
            escapes |= "e" in arguments.pop(0)
        text = " ".join(arguments)
        return decode_escapes(text) if escapes else text
    if program == "printf" and arguments:
        return _formatted(arguments[1:] if arguments[0] == "--" else arguments)
    if program in ("true", ":"):
        return ""
    if program == "find":
        return _found(arguments)
    if program == "pwd" and not arguments:
        known = variables.get("PWD")
        return known[0] if known else None
    if program in ("which", "type") and arguments:
        return arguments[-1]
    if program in ("dirname", "basename", "realpath", "readlink"):
        return _of_path(program, arguments)
    if program == "mktemp" and all(
        one in ("-d", "-q", "-t", "--directory", "--tmpdir", "--quiet") for one in arguments
    ):
        return "/tmp/tmp.made"
    if program == "command" and len(arguments) == 2 and arguments[0] == "-v":
        return arguments[1]
    return None


def _of_path(program: str, arguments: list[str]) -> str | None:
    """What a path is turned into; links are followed later, where the path is judged."""
    names = [one for one in arguments if not one.startswith("-")]
    if len(names) != 1 or (program == "readlink" and len(arguments) == 1):
        return None
    path = names[0].rstrip("/") or names[0][:1]
    if program in ("realpath", "readlink"):
        return names[0]
    return os.path.dirname(path) or "." if program == "dirname" else os.path.basename(path)


def _formatted(arguments: list[str]) -> str | None:
    """What `printf` prints; None for a format that needs more than texts."""
    form, *texts = arguments or [""]
    form = decode_escapes(form)
    if re.search(r"%(?![sb%d])", form):
        return None
    found = re.findall(r"%[sbd]", form)
    if not found:
        return form.replace("%%", "%").strip("\n")
    lines: list[str] = []
    for start in range(0, max(len(texts), 1), len(found)):
        given = iter(texts[start : start + len(found)])
        pieces = re.split(r"%[sbd]", form)
        lines.append("".join(piece + decode_escapes(next(given, "")) for piece in pieces[:-1]) + pieces[-1])
    return "".join(lines).strip("\n")


def _found(arguments: list[str]) -> str | None:
    """What `find` prints, as far as the names it looks for tell it."""
    starts = arguments[search_starts(arguments)]
    names = [two for way in searched_for(arguments) for one, two in way if one in ("-name", "-iname")]
    if not names or "-exec" in arguments:
        return None
    return " ".join(f"{start.rstrip('/')}/{name}" for start in starts or ["."] for name in names)


def _joined(folder: str, target: str) -> str:
    if HOLE in target or (HOLE in folder and not target.startswith("/")):
        return HOLE
    return os.path.normpath(os.path.join(folder, target))


def _either(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:_MOST_FOLDERS]
