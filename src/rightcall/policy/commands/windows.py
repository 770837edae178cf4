"""PowerShell and cmd, read just far enough to see which commands run with which words. What neither of the two readers
understands is shown to a person by the rules for its parts: a variable in the place of a command asks.

Of PowerShell's expressions the texts count that they put together (`'.' + 'env'`, `-join`, `-f`, `[string]::Concat`),
and variables that hold one. Two commands of our own say what is left: `EMPTIES` a file that stays empty, `HIDES` a
command whose file nobody can name beforehand.
"""

import re
from collections.abc import Iterator

from rightcall.base.text import regex
from rightcall.policy.commands.words import HOLE, UnreadableLine

EMPTIES = "[empties]"
HIDES = "[hides]"
_ALIASES = {
    "ri": "remove-item", "rm": "remove-item", "rmdir": "remove-item", "del": "remove-item", "erase": "remove-item",
    "rd": "remove-item", "clc": "clear-content", "cli": "clear-item", "iwr": "invoke-webrequest",
    "irm": "invoke-restmethod",
    "wget": "invoke-webrequest", "iex": "invoke-expression", "cat": "get-content", "gc": "get-content",
    "type": "get-content",
    "sc": "set-content", "saps": "start-process", "start": "start-process", "kill": "stop-process",
    "spps": "stop-process",
    "sls": "select-string", "ls": "get-childitem", "dir": "get-childitem", "gci": "get-childitem", "echo": "echo",
    "write-output": "echo", "write-host": "echo", "%": "foreach-object", "?": "where-object", "gal": "get-alias",
    "gi": "get-item", "rvpa": "resolve-path", "ac": "add-content", "copy": "copy-item", "cp": "copy-item",
    "cpi": "copy-item", "move": "move-item", "mv": "move-item", "mi": "move-item", "sal": "set-alias",
    "nal": "set-alias", "new-alias": "set-alias",
}  # fmt: skip
_TOKEN = regex(
    r"(?P<blank>[ \t\r]+)|(?P<merge>[0-9*]?>&[0-9])|(?P<into>(?<![^\s;{}()|&])[0-9*]>>?|>>?)|(?P<open>\()|(?P<close>\))"
    r"|(?P<end>[;\n{}]|&&|\|\||&)|(?P<pipe>\|)|(?P<single>'(?:[^']|'')*')"
    r"|(?P<double>\"(?:[^\"`]|`.)*\")"
    r"|(?P<comment>(?<![^\s;{}()])#[^\n]*)|(?P<word>(?:`.|[^\s;{}()|&'\"`<>])+)|(?P<odd>.)", re.DOTALL,
)  # fmt: skip
_VARIABLE = regex(r"\$(?:\{[^}]*\}|[A-Za-z_?][\w:]*)|%[A-Za-z_]\w*%")
_KEYWORDS = frozenset(
    ("if", "else", "elseif", "foreach", "for", "while", "do", "try", "catch", "finally", "return", "param",
     "function", "in", "switch", "process", "begin", "end", "not", "exist", "call", "@echo")
)  # fmt: skip

_STATIC = regex(r"\[[\w.]+\]::\w+$")
_METHODS = (
    ("get-content", regex(r".*\bfile\]::(?:read|open)\w*|.*\b(?:streamreader|filestream)\]::new")),
    ("remove-item", regex(r".*\b(?:file|directory)\]::delete")),
    ("set-content", regex(r".*\b(?:file|directory)\]::(?:write|append|create)\w*|.*\bstreamwriter\]::new")),
    ("move-item", regex(r".*\b(?:file|directory)\]::(?:move|replace)")),
    ("copy-item", regex(r".*\bfile\]::copy")),
    ("start-process", regex(r".*\bprocess\]::start")),
)
"""Methods of .NET by the command that does the same."""
_OF_TEXTS = regex(r"\[(?:system\.)?(?:string|io\.path)\]::(concat|join|format|combine)", re.IGNORECASE)
_ENDS_FILE = frozenset(("delete", "moveto", "kill"))
_OPERATOR = regex(r"(?i)-(?:join|f|[ci]?replace|[ci]?split|as)")
_MAKES_TEXT = regex(r"(?i)-(?:join|f|[ci]?replace|[ci]?split)|\[char|\]::|\[-?\d+(?:\.\.-?\d+)?\]\Z|\.[a-z]+\Z")
_BEGINS_EXPRESSION = regex(r"[$\[@\d]|-(?i:join|split|not)\b")
_PARAMETER = regex(r"(-[A-Za-z]\w*):")
_ASSIGNED = regex(r"\$(?:script:|global:|local:)?([A-Za-z_][\w:]*)([-+*/]?=)?")
_FILE_COMMANDS = frozenset(
    ("get-content", "select-string", "remove-item", "clear-content", "copy-item", "move-item", "set-content",
     "import-csv", "out-file", "invoke-item", "rename-item")
)  # fmt: skip
_PASSES_NAMES = frozenset(("get-childitem", "get-item", "resolve-path", "convert-path", "join-path", "echo"))
_NULL = frozenset(("nul", "$null", "/dev/null", ""))
_LONGEST_HELD = 300
"""Of a text in a variable: one that doubles itself would fill the memory."""
_LONGEST_INNER = 20_000
_MOST_OPEN = 200
"""Brackets in one another."""

Command = tuple[list[str], tuple[str, ...]]


def read_windows(text: str, language: str) -> Iterator[Command]:
    """Each command as its words, with the programs that are piped into it."""
    return iter(_Powershell().read(text) if language == "powershell" else _Cmd().read(text))


class _Statement:
    """One command or expression while it is read."""

    __slots__ = (
        "assigned", "closed", "fed", "glued", "hidden", "into", "is_called", "is_expression", "items", "outputs",
        "texts", "variable", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.outputs: list[str] = []
        self.begin()

    def begin(self, fed: tuple[str, ...] = (), texts: tuple[str, ...] = ()) -> None:
        """What follows stands for itself; `texts` are piped into it."""
        self.words: list[str] = []
        self.items: list[str | None] = []
        """Of an expression: its texts behind a mark, its operators, and None for what nobody knows."""
        self.fed, self.texts = fed, texts
        self.glued = self.closed = self.into = self.is_called = self.hidden = False
        self.is_expression: bool | None = None
        self.assigned = self.variable = ""
        """The variable that takes what it gives; that with which it begins."""


_MARK = "\ue004"
"""Before a text in an expression, which may look like an operator."""


class _Powershell:
    def __init__(self) -> None:
        self.found: list[Command] = []
        self.known: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.open: list[_Statement] = []
        self.now = _Statement()
        self.inner = 0
        """Characters of code in texts."""
        self.last: list[str] = []
        """The command in the brackets before: `(Get-Item x).Delete()`."""

    def read(self, text: str) -> list[Command]:
        self._feed(text, 0)
        while self.open:
            self._close()
        self._end("")
        return self.found

    def _feed(self, text: str, floor: int) -> None:
        """All tokens of a text; `floor` are the brackets that it stands in, and cannot close."""
        at = 0
        while (found := _TOKEN.match(text, at)) is not None:
            kind, value = found.lastgroup or "", found.group()
            if value[0] == '"':
                kind, value = "double", text[at : _end_of_text(text, at)]
            at += len(value)
            if kind in ("blank", "comment", "merge", "odd"):
                self.now.glued = False
            elif kind == "into":
                self.now.into, self.now.glued = True, False
            elif kind == "open" and len(self.open) < _MOST_OPEN:
                self.open.append(self.now)
                self.now = _Statement()
            elif kind == "close" and len(self.open) > floor:
                self._close()
            elif kind in ("end", "pipe", "open", "close"):
                self._end(value)
            else:
                self._piece(kind, value)

    # ── pieces ──

    def _piece(self, kind: str, value: str) -> None:
        now = self.now
        if now.into:
            now.outputs.append(self._unquote(kind, value))
            now.into = False
            return
        if kind == "word" and value.casefold() == "in" and len(now.items) == 1 and now.variable:
            now.begin(now.fed)  # `foreach ($f in …)`
            return
        if value in ("=", "+=") and now.variable and len(now.items) == 1:
            self._assigns(now.variable, value)
            return
        if now.is_expression is None and not now.words and not now.is_called:
            if kind == "word" and (found := _ASSIGNED.match(value)) is not None and found[2]:
                self._assigns(found[1], found[2])
                if value[found.end() :]:
                    self._piece("word", value[found.end() :])
                return
            if kind == "word" and value == ".":
                now.is_called = True
                return
            now.is_expression = kind != "word" or _BEGINS_EXPRESSION.match(value) is not None
            named = _ASSIGNED.fullmatch(value) if kind == "word" and not now.assigned else None
            now.variable = named[1] if named is not None else ""
        if now.is_expression:
            self._expression(kind, value)
        else:
            named = _PARAMETER.match(value) if kind == "word" and now.words else None
            if named is not None:  # `-Path:x` is `-Path x`
                self._word(named[1])
                now.glued = False
                value = value[named.end() :]
            if value:
                self._word(self._unquote(kind, value))

    def _assigns(self, name: str, sign: str) -> None:
        """`$x = …`: what follows is judged as if it stood alone."""
        fed = self.now.fed
        self.now.begin(fed)
        self.now.assigned = name if sign == "=" else f"{name}+"

    def _word(self, text: str) -> None:
        now = self.now
        if now.closed and re.fullmatch(r"\.\w+", text):
            pass  # a property of what stood in brackets
        elif now.glued and now.words:
            now.words[-1] += text
        else:
            now.words.append(text)
        now.glued, now.closed = True, False

    def _expression(self, kind: str, value: str) -> None:
        now = self.now
        if kind != "word":
            now.items.append(_MARK + self._unquote(kind, value))
        elif value in ("$", "@"):
            pass  # what follows in brackets is what it stands for
        elif _OPERATOR.fullmatch(value):
            now.items.append(value.casefold())
        else:
            for one in re.findall(r"[+,]|[^+,]+", value):
                now.items.append(one if one in "+," else self._operand(one))

    def _operand(self, value: str) -> str | None:
        if found := re.fullmatch(r"(?i)\[char\]\s*(0x[0-9a-f]+|\d+)", value):
            return _MARK + chr(min(int(found[1], 0), 0x10FFFF))
        value = re.sub(r"(?i)\A\[(?:string|char)(?:\[\])?\](?!::)", "", value)
        if not value:
            return _MARK
        if _STATIC.match(value) or re.fullmatch(r"\.\w+", value):
            return value.casefold()  # called by what follows
        self.now.hidden |= _MAKES_TEXT.search(value) is not None and value[:1] != "$"
        if _ASSIGNED.fullmatch(value):
            read = self._unquote("word", value)
            return None if HOLE in read else _MARK + read
        if found := re.fullmatch(r"\$[\w:]+(\.\w+)", value):
            self.now.items.append(None)
            return found[1].casefold()
        return None if re.match(r"[$@\[]", value) else _MARK + value

    def _unquote(self, kind: str, value: str) -> str:
        if kind == "single":
            return value[1:-1].replace("''", "'")
        if kind != "double":
            return _unescape(value, self.known)
        inside, pieces, at = value[1:].removesuffix('"').replace('""', '`"'), list[str](), 0
        while (begun := _next_code(inside, at)) >= 0:
            end = _end_of_brackets(inside, begun + 1)
            pieces += [_unescape(inside[at:begun], self.known), self._code(inside[begun + 2 : end - 1])]
            at = end
        return "".join([*pieces, _unescape(inside[at:], self.known)])

    def _code(self, code: str) -> str:
        """What `$(code)` in a text stands for; its commands are found like any other."""
        self.inner += len(code)
        if self.inner > _LONGEST_INNER or len(self.open) >= _MOST_OPEN:
            raise UnreadableLine("it is nested too deeply")
        self.open.append(self.now)
        self.now, floor = _Statement(), len(self.open)
        self._feed(code, floor)
        while len(self.open) > floor:
            self._close()
        inner, self.now = self.now, self.open.pop()
        self._finish(inner)
        values = self._value(inner)
        self.now.hidden |= _is_hidden(inner, values)
        return HOLE if values is None else " ".join(values)

    # ── brackets ──

    def _close(self) -> None:
        inner, outer = self.now, self.open.pop()
        self._finish(inner)
        self.now = outer
        self._take(inner, self._value(inner))

    def _value(self, inner: _Statement) -> list[str] | None:
        """What stands in brackets gives, None where nobody knows."""
        values = _evaluate(inner.items) if inner.is_expression else None
        if inner.is_expression is False:
            self.last = _name_command(inner.words)
            named = self.last[:1] and self.last[0] in _PASSES_NAMES
            values = [one for one in self.last[1:] if not one.startswith("-")] if named else None
            if values and self.last[0] == "join-path":
                values = ["/".join(values)]
        elif inner.is_expression is None:
            values = []
        return values

    def _take(self, inner: _Statement, values: list[str] | None) -> None:
        """What stood in brackets, as a part of what stands around them."""
        outer = self.now
        before = outer.items[-1] if outer.items else None
        called = before is not None and before[:1] in ".[" and len(before) > 1
        hidden = _is_hidden(inner, values)
        if called and before is not None:
            outer.items.pop()
            self._call(before, values)
        elif outer.words and not outer.is_expression and not _is_keyword(outer.words[-1]):
            if outer.words[-1] in ("$", "@"):
                outer.words.pop()
            outer.words += [HOLE] if values is None else values
            outer.hidden |= hidden
            outer.closed = True
        elif not outer.words and not outer.is_called:
            outer.is_expression = True
            outer.items += _listed(values)
            outer.hidden |= hidden
        elif not outer.words:
            outer.is_expression = False
            outer.words += [HOLE] if values is None else values
        outer.glued = True

    def _call(self, method: str, values: list[str] | None) -> None:
        """A method of a class, or of what stands before it."""
        now = self.now
        if method[0] == "[":
            made = _OF_TEXTS.fullmatch(method)
            if made is None:
                now.is_expression, now.items = False, []
                now.words = [method, *([HOLE] if values is None else values)]
            else:
                now.hidden |= values is None
                now.items.append(None if values is None else _MARK + _put_together(made[1].casefold(), values))
        elif method[1:] in _ENDS_FILE:
            on = now.items.pop() if now.items else None
            meant = (
                [one for one in self.last[1:] if not one.startswith("-")] if on is None else [on.removeprefix(_MARK)]
            )
            self.found.append((["remove-item", *(meant or [HOLE])], now.fed))
        else:
            on = now.items.pop() if now.items else None
            changed = None if on is None or values is None else _changed(on.removeprefix(_MARK), method[1:], values)
            now.hidden |= changed is None and on is not None
            now.items.append(None if changed is None else _MARK + changed)

    # ── ends ──

    def _end(self, by: str) -> None:
        now = self.now
        if by == "&" and not now.words and not now.items:
            now.is_called = True  # the name of a command follows
            return
        self._finish(now)
        piped = by == "|"
        named = (*now.fed[-20:], *(self.last if now.is_expression else _name_command(now.words))[:1])
        values = _evaluate(now.items) if now.is_expression and piped else None
        now.outputs, self.last = [], []
        now.begin(named if piped else (), tuple(values or ()))

    def _finish(self, now: _Statement) -> None:
        named = [] if now.is_expression else _name_command(now.words)
        if named and named[0] in self.aliases:
            named = _name_command([self.aliases[named[0]], *named[1:]])
        if named:
            if named[0] == "set-alias" and len(meant := [one for one in named[1:] if not one.startswith("-")]) == 2:
                self.aliases[meant[0].casefold()] = meant[1]
            if now.texts and named[0] in _FILE_COMMANDS and named[0] not in ("out-file", "set-content"):
                named += now.texts
            self._found(named, now)
        values = _evaluate(now.items) if now.is_expression else None
        if now.assigned:
            name = now.assigned.removesuffix("+").casefold()
            whole = values is not None and len(values) == 1
            more = self.known.get(name) if now.assigned.endswith("+") else ""
            self.known.pop(name, None)
            held = more + values[0] if values is not None and whole and more is not None else HOLE
            if HOLE not in held and len(held) <= _LONGEST_HELD:
                self.known[name] = held
        silent = not named and (not now.is_expression or values in ([""], []))
        for file in now.outputs:
            if file.casefold() not in _NULL:
                self.found.append(([EMPTIES if silent or file in named[1:] else "out-file", file], now.fed))

    def _found(self, named: list[str], now: _Statement) -> None:
        self.found.append((named, now.fed))
        program = named[0]
        if now.hidden and program in _FILE_COMMANDS:
            self.found.append(([HIDES, program], now.fed))
        written = [one for one in named[1:] if one and not one.startswith("-")]
        if program in ("set-content", "out-file") and written and ("" in named[1:] or now.texts == ("",)):
            self.found.append(([EMPTIES, written[0]], now.fed))
        if program == "start-process" and len(written) > 1:
            self.found.append(([written[0].casefold(), *re.split(r"[\s,]+", " ".join(written[1:]))], now.fed))


def _is_hidden(inner: _Statement, values: list[str] | None) -> bool:
    """Whether an expression makes a text that nobody can follow."""
    return inner.hidden or (values is None and bool(inner.is_expression) and len(inner.items) > 1)


def _end_of_text(text: str, at: int) -> int:
    """Where a text in double quotes ends that begins here; `$(…)` in it may hold texts of its own."""
    at += 1
    while at < len(text):
        if text[at] == "`" or text.startswith('""', at):
            at += 2
        elif text[at] == '"':
            return at + 1
        else:
            at = _end_of_brackets(text, at + 1) if text.startswith("$(", at) else at + 1
    return len(text)


def _end_of_brackets(text: str, at: int) -> int:
    """Where brackets end that begin here, whatever texts are in them."""
    deep = 0
    while at < len(text):
        if text[at] == '"':
            at = _end_of_text(text, at)
            continue
        if text[at] == "'":
            at = text.find("'", at + 1) % (len(text) + 1)  # one that does not end goes on to the end
        deep += {"(": 1, ")": -1}.get(text[at : at + 1], 0)
        at += 2 if text[at : at + 1] == "`" else 1
        if not deep:
            return at
    return len(text)


def _next_code(text: str, at: int) -> int:
    """Where the next `$(` stands; -1 for none. One behind a backtick is text."""
    found = regex(r"(?:`.|[^`$]|\$(?!\())*").match(text, at)
    end = found.end() if found is not None else at
    return end if text.startswith("$(", end) else -1


def _is_keyword(word: str) -> bool:
    return word.casefold() in _KEYWORDS


def _listed(values: list[str] | None) -> list[str | None]:
    """Texts as items of an expression."""
    if values is None:
        return [None]
    items: list[str | None] = []
    for one in values:
        items += [",", _MARK + one]
    return items[1:]


def _evaluate(items: list[str | None]) -> list[str] | None:
    """The texts that an expression stands for; None where nobody knows."""
    for operator in ("-join", "-f", "-replace", "-creplace", "-ireplace", "-split", "-csplit", "-isplit", "-as"):
        if operator in items:
            at = items.index(operator)
            left, right = _evaluate(items[:at]), _evaluate(items[at + 1 :])
            if left is None or right is None:
                return None
            if operator == "-join":
                return [right[0].join(left) if left and right else "".join(right)]
            return [made] if (made := _operated(operator, left, right)) is not None else None
    found: list[str] = []
    joined = False
    for one in items:
        if one is None or (one[0] != _MARK and one not in "+,"):
            return None
        if one in "+,":
            joined = one == "+"
        elif joined and found:
            found[-1], joined = found[-1] + one[1:], False
        else:
            found.append(one[1:])
    return found


def _operated(operator: str, left: list[str], right: list[str]) -> str | None:
    if operator == "-f":
        return _put_together("format", [*left[:1], *right])
    if "replace" in operator and len(left) == 1 and right and not re.search(r"[.^$*+?()\[\]{}|]", right[0]):
        return left[0].replace(right[0].replace("\\", ""), right[1] if len(right) > 1 else "")
    return None


def _put_together(how: str, values: list[str]) -> str:
    if how == "combine":
        return "/".join(values)
    if how == "join":
        return values[0].join(values[1:]) if values else ""
    if how == "format":
        rest = (*values[1:], *[""] * 10)
        return re.sub(r"\{(\d)[^}]*\}", lambda at: rest[int(at[1])], values[0]) if values else ""
    return "".join(values)


def _changed(text: str, method: str, values: list[str]) -> str | None:
    if method == "replace" and len(values) == 2:
        return text.replace(values[0], values[1])
    if method in ("tolower", "toupper", "trim", "tostring", "trimstart", "trimend") and not values:
        return text.strip() if method.startswith("trim") else text.lower() if method == "tolower" else text
    if method == "insert" and len(values) == 2 and values[0].isdigit():
        return text[: int(values[0])] + values[1] + text[int(values[0]) :]
    if method in ("substring", "remove") and values and all(one.isdigit() for one in values):
        start, *length = (int(one) for one in values)
        end = start + length[0] if length else len(text)
        return text[start:end] if method == "substring" else text[:start] + text[end:]
    return None


def _unescape(value: str, known: dict[str, str]) -> str:
    value = re.sub(r"\$env:(?:USERPROFILE|HOME)\b|%USERPROFILE%|\$HOME\b|\$\{HOME\}", "~", value, flags=re.IGNORECASE)
    value = re.sub(r"\$PWD\b|%CD%", ".", value, flags=re.IGNORECASE)
    value = re.sub(r"\$PROFILE\b(?:\.\w+)?", "~/.profile", value, flags=re.IGNORECASE)
    value = re.sub(r"\$(?:null|true|false)\b", "", value, flags=re.IGNORECASE)
    plain = re.sub(r"[`^](.)", r"\1", value, flags=re.DOTALL)
    return _VARIABLE.sub(lambda found: known.get(found.group().strip("${}%").casefold(), HOLE), plain).replace(
        "\\", "/"
    )


def _name_command(words: list[str]) -> list[str]:
    """The words without keywords before the command, and the command by its full name."""
    words = [one for one in words[:20] if not _is_keyword(one)][:1] and words[_count_keywords(words) :]
    if not words:
        return []
    name = _ALIASES.get(words[0].casefold(), words[0].casefold())
    if "environment]::getenvironmentvariable" in name:
        return ["get-childitem", "env:"]
    if _STATIC.match(name):
        name = next((command for command, meant in _METHODS if meant.fullmatch(name)), name)
    if name.startswith("[") or re.fullmatch(r"[\d.]+", name):
        name = "[type]"
    rest = words[1:]
    for at in range(len(rest) - 2, -1, -1):  # what it does about errors says nothing of what it does
        if rest[at].casefold() in ("-erroraction", "-ea", "-warningaction"):
            del rest[at : at + 2]
    return [name, *rest]


def _count_keywords(words: list[str]) -> int:
    return next((at for at, one in enumerate(words) if not _is_keyword(one) and one != "!"), len(words))


# ── cmd ──


class _Cmd:
    """Brackets only hold commands together here, and a name stands before its variable's sign."""

    def __init__(self) -> None:
        self.found: list[Command] = []
        self.known: dict[str, str] = {}

    def read(self, text: str) -> list[Command]:
        words: list[str] = []
        outputs: list[str] = []
        fed: tuple[str, ...] = ()
        glued = into = False
        for found in _TOKEN.finditer(text):
            kind, value = found.lastgroup or "", found.group()
            if kind in ("blank", "merge", "odd"):
                glued = False
            elif kind == "into":
                into, glued = True, False
            elif kind in ("end", "pipe", "open", "close"):
                follows = _list_behind(words)
                named = [] if follows else self._finish(words, outputs, fed)
                fed = (*fed[-20:], *named[:1]) if kind == "pipe" else ()
                words, outputs, glued = follows, [], False
            elif kind != "double" or [one.casefold() for one in words] != ["start"]:  # else the title of its window
                piece = _unescape(value[1:-1] if kind == "double" else value, self.known)
                if into:
                    outputs.append(piece)
                    into = False
                elif glued and words:
                    words[-1] += piece
                else:
                    words.append(piece)
                    glued = True
        self._finish(words, outputs, fed)
        return self.found

    def _finish(self, words: list[str], outputs: list[str], fed: tuple[str, ...]) -> list[str]:
        if words[:1] == [_FILES]:
            self.found.append((["get-content", *words[1:]], fed))
        named = [] if words[:1] in ([_FILES], [_NAMES]) else _behind_conditions(words)
        if named[:1] == ["set"] and len(named) > 1 and "=" in named[1]:
            name, _, value = " ".join(named[1:]).partition("=")
            self.known[name.casefold()] = value
            named = []
        silent = not named or named == ["echo."] or named[:2] == ["get-content", "nul"]
        if named:
            self.found.append((named, fed))
        if named[:2] == ["copy-item", "nul"] and len(named) > 2:
            self.found.append(([EMPTIES, named[-1]], fed))
        for file in outputs:
            if file.casefold() not in _NULL:
                self.found.append(([EMPTIES if silent or file in named[1:] else "out-file", file], fed))
        return named


_FILES, _NAMES = "\ue005", "\ue006"
"""Before the list of a loop: files that are read, or names."""


def _list_behind(words: list[str]) -> list[str]:
    """How the list begins that follows: `for %i in (…)`, and `for /f %i in (…)`, which reads files. Empty for none."""
    low = [one.casefold().lstrip("@") for one in words]
    if len(low) < 3 or low[0] != "for" or low[-1] != "in":
        return []
    return [_FILES] if "/f" in low else [_NAMES]


def _behind_conditions(words: list[str]) -> list[str]:
    """The command behind `@`, `if exist x`, `do` and `start /b`."""
    words = [words[0].lstrip("@"), *words[1:]] if words and words[0] != "@echo" else words
    for _ in range(20):
        first = words[0].casefold() if words else "-"
        if first in ("exist", "defined", "errorlevel"):
            words = words[2:]
        elif "==" in first:
            words = words[1:]
        elif first == "start":
            words = words[1:]
            while words and (words[0].startswith("/") or " " in words[0] or not words[0]):
                words = words[1:]
        elif first in _KEYWORDS or first == "/i" or first == "":
            words = words[1:]
        else:
            break
    if not words:
        return []
    name = words[0].casefold()
    if name == "rmdir" and any(word.casefold() in ("/s", "/q") for word in words):
        name = "rd"
    return [_IN_CMD.get(name, name), *words[1:]]


_IN_CMD = {"type": "get-content", "copy": "copy-item", "xcopy": "copy-item", "move": "move-item", "ren": "move-item"}
"""Commands by those of PowerShell that do the same: `type` is another one in other shells."""
