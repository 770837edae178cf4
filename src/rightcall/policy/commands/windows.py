"""PowerShell and cmd, read just far enough to see which commands run with which words. What neither of the two readers
understands is shown to a person by the rules for its parts: a variable in the place of a command asks.
"""

import re
from collections.abc import Iterator

from rightcall.base.text import regex
from rightcall.policy.commands.words import HOLE

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
}  # fmt: skip
_TOKEN = regex(
    r"(?P<blank>[ \t\r]+)|(?P<end>[;\n{}()]|&&|\|\||&)|(?P<pipe>\|)|(?P<single>'(?:[^']|'')*')"
    r"|(?P<double>\"(?:[^\"`]|`.)*\")"
    r"|(?P<comment>(?<![^\s;{}()])#[^\n]*)|(?P<word>(?:`.|[^\s;{}()|&'\"`])+)|(?P<odd>.)", re.DOTALL,
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
_BEFORE = frozenset(("&", ".", "=", "!", HOLE))
"""What may stand before a command: a call, an assignment."""


def read_windows(text: str, language: str) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Each command as its words, with the programs that are piped into it."""
    words: list[str] = []
    fed: tuple[str, ...] = ()
    glued = called = False
    if language == "powershell":
        text = _JOINED.sub(_join_texts, text)
    for found in _TOKEN.finditer(text):
        kind, value = found.lastgroup, found.group()
        if kind in ("blank", "comment"):
            glued = False
        elif value == "(" and glued and words and _STATIC.match(words[-1]):
            called, glued = True, False  # its arguments follow
        elif kind in ("end", "pipe"):
            named = _name_command(words, language)
            if named:
                yield named, fed
            fed = (*fed[-20:], named[0]) if kind == "pipe" and named else fed if kind == "pipe" else ()
            words, glued, called = [], False, False
        else:
            text = _unquote(kind or "", value)
            plain, *others = text.split(",") if called and kind == "word" else [text]
            if glued and words:
                words[-1] += plain
            elif plain or not others:
                words.append(plain)
            words += [one for one in others if one]
            glued = not others or others[-1] != ""
    named = _name_command(words, language)
    if named:
        yield named, fed


def _join_texts(found: "re.Match[str]") -> str:
    """`('.' + 'env')` and `(".", "env" -join "")` as one text, without the brackets around it unless they call."""
    written = found.group()
    texts = [one[1:-1] for one in re.findall(_TEXT, written)]
    if _FORM.search(written):
        made = re.sub(r"\{(\d)\}", lambda at: (*texts[1:], *[""] * 10)[int(at[1])], texts[0])
    else:
        made = texts.pop().join(texts) if _JOIN.search(written) else "".join(texts)
    called = written[0] == "(" and found.string[found.start() - 1 : found.start()].isalnum()
    return f"('{made}')" if called else f"'{made}'"


_TEXT = r"'[^']{0,300}'|\"[^\"$`]{0,300}\""
_PLUS = rf"(?:{_TEXT})(?:\s*\+\s*(?:{_TEXT})){{1,50}}"
_LIST = rf"(?:{_TEXT})(?:\s*,\s*(?:{_TEXT})){{0,50}}"
_JOIN, _FORM = regex(r"(?i)['\")]\s*-join\b"), regex(r"(?i)['\"]\s*-f\b")
_JOINED = regex(
    rf"\(\s*(?:{_PLUS}|\(?\s*{_LIST}\s*\)?\s*(?i:-join)\s*(?:{_TEXT})|(?:{_TEXT})\s*(?i:-f)\s*{_LIST}|{_TEXT})\s*\)"
    rf"|{_PLUS}"
)
"""Texts that are put together, in brackets or not; a text alone in brackets is the text."""


def _unquote(kind: str, value: str) -> str:
    if kind == "single":
        return value[1:-1].replace("''", "'")
    if kind == "double":
        value = value[1:-1]
    value = re.sub(r"\$env:(?:USERPROFILE|HOME)\b|%USERPROFILE%|\$HOME\b|\$\{HOME\}", "~", value, flags=re.IGNORECASE)
    return _VARIABLE.sub(HOLE, re.sub(r"[`^](.)", r"\1", value, flags=re.DOTALL)).replace("\\", "/")


def _name_command(words: list[str], language: str) -> list[str]:
    """The words without an assignment and keywords before the command, and the command by its full name."""
    for _ in range(20):
        if not words or not (words[0].casefold() in _KEYWORDS or (words[0] in _BEFORE and len(words) > 1)):
            break
        if words[0] == HOLE and words[1] not in ("=", "+="):
            break
        words = words[2:] if words[0] == HOLE else words[1:]
    if not words:
        return []
    name = words[0].casefold()
    if language == "powershell":
        name = _ALIASES.get(name, name)
    elif name == "rmdir" and any(word.casefold() in ("/s", "/q") for word in words):
        name = "rd"
    if "environment]::getenvironmentvariable" in name:
        return ["get-childitem", "env:"]
    if _STATIC.match(name):
        name = next((command for command, meant in _METHODS if meant.fullmatch(name)), name)
    if name.startswith("[") or re.fullmatch(r"[\d.]+", name):
        name = "[type]"
    return [name, *words[1:]]
