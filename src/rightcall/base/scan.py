"""Secrets that are known by their shape, wherever they stand in a text. Every pattern takes linear time.

The table is the listed set of promise A-02, with the names of `secrets.py`; docs/reference/audit.md shows it, and a
test keeps both the same.
"""

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.json import encode

from rightcall.base.text import REDACTED, regex

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor


_FREE = r"(?<![A-Za-z0-9])"
"""What stands before is no part of the same word."""


def _mixed(token: str) -> bool:
    """Not merely words with hyphens: random characters have a digit or a capital among them."""
    return any(character.isdigit() or character.isupper() for character in token)


def _is_login(token: str) -> bool:
    """`name:password` in Base64."""
    try:
        return b":" in a2b_base64(token.encode() + b"==")
    except ValueError:
        return False


class SecretShape(NamedTuple):
    """One kind of secret. Its first group is what is hidden, or all of it where there is none."""

    name: str
    signs: tuple[str, ...]
    """One of these stands in every text that holds it; quicker to look for than the pattern."""
    pattern: re.Pattern[str]
    sure: Callable[[str], bool] | None = None
    """Says no to what only looks like one."""


def _shape(name: str, signs: str, pattern: str, sure: Callable[[str], bool] | None = None) -> SecretShape:
    return SecretShape(name, tuple(signs.split()), regex(f"{_FREE}(?:{pattern})"), sure)


SHAPES: tuple[SecretShape, ...] = (
    _shape("JSON web token", "eyJ", r"eyJ[\w-]{8,}+(?:\.[\w-]*+){0,4}", lambda token: "." in token),
    _shape("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    _shape("GitHub fine-grained token", "github_pat_", r"github_pat_\w{20,}+"),
    _shape("GitLab token", "glpat- glptt- gldt- glrt- glcbt- glsoat- glft-",
           r"gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[\w-]{16,}+"),
    _shape("Slack token", "xox xapp-", r"(?:xox[a-z]{1,2}|xapp)-[\w-]{10,}+", _mixed),
    _shape("Slack or Discord webhook", "hooks.slack.com/ /webhooks/",
           r"hooks\.slack\.com/(?:services|workflows)/([\w/-]{10,}+)|(?<=/webhooks/)(\d{10,}+/[\w-]{20,}+)"),
    _shape("OpenAI, Anthropic or OpenRouter key", "sk-", r"sk-[\w-]{20,}+", _mixed),
    _shape("RightCall token", "rct_", r"rct_[\w-]{20,}+"),
    _shape("Stripe key", "_live_ _test_ whsec_", r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}+"),
    _shape("Google API key", "AIza", r"AIza[\w-]{35}"),
    _shape("Google OAuth secret", "ya29. GOCSPX- 1//0", r"(?:ya29\.|GOCSPX-|1//0)[\w-]{20,}+"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _shape("PyPI token", "pypi-", r"pypi-[\w-]{32,}+", _mixed),
    _shape("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}+"),
    _shape("SendGrid key", "SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    _shape("Twilio key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _shape("Telegram bot token", ":AA", r"\d{6,12}:AA[\w-]{30,}+"),
    _shape("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _shape("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _shape("Docker, Linear, Notion, Figma or Supabase token", "dckr_pat_ lin_api_ ntn_ figd_ sbp_",
           r"(?:dckr_pat|lin_api|ntn|figd|sbp)_[\w-]{20,}+"),
    _shape("Groq, xAI, Replicate, Perplexity or Tavily key", "gsk_ xai- r8_ pplx- tvly-",
           r"(?:gsk_|xai-|r8_|pplx-|tvly-)[\w-]{20,}+", _mixed),
    _shape("Vault or Terraform token", "hvs. hvb. hvr. .atlasv1.",
           r"(?:hv[sbr]|[A-Za-z0-9]{14}\.atlasv1)\.[\w-]{20,}+"),
    _shape("Grafana, Sentry or New Relic key", "glsa_ glc_ sntrys_ NRAK-",
           r"(?:glsa_|glc_|sntrys_|NRAK-)[\w+/=-]{20,}+"),
    _shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-f]{32}"),
    _shape("Atlassian token", "ATATT3 ATBB", r"(?:ATATT3|ATBB)[\w=-]{20,}+"),
    _shape("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _shape("Azure client secret", "8Q~", r"\w{3}8Q~[\w~.-]{30,}+"),
    _shape("age secret key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    _shape("Bearer value", "earer EARER", r"(?:[Bb]earer|BEARER)[ \t]++([\w.~+/=-]{16,}+)", _mixed),
    _shape("Basic value", "asic ASIC", r"(?:[Bb]asic|BASIC)[ \t]++([A-Za-z0-9+/=]{15,}+)", _is_login),
    _shape("signature in an address", "sig= ignature=",
           r"(?<=[?&;])(?:sig|X-Amz-Signature|X-Goog-Signature|Signature)=([^&\s\"'<>\\\[]{15,}+)"),
)  # fmt: skip

SIGNS: tuple[tuple[str, SecretShape], ...] = tuple((sign, shape) for shape in SHAPES for sign in shape.signs)

LONG_WORD = regex(r"[A-Za-z0-9_-]{15}")
"""Stands in every one of them."""

PRIVATE_KEY = regex(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:(?=-----)|\Z)(?:-----END [A-Z0-9 ]{0,60}-----)?"
)
"""PEM and OpenSSH; without an end, everything up to the next line of hyphens."""

LOGIN = regex(r"(?<=://)([^\s/?#@:\"'<>\\]*+)(:[^\s/?#\"'<>\\]*)?(?=@)")
"""Name and password in an address: the password, or a long name without one."""

AWS_SECRET = regex(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""Forty characters, hidden beside an AWS access key."""


def is_aws_secret(token: str) -> bool:
    """Not merely the hexadecimal name of a commit."""
    return not all(character in "0123456789abcdefABCDEF" for character in token)


# ── values ──
# Where in a text the value of a named secret stands: `password=…`, `"api_key": "…"`, `--token …`, `<pin>…</pin>`,
# header lines, and the ways in which models write arguments. One pass from left to right, in linear time.

LONGEST = 10_000
"""How far the end of a quoted or bracketed value is looked for."""

_NAMED = regex(
    r"""(?<![\w.\-])(?:
      (?P<option>--?[A-Za-z][\w.\-]*+) (?:[ \t]++ | \\*+["'][ \t]*+,\s*+(?=\\*+["']))
    | (?P<name>[\w.\-]++)
      (?: \\*+["'`]?\]?[ \t]*+
          (?P<sign>=>|:=|(?:value[ \t]*+)?={1,3}
            |:(?:[ \t]*+(?:Optional\[)?(?:str|bytes|string|String|SecretStr)\]?
                (?:[ \t]*+\|[ \t]*+(?:None|null))?[ \t]*+=)?)
          [ \t]*+
        | \\*+(?:["'](?:[ \t]++[\w\-]++=["'][^"'<>\n]{0,40}+["']){0,4}+)?(?:>\s*+|(?P<token><\|)\w++\|>)
        | </[\w:|.\-]++>\s*+<(?P<element>[\w:|.\-]++)> ))""",
    re.VERBOSE,
)
"""A name and what leads from it to its value: a sign, a tag that ends behind it, an element for each of the two."""

_QUOTE = regex(r"""(\\{0,16})("{3}|'{3}|["'`])""")
_OPENED = regex(r"(?<![\w?])<(?!/)([\w:|.\-]*+)[^<>]*+\Z")
"""The tag in which a name stands; not `List<Token>`, nor a group of a pattern."""
_TAG = regex(r"<[^<>\s]{0,40}>")
_INSIDE = {quote: regex(rf"(?:[^\\{quote}]|\\.)*+", re.DOTALL) for quote in "\"'`"}
_BRACKETS = regex(r"""\"(?:[^"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|[\[\](){}]""", re.DOTALL)
_LINE = regex(r"[^\r\n]*+")
_HEADER = {quote: regex(rf"[^\r\n\\<{quote}]*+") for quote in ("", '"', "'", "`")}
_FIELD = regex(r"[^;\r\n\"'<\\]*+")
"""Of a connection string, `Server=…;Password=…;`."""
_SHELL_WORD = regex(r"(?:\\[^nrt\"']|<(?![/|])|[^\s\"'`<>\\])++")
_WORD = regex(r"(?:<(?![/|])|[^\s\"'`<>\\,;&)\]}|])++")
_REFERENCE = regex(r"\$(?:[A-Z][A-Z0-9_]*+|\{[A-Z][A-Z0-9_]*+\})(?![\w$])")
"""A variable of the shell, which is not the secret itself."""

_WITH_BLANKS = regex(r"(?:authori[sz]ation|cookie)\Z", re.IGNORECASE)
"""Headers whose value goes on to the end of the line."""

_SETTING = regex(r"(?:^|\n)[ \t]*(?:export|set|env|ENV|ARG)?[ \t]*\Z")
_NO_VALUE = frozenset(
    ("none", "null", "nil", "undefined", "true", "false", "str", "string", "bytes", "int", "integer", "bool", "boolean",
     "any", "object", "required", "optional")
)  # fmt: skip
"""Bare words that are a type, or say that there is nothing."""


class Span(NamedTuple):
    start: int
    end: int


def named_values(text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    """The values of names that are secret, in order, none within another."""
    at = 0
    while (found := _NAMED.search(text, at)) is not None:
        name = found.lastgroup if found.lastgroup == "option" else "name"
        at = found.end(name)
        if not is_secret(found[name]):
            continue
        span = _value(text, found)
        if span.end > span.start and not REDACTED.match(text, span.start):
            at = span.end
            yield span


def _value(text: str, found: re.Match[str]) -> Span:
    """What is to be hidden after a name; empty where there is nothing."""
    start = found.end()
    if _REFERENCE.match(text, start):
        return Span(start, start)
    if found["name"] and not found["sign"]:
        return _in_markup(text, found)
    quote = _QUOTE.match(text, start)
    if quote is not None:
        return _quoted(text, quote)
    if text[start : start + 1] in ("[", "{") and not REDACTED.match(text, start):
        return Span(start, _bracket_end(text, start))
    tag = _TAG.match(text, start)
    return _bare(text, found) if tag is None else _between(text, tag)


def _bare(text: str, found: re.Match[str]) -> Span:
    start = found.end()
    name = found["option"] or found["name"]
    if _WITH_BLANKS.search(name):
        around = text[found.start() - 1 : found.start()]
        end = _end(_HEADER[around if around in _HEADER else ""], text, start)
        return Span(start, end)
    if found["sign"] == "=" and text[found.start() - 1 : found.start()] == ";":
        return Span(start, _end(_FIELD, text, start))
    end = _end(_SHELL_WORD if _ends_with_the_word(text, found) else _WORD, text, start)
    value = text[start : min(end, start + 200)]
    nothing = value.casefold() in _NO_VALUE or (bool(found["option"]) and value.startswith("-"))
    return Span(start, start if nothing or _is_place(name, value) else end)


def _ends_with_the_word(text: str, found: re.Match[str]) -> bool:
    """An option, or a variable that is set at the beginning of a line, as the shell has them."""
    if (found["option"] or found["name"]).startswith("-"):
        return True
    return found["sign"] == "=" and bool(_SETTING.search(text, max(0, found.start() - 20), found.start()))


def _is_place(name: str, value: str) -> bool:
    """`PWD=/home/me` is where the shell is, and `secret://…` an address."""
    return value.startswith("//") or (name.lower().endswith("pwd") and value.startswith("/"))


def _quoted(text: str, quote: re.Match[str]) -> Span:
    """Up to the same quote behind as many backslashes; without one, up to the end of the line."""
    slashes, mark = quote.groups()
    start, limit = quote.end(), min(len(text), quote.end() + LONGEST)
    if len(mark) == 3:
        end = text.find(mark, start, limit)
    elif slashes:
        closing = re.compile(rf"(?<!\\){re.escape(slashes)}{mark}").search(text, start, limit)
        end = closing.start() if closing else -1
    else:
        end = _end(_INSIDE[mark], text, start, limit)
        end = -1 if end == limit else end
    if end < 0:
        end = _end(_LINE, text, start, limit)
    return Span(start, start if _REFERENCE.fullmatch(text, start, end) else end)


def _bracket_end(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; without one, as far as is looked."""
    limit, depth = min(len(text), start + LONGEST), 0
    for found in _BRACKETS.finditer(text, start, limit):
        depth += (found[0] in "[({") - (found[0] in "])}")
        if depth == 0:
            return found.end()
    return limit


def _in_markup(text: str, found: re.Match[str]) -> Span:
    start = found.end()
    if found["token"]:
        return _until(found["token"], text, start)
    if found["element"]:
        return _until("</" + found["element"], text, start)
    opened = _OPENED.search(text, max(0, found.start() - 60), found.start())
    return Span(start, start) if opened is None else _until("</" + opened[1], text, start)


def _until(closing: str, text: str, start: int) -> Span:
    """Up to the closing mark; without one, up to the end of the line."""
    limit = min(len(text), start + LONGEST)
    end = text.find(closing, start, limit)
    return _trimmed(text, start, _end(_LINE, text, start, limit) if end < 0 else end)


def _between(text: str, tag: re.Match[str]) -> Span:
    """A value between two marks of the same kind, or up to the next tag."""
    end = text.find(tag[0], tag.end(), tag.end() + LONGEST)
    return Span(tag.end(), end) if end >= 0 else _until("<", text, tag.end())


def _trimmed(text: str, start: int, end: int) -> Span:
    return Span(start, start + len(text[start:end].rstrip()))


def _end(pattern: re.Pattern[str], text: str, start: int, limit: int | None = None) -> int:
    found = pattern.match(text, start, len(text) if limit is None else limit)
    return start if found is None else found.end()


# ── texts ──
# A text without its secrets: private keys, values of secret names, logins in addresses and commands, known shapes.

Hide = Callable[[str], str]
"""From a secret to what stands for it."""

_LONG_NAME = 20
"""Characters from which a name without a password, in an address, is taken for a token."""

_NOT_HIDDEN = r"(?!\[redacted [0-9a-f]{12}\])"
_COMMANDS: dict[str, re.Pattern[str]] = {
    "sshpass": regex(rf"(?<=sshpass)[ \t]++-p[ \t]*+{_NOT_HIDDEN}([^\s\"'\\]++)"),
    "curl": regex(
        rf"(?<=[ \t])(?:-u|-U|--user|--proxy-user)[ \t=]*+[\"']?[^\s:\"']{{1,100}}:{_NOT_HIDDEN}([^\s\"'\\]++)"
    ),
    "mysql": regex(rf"mysql\w*+[^\n|;&]{{0,200}}?[ \t]-p{_NOT_HIDDEN}([^\s\"'\\-][^\s\"'\\]*+)"),
}
"""Commands that take a password in a short option: those of `secrets.COMMANDS`."""


def without_secrets(text: str, is_secret: Callable[[str], bool], hide: Hide) -> str:
    """The text with every secret replaced by what `hide` makes of it; the same object when there is none."""
    clean = text
    if "-----BEGIN" in clean:
        clean = PRIVATE_KEY.sub(lambda found: hide(found[0]), clean)
    if "=" in clean or ":" in clean or ">" in clean or "-" in clean:  # else no name can have a value
        clean = _without_named(clean, is_secret, hide)
    if "://" in clean and "@" in clean:
        clean = LOGIN.sub(lambda found: _login(found, hide), clean)
    for command, pattern in _COMMANDS.items():
        if command in clean:
            clean = pattern.sub(lambda found: _but_hidden(found, 1, hide), clean)
    if "AKIA" in clean or "ASIA" in clean:
        clean = without_aws_secret(clean, hide)
    if LONG_WORD.search(clean):
        for shape in dict.fromkeys([shape for sign, shape in SIGNS if sign in clean]):
            clean = _without_shape(clean, shape, hide)
    return text if clean == text else clean


def without_aws_secret(text: str, hide: Hide) -> str:
    """For a text beside an AWS access key."""
    return AWS_SECRET.sub(lambda found: hide(found[0]) if is_aws_secret(found[0]) else found[0], text)


def _without_named(text: str, is_secret: Callable[[str], bool], hide: Hide) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in named_values(text, is_secret):
        pieces += (text[done:start], hide(text[start:end]))
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _without_shape(text: str, shape: SecretShape, hide: Hide) -> str:
    def replaced(found: re.Match[str]) -> str:
        group = found.lastindex or 0
        unsure = shape.sure is not None and not shape.sure(found[group])
        return found[0] if unsure else _but_hidden(found, group, hide)

    return shape.pattern.sub(replaced, text)


def _but_hidden(found: re.Match[str], group: int, hide: Hide) -> str:
    """What was found, with one group hidden."""
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:start] + hide(found[group]) + found[0][end:]


def _login(found: re.Match[str], hide: Hide) -> str:
    name, password = found[1], found[2]
    if len(name) >= _LONG_NAME:
        name = hide(name)
    return name + (":" + hide(password[1:]) if password and len(password) > 1 else password or "")


# ── walking a value ──
# One walk through a value that may hold secrets. Values that are shared or hold themselves are looked at once.

MOST_LOOKED = 20_000
"""Values in one thing that are looked at."""
DEEPEST = 100
"""Levels that are looked into; what lies deeper is hidden whole."""

_PAIR_NAMES = ("name", "key", "header", "field", "variable")
"""What a pair calls its name, when it is written as an object with a `value`."""
_STEPS = regex(r"[^.\[\]/]+")


class Walk:
    """`repeated`: secrets that are known from elsewhere, each with what stands for it; the longest first."""

    def __init__(self, redactor: "Redactor", repeated: Mapping[str, str]) -> None:
        self._redactor = redactor
        self._repeated = [(secret, encode(secret)[1:-1].decode(), mark) for secret, mark in repeated.items()]
        self._seen: dict[int, Any] = {}
        self._looked = 0

    def clean(self, thing: Any, depth: int = 0, near_aws_key: bool = False) -> Any:
        """The value without its secrets; the same object when it has none. Raises ValueError for a very large one."""
        self._looked += 1
        if self._looked > MOST_LOOKED:
            raise ValueError("too large to be looked through")
        if isinstance(thing, str):
            return self._text(thing, near_aws_key)
        if thing is None or isinstance(thing, (bool, int, float)):
            return thing
        if isinstance(thing, (bytes, bytearray)):
            text = thing.decode("latin-1")
            return thing if self._text(text, near_aws_key) == text else self._redactor.mark(text)
        if not isinstance(thing, (dict, list, tuple, set, frozenset, Mapping)):  # Mapping last: it takes its time
            return thing
        place = id(thing)  # pyright: ignore[reportUnknownArgumentType] - any object has one
        known = self._seen.get(place)
        if known is not None:
            return known
        if depth >= DEEPEST or place in self._seen:  # or it holds itself
            return self._redactor.whole(thing)
        self._seen[place] = None
        if isinstance(thing, (dict, Mapping)):
            found = self._mapping(cast("Mapping[Any, Any]", thing), depth)
        else:
            found = self._sequence(cast("Sequence[Any]", thing), depth)
        self._seen[place] = found
        return found

    def _text(self, text: str, near_aws_key: bool) -> str:
        clean = text
        for secret, as_json, mark in self._repeated:
            clean = clean.replace(secret, mark).replace(as_json, mark)
        clean = self._redactor.text(clean)
        if near_aws_key:
            clean = without_aws_secret(clean, self._redactor.mark)
        return text if clean == text else clean

    def _mapping(self, thing: Mapping[Any, Any], depth: int) -> Any:
        named = self._named_beside(thing)
        near = _holds_aws_key(thing.values())
        out: dict[Any, Any] = {}
        same = True
        for key, item in thing.items():
            written: Any = self._text(key, False) if isinstance(key, str) else key
            if key in named or (self._is_secret(key) and not self._redactor.is_answer(key, item)):
                new = self._redactor.whole(item)
            else:
                new = self.clean(item, depth + 1, near)
            same = same and new is item and written is key
            out[written] = new
        return thing if same else out

    def _named_beside(self, thing: Mapping[Any, Any]) -> tuple[str, ...]:
        """The fields of an object that another field calls secret: pairs of name and value, repairs and problems."""
        if "value" in thing and any(self._is_secret(thing.get(name)) for name in _PAIR_NAMES):
            return ("value",)
        path = thing.get("path")
        if isinstance(path, str) and ("before" in thing or ("message" in thing and "code" in thing)):
            steps = _STEPS.findall(path[-1000:])
            return ("before", "after", "message") if any(map(self._is_secret, steps)) else ()
        return ()

    def _sequence(self, thing: Sequence[Any], depth: int) -> Any:
        items = list(thing)
        near = _holds_aws_key(items)
        out: list[Any] = []
        for at, item in enumerate(items):
            before: Any = items[at - 1] if at else None
            is_value = self._is_secret(before) and (len(items) == 2 or before.startswith("-"))
            if is_value and not (isinstance(item, str) and item.startswith("-")):
                out.append(self._redactor.whole(item))
            else:
                out.append(self.clean(item, depth + 1, near))
        return thing if all(new is old for new, old in zip(out, items, strict=True)) else out

    def _is_secret(self, name: Any) -> bool:
        return isinstance(name, str) and self._redactor.is_secret(name)


def _holds_aws_key(items: Iterable[Any]) -> bool:
    return any(isinstance(item, str) and ("AKIA" in item or "ASIA" in item) for item in items)
