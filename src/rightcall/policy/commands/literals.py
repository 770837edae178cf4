"""Texts that code puts together from others, in languages that are not read by their syntax: JavaScript, Ruby, Perl,
PHP and Lua. `"." + "env"`, `["", "env"].join(".")` and `String.fromCharCode(46)` become the text that they stand for,
with a hole for what nobody knows. The code is not run, and what is not understood stays as it is.

    code ─▶ texts as numbered marks ─▶ what joins, cuts or decodes them, again and again ─▶ code with the texts whole
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable

from rightcall.base.text import regex
from rightcall.policy.commands.scanner import decode_escapes
from rightcall.policy.commands.words import HOLE

_LONGEST = 20_000
"""Of code in which texts are put together."""
_LONGEST_TEXT = 4096
_MOST_ROUNDS = 20
_OPEN, _CLOSE = "\ue100", "\ue101"
_P = f"{_OPEN}(\\d+){_CLOSE}"
_Q = f"{_OPEN}\\d+{_CLOSE}"
_LIST = f"\\s*{_Q}(?:\\s*,\\s*{_Q})*\\s*,?\\s*"
_NUMBERS = r"\s*(?:0x[0-9a-fA-F]{1,6}|\d{1,7})(?:\s*,\s*(?:0x[0-9a-fA-F]{1,6}|\d{1,7})){0,300}\s*"
_JOINS = regex(
    r"['\"`]\s*(?:[+.%]|\.\.|\))|[+.]\s*['\"`]|fromCharCode|fromCodePoint|\bchr\b|\.chr\b|\$\{|#\{|\bjoin|implode|sprintf"
    r"|\bformat|pack\b|strrev|atob|base64|Base64|\\x|\\u|['\"][,\]]"
    r"|\"[^\"\n]{0,300}\$"
)
"""A look before anything is put together."""
_TOKEN = regex(r"'(?:[^'\\]|\\.)*+'|\"(?>#\{[^{}]*\}|[^\"\\]|\\.)*+\"|`(?>\$\{[^{}]*\}|[^`\\]|\\.)*+`", re.DOTALL)
"""Possessive, so that a text that is not closed is looked at once."""
_HOLES = {"'": None, '"': regex(r"#\{([^{}]*)\}|\$\{([^{}]*)\}|\{\$(\w+)\}|\$(\w+)"), "`": regex(r"\$\{([^{}]*)\}")}
"""What stands for a value within a text, by its quotes."""
_HIDDEN = regex(
    r"(?:readFile\w*|createReadStream|\bopen\w*|\bFile\.\w+|\bIO\.\w+|file_get_contents|readfile|fopen|\bfile)\s*\(?\s*"
    r"(?>\[[^\[\]]{0,400}\]|[^,;\n]){0,200}?(?:fromCharCode|fromCodePoint|\bchr\b|atob|base64|Base64|\bpack\b|\breverse\b|strrev|Buffer\.from"
    r"|str_rot13|unescape|decodeURI\w*|hex2bin)"
)


def join_literals(program: str, code: str) -> str:
    """Code with the texts in it put together.

    >>> join_literals("node", "read('.' + \\"en\\" + `v`)"), join_literals("perl", "open F, chr(46).'env'")
    ("read('.env')", "open F, '.env'")
    """
    if len(code) > _LONGEST or not _JOINS.search(code):
        return code
    texts: list[str] = []
    marked = _mark_texts(re.sub(f"[{_OPEN}{_CLOSE}]", "", code), texts, program)
    for _ in range(_MOST_ROUNDS):
        before = marked
        for word, expression, make in _RULES:
            if not word or word in marked:
                marked = expression.sub(lambda found, make=make: _apply(found, texts, make), marked)
        marked = _put_names(marked)
        if marked == before or len(texts) > _LONGEST:
            break
    marked = _CHAIN.sub(lambda found: _with_holes(found.group(), texts), marked)
    return re.sub(_P, lambda found: _quote(texts[int(found[1])]), marked)


def hides_name(code: str) -> bool:
    """Whether code opens a file by a name that is decoded, and could not be put together."""
    return _HIDDEN.search(code) is not None


def _mark_texts(code: str, texts: list[str], program: str) -> str:
    """Code with a numbered mark for each text; what is put into a text is joined to its pieces."""

    def mark(found: "re.Match[str]") -> str:
        quote, inside = found.group()[0], found.group()[1:-1]
        holes = _HOLES[quote]
        if quote == '"' and program in ("node", "nodejs", "bun", "deno", "tsx", "ts-node", "lua"):
            holes = None
        if quote == "`" and program in ("perl", "ruby", "php"):
            return found.group()  # it runs
        if holes is None or not holes.search(inside):
            is_plain = quote == "'" and program in ("perl", "ruby", "php")
            return _mark(inside if is_plain else decode_escapes(inside), texts)
        pieces: list[str] = []
        at = 0
        for hole in holes.finditer(inside):
            inner = next((one for one in hole.groups() if one is not None), "")
            value = _TOKEN.sub(lambda one: _mark(decode_escapes(one.group()[1:-1]), texts), inner)
            pieces += [
                _mark(decode_escapes(inside[at : hole.start()]), texts),
                value if _SIMPLE.fullmatch(value) else "unknown",
            ]
            at = hole.end()
        return "+".join([*pieces, _mark(decode_escapes(inside[at:]), texts)])

    return _TOKEN.sub(mark, code)


_SIMPLE = regex(rf"\s*(?:[\w.]+|{_Q})(?:\s*\+\s*(?:[\w.]+|{_Q}))*\s*")


def _mark(text: str, texts: list[str]) -> str:
    texts.append(text[:_LONGEST_TEXT])
    return f"{_OPEN}{len(texts) - 1}{_CLOSE}"


def _apply(found: "re.Match[str]", texts: list[str], make: "Callable[[list[str], re.Match[str]], str | None]") -> str:
    given = [texts[int(one)] for one in re.findall(_P, found.group())]
    if sum(map(len, given)) > 2 * _LONGEST_TEXT:
        return found.group()
    text = make(given, found)
    return found.group() if text is None else _mark(text, texts)


def _with_holes(chain: str, texts: list[str]) -> str:
    """`"." + name + "v"`: a text with a hole in it."""
    pieces = re.split(r"\s*(?:\+|\.\.|(?<=[\ue101\w)])\s*\.(?=\s*[\ue100$]))\s*", chain)
    made = [texts[int(known[1])] if (known := re.fullmatch(_P, one)) else HOLE for one in pieces]
    text = re.sub(f"{HOLE}+", HOLE, "".join(made))
    return _mark(text, texts) if text.strip(HOLE) else chain


def _quote(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', '\\"') + '"'


_ASSIGNED = regex(
    rf"(?<![\w.$])(?:const\s+|let\s+|var\s+|my\s+|our\s+|local\s+)?(\$?[A-Za-z_]\w*)\s*=\s*({_Q})"
    r"(?=\s*(?:[;,\n)]|$))"
)


def _put_names(marked: str) -> str:
    """A name that is given one text, and nothing else, stands for that."""
    given: dict[str, list[str]] = {}
    for found in _ASSIGNED.finditer(marked):
        given.setdefault(found[1], []).append(found[2])
    for name, values in list(given.items())[:20]:
        if len(values) == 1 and len(re.findall(rf"(?<![\w.$]){re.escape(name)}\s*[+.]?=(?!=)", marked)) == 1:
            marked = re.sub(rf"(?<![\w.$]){re.escape(name)}(?!\w|\s*(?:[(:]|[+.]?=(?!=)))", values[0], marked)
    return marked


# ── what is done to texts ──────────────────────────────────────────────────────────────────────────────────────────


def decode_from(way: str, text: str) -> str | None:
    """What a text stands for that is written in another way."""
    try:
        raw = bytes.fromhex(text) if "hex" in way else b64decode(text + "=" * (-len(text) % 4))
        return raw.decode("utf-8")
    except (ValueError, Error):
        return None


def fill_percents(form: str, given: list[str | None]) -> str | None:
    """`%senv` with what is put into it; a hole for what is not known.

    >>> fill_percents("%senv", ["."]), fill_percents("%cenv", ["46"])
    ('.env', '.env')
    """
    values = iter(given)

    def put(found: "re.Match[str]") -> str:
        if found.group() == "%%":
            return "%"
        value = next(values, None)
        if value is None:
            return HOLE
        return chr(int(value)) if found[1] == "c" and value.isdigit() and int(value) < 0x11000 else value

    made = re.sub(r"%%|%(?:\(\w+\))?[-#0 +]{0,5}\d{0,4}(?:\.\d{1,4})?([a-zA-Z])", put, form)
    return made if len(made) <= _LONGEST_TEXT and made != HOLE else None


def fill_braces(form: str, given: list[str | None], named: dict[str, str | None]) -> str | None:
    """The same for `{}env`."""
    at = iter(range(len(given)))

    def put(found: "re.Match[str]") -> str:
        key = found[1]
        place = next(at, -1) if not key else int(key) if key.isdigit() else -1
        value = named.get(key) if key and not key.isdigit() else given[place] if 0 <= place < len(given) else None
        return HOLE if value is None else value

    made = re.sub(r"\{(\w*)(?:[!:][^{}]*)?\}", put, form)
    return made if len(made) <= _LONGEST_TEXT and made != HOLE else None


def _characters(_given: list[str], found: "re.Match[str]") -> str | None:
    numbers = [int(one, 16 if one[:2] == "0x" else 10) for one in re.findall(r"0x[0-9a-fA-F]+|\d+", found["numbers"])]
    return "".join(map(chr, numbers)) if all(one < 0x11000 for one in numbers) else None


def _piece(given: list[str], found: "re.Match[str]") -> str | None:
    start, end = int(found["start"]), found["end"]
    if end is None:
        return given[0][start:]
    length = found["verb"] in ("substr", "[")
    return given[0][start : start + int(end)] if length and start >= 0 else given[0][start : int(end)]


def _replace(text: str, old: str, new: str) -> str | None:
    return text.replace(old, new) if old and len(text) * max(len(new), 1) < _LONGEST_TEXT * 4 else None


def _by_case(given: list[str], found: "re.Match[str]") -> str:
    return given[0].upper() if re.search(r"[Uu]p|\buc\(", found.group()) else given[0].lower()


_Maker = Callable[[list[str], "re.Match[str]"], str | None]
_SIGN = r"\s*(?:\+|\.\.|\.)\s*"
_MADE = r"String\.from(?:CharCode|CodePoint)"
_ENDS = r"\s*(?:,\s*(?P<end>-?\d{1,5})\s*)?\)"
_START = r"\s*(?P<start>-?\d{1,5})"


def _first(given: list[str], _found: "re.Match[str]") -> str:
    return given[0]


def _all(given: list[str], _found: "re.Match[str]") -> str:
    return "".join(given)


def _by_first(given: list[str], _found: "re.Match[str]") -> str:
    return given[0].join(given[1:])


def _by_last(given: list[str], _found: "re.Match[str]") -> str:
    return given[-1].join(given[:-1])


def _as_path(given: list[str], _found: "re.Match[str]") -> str:
    return "/".join(given)


def _backwards(given: list[str], _found: "re.Match[str]") -> str:
    return given[0][::-1]


def _in_form(given: list[str], _found: "re.Match[str]") -> str | None:
    return fill_percents(given[0], list(given[1:]))


def _from_base64(given: list[str], _found: "re.Match[str]") -> str | None:
    return decode_from("base64", given[0])


_RULES: tuple[tuple[str, re.Pattern[str], _Maker], ...] = (
    ("", regex(rf"(?<![\w$\])])\(\s*{_Q}\s*\)"), _first),
    ("", regex(rf"{_Q}(?:{_SIGN}{_Q})+"), _all),
    ("String.from", regex(rf"{_MADE}\((?:\.\.\.\[)?(?P<numbers>{_NUMBERS})\]?\)"), _characters),
    (".map", regex(rf"\[(?P<numbers>{_NUMBERS})\]\.map\(\s*\(?(?P<one>\w+)\)?\s*=>\s*"
                   rf"{_MADE}\(\s*(?P=one)\s*\)\s*\)\.join\(\s*(?:{_Q})?\s*\)"), _characters),
    ("chr", regex(r"\bchr\s*(?:\(\s*)?(?P<numbers>\d{1,7})\b(?:\s*\))?"), _characters),
    (".chr", regex(r"(?P<numbers>\b\d{1,7})\.chr\b(?:\(\))?"), _characters),
    ("pack", regex(rf"\[(?P<numbers>{_NUMBERS})\]\.pack\({_Q}\)"), _characters),
    ("pack", regex(rf"\bpack\(?\s*{_Q}\s*,(?P<numbers>{_NUMBERS})\)?"), _characters),
    ("join", regex(rf"\[{_LIST}\]\.join(?:\(\s*\)|(?![\w(]))"), _all),
    ("join", regex(rf"\[{_LIST}\]\.join\(\s*{_Q}\s*\)"), _by_last),
    ("", regex(rf"(?<![\w.])(?:join|implode)\s*\(?\s*{_Q}\s*,\s*(?:\[|array\(|\()?{_LIST}[\])]?\)?"), _by_first),
    ("", regex(rf"\b(?:(?:path|File|posix)\.join|path\.resolve)\({_LIST}\)"), _as_path),
    ("concat", regex(rf"{_Q}\.concat\({_LIST}\)"), _all),
    ("", regex(rf"{_Q}\.(?:replace(?:All)?|g?sub)\(\s*{_Q}\s*,\s*{_Q}\s*\)"),
     lambda given, _found: _replace(given[0], given[1], given[2])),
    ("str_replace", regex(rf"str_replace\(\s*{_Q}\s*,\s*{_Q}\s*,\s*{_Q}\s*\)"),
     lambda given, _found: _replace(given[2], given[0], given[1])),
    ("reverse", regex(rf"\[\s*\.\.\.\s*{_Q}\s*\]\.reverse\(\)\.join\(\s*(?:{_Q})?\s*\)"), _backwards),
    ("reverse", regex(rf"{_Q}\.split\(\s*{_Q}\s*\)\.reverse\(\)\.join\(\s*{_Q}\s*\)"), _backwards),
    ("rev", regex(rf"{_Q}\.reverse\b(?:\(\))?|\b(?:str)?rev(?:erse)?\s*\(?\s*{_Q}\s*\)?"), _backwards),
    ("", regex(rf"{_Q}\.(?:to(?:Lower|Upper)Case|downcase|upcase)(?:\(\))?"), _by_case),
    ("", regex(rf"\b(?:strto(?:lower|upper)|lc|uc)\(\s*{_Q}\s*\)"), _by_case),
    ("", regex(rf"{_Q}\.(?P<verb>slice|substring|substr)\({_START}{_ENDS}"), _piece),
    ("substr", regex(rf"\b(?P<verb>substr)\(\s*{_Q}\s*,{_START}{_ENDS}"), _piece),
    ("", regex(rf"(?:\batob|base64_decode|decode_base64|Base64\.\w*decode64)\(\s*{_Q}\s*\)"), _from_base64),
    ("Buffer", regex(rf"Buffer\.from\(\s*{_Q}\s*,\s*{_Q}\s*\)"), lambda given, _found:
     decode_from(given[1], given[0]) if given[1] in ("base64", "hex") else given[0]),
    ("hex2bin", regex(rf"hex2bin\(\s*{_Q}\s*\)"), lambda given, _found: decode_from("hex", given[0])),
    ("", regex(rf"(?:\bsprintf|\bformat|util\.format)\(?{_LIST}\)?"), _in_form),
    ("%", regex(rf"{_Q}\s*%\s*(?:\[{_LIST}\]|{_Q})"), _in_form),
    ("", regex(rf"{_Q}\.(?:toString|to_s|freeze|normalize|valueOf)\b(?:\((?:{_Q})?\))?"), _first),
    ("", regex(rf"{_Q}\.(?:trim\w*|strip|chomp)\b(?:\(\))?"), lambda given, _found: given[0].strip()),
)  # fmt: skip
"""A word that must be there, what is looked for, and what the texts in it make."""
_UNKNOWN = r"[$A-Za-z_][\w$]{0,60}(?:\.[A-Za-z_]\w{0,60}){0,4}(?:\([^()]{0,100}\)|\[[^\[\]]{0,60}\])?"
_OPERAND = f"(?:{_Q}|{_UNKNOWN})"
_CHAIN = regex(rf"{_OPERAND}(?:\s*(?:\+|\.\.|\.(?=\s*[\ue100$]))\s*{_OPERAND})+")
