"""What the arguments of a tool that nobody described are, by their names: whoever calls one `command` means a command,
whoever calls one `path` a path. They are found wherever they stand, also in JSON that is written as a text. And
repeated calls, where nobody can say whether anything has changed meanwhile."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from shlex import join, quote
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.files.guarded import LONGEST, drop_padding, in_one_line
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys, found_at, plain_name
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped, regex
from rightcall.catalog.tool import Tool
from rightcall.errors import RightCallError
from rightcall.policy.decide import decide
from rightcall.policy.types import Decision, Finding, Request, Rights, same_scope
from rightcall.record.tables import Tables, read_end

if TYPE_CHECKING:
    from rightcall.executor.toolbox import Inner

Kind = Literal["command", "url", "code", "program", "path", "place", "patch", ""]

_COMMANDS = frozenset(
    ("bash", "shell", "sh", "zsh", "script", "shellscript", "argv", "exec", "execute", "run", "chars", "keystrokes")
)  # fmt: skip
_URLS = frozenset(("href", "endpoint", "link", "address", "webhook"))
_COMMAND_ENDS = ("command", "commands", "cmd", "cmds")
_URL_ENDS = ("url", "urls", "uri", "uris")
_PATH_ENDS = (
    "path", "paths", "file", "files", "filename", "filenames", "folder", "folders", "directory", "directories", "dir",
    "dirs",
)  # fmt: skip
_FOLLOWED = regex(
    r".*(?:command|cmd|url|uri)s?(?:lines?|text|str|strings?|list|array|value|name|sequence"
    r"|to(?:run|execute|exec|invoke|call|start|use|fetch|open|load|read|get|visit))"
)
"""What may follow: `command_line`, `cmd_to_run`, `url_list`."""
_PATH_WORDS = ("path", "file", "folder", "dir")
"""Wherever they stand in a name it is about a path, though what it holds may be another thing of it."""
_PATH_FOLLOWED = regex(
    r".*(?:path|file|folder|dir(?:ector(?:y|ie))?)s?(?:names?|strs?|strings?|list|array|value"
    r"|(?:to|in)[a-z]+)"
)
"""`file_to_read`, `pathName`, `folder_list`."""
_OF_A_FILE = (
    "type", "types", "extension", "extensions", "ext", "exts", "format", "formats", "encoding", "content", "contents",
    "text", "mode", "size", "count", "hash", "id", "ids", "kind", "title", "description", "separator", "profile",
    "profiles", "profilename", "profilenames",
)  # fmt: skip
"""What else is said of a file: `file_type`."""
_PROGRAMS = frozenset(("program", "executable", "binary", "exe", "file"))
"""Names of what is started, where its words stand beside it."""
_PLACES = frozenset(
    ("source", "sources", "src", "destination", "dest", "dst", "target", "targets", "root", "from", "to", "location",
     "input", "inputs", "output", "document", "documents", "attachment", "attachments", "image", "cwd", "resource",
     "old", "new", "include", "in", "out", "fname", "img", "config", "template", "database", "asset", "assets",
     "entry", "entries", "notebook", "workbook", "archive", "doc", "docs", "glob", "globs")
)  # fmt: skip
"""Names of paths that also mean other things: a value counts only where it looks like a path."""
_PLACE_ENDS = ("saveto", "saveas", "writeto", "exportto", "copyto", "moveto", "readfrom", "loadfrom", "importfrom")
_PATCHES = frozenset(("patch", "patches", "diff", "diffs", "unifieddiff"))
_BEGINS_PATCH = "*** Begin Patch"
_KEYED = frozenset(("changes", "edits", "updates", "writes", "modifications"))
"""Names of what may stand under the names of files: `{"changes": {"a.txt": [...]}}`."""
_CONTENT = frozenset(
    ("content", "contents", "text", "filetext", "filecontent", "filecontents", "newtext", "oldtext", "newstring",
     "oldstring", "newstr", "oldstr", "newcontent", "message", "description", "markdown", "html", "prompt")
)  # fmt: skip
"""Names of what is written or said. JSON in it is a document, and no arguments."""
_MOST = 5000
"""Values in the arguments that are looked into."""
_LONGEST = 20_000_000
"""Characters of a text that is opened. Of a longer one nobody says what is in it."""
_LONGEST_LOOSE = 200_000
_MOST_TEXTS = 20_000
_MANY = 1000
"""Texts in one argument, of which prose is not taken for paths any more."""
UNREADABLE = "\0 unreadable"
"""In the place of what nobody would look through, or can say for sure: it cannot be judged."""


class Spot(Struct, frozen=True):
    """One value in the arguments, and what stands around it."""

    top: str
    """The argument of the call that it stands in."""
    name: str
    value: Any
    around: Mapping[str, Any]
    within: str = ""
    """The name of what it stands in."""


@lru_cache(1024)
def kind_of(name: str) -> Kind:
    """What an argument of this name holds. Case, separators and letters that only look like others do not count:
    `bashCommand`, `base-url`."""
    plain = plain_name(name).rstrip("0123456789")
    if plain in _COMMANDS or plain.endswith(_COMMAND_ENDS):
        return "command"
    followed = any(one in plain for one in ("command", "cmd", "url", "uri")) and _FOLLOWED.fullmatch(plain) is not None
    if followed and ("command" in plain or "cmd" in plain):
        return "command"
    if followed or plain in _URLS or plain.endswith(_URL_ENDS):
        return "url"
    if plain == "code":
        return "code"
    if plain in _PATCHES:
        return "patch"
    if plain in _PROGRAMS:
        return "program"
    about = any(word in plain for word in _PATH_WORDS) and not plain.endswith(_OF_A_FILE)
    if about and (plain.endswith(_PATH_ENDS) or _PATH_FOLLOWED.fullmatch(plain) is not None):
        return "path"
    return "place" if about or plain in _PLACES or plain.endswith(_PLACE_ENDS) else ""


@lru_cache(1024)
def is_typed(name: str) -> bool:
    """Whether an argument of this name holds what is typed, for a tool that is called after a shell."""
    return plain_name(name).rstrip("0123456789") in _TYPED


_TYPED = frozenset(
    ("input", "text", "data", "keys", "line", "lines", "stdin", "content", "string", "characters", "message", "code")
)


def may_be_json(value: Any) -> bool:
    return type(value) is str and value[:1] in _BEFORE and value.lstrip("\ufeff \t\r\n")[:1] in _OPENING


_OPENING = ("{", "[", '"')
_BEFORE = frozenset((*_OPENING, "\ufeff", " ", "\t", "\r", "\n"))
"""How a text begins in which JSON does: one look settles most."""


def may_hold(arguments: Mapping[str, Any], tool: str) -> bool:
    """Whether an argument is named like a command or an address, or could have one inside."""
    if _language_named(tool) == "" and any(map(is_typed, arguments)):
        return True
    for name, value in arguments.items():
        if type(value) in _NESTED or kind_of(name) in _JUDGED or may_be_json(value):
            return True
    return False


_JUDGED = frozenset(("command", "url", "code", "program"))


def opened(value: Any) -> Any:
    """A value, or what a JSON text holds, and the text in that; a text with a key twice cannot be judged, and one that
    is not JSON stays as it is."""
    while may_be_json(value):
        text = value.strip("\ufeff \t\r\n")
        if len(text) > _LONGEST:
            return UNREADABLE
        inside = attempt(text)
        if inside is NO_JSON:
            return _read_loosely(value, text)
        if duplicate_keys(text, inside):
            return UNREADABLE
        value = inside
    return value


def _read_loosely(value: str, text: str) -> Any:
    """Some who take arguments as a text take more than JSON: `{'command': 'ls'}`."""
    if text[0] == '"' or text[-1] not in "}]":
        return value
    if len(text) > _LONGEST_LOOSE:
        return UNREADABLE
    from rightcall.base.json.find import read_lenient  # late: hardly any text needs it

    try:
        inside = read_lenient(text).value
    except (RightCallError, ValueError, RecursionError):
        return value
    return cast("Any", inside) if isinstance(inside, dict | list) else value


def spots(arguments: Mapping[str, Any]) -> Iterator[Spot]:
    """Every named value in the arguments, as deep as they nest. One that is called UNREADABLE ends what is too much."""
    todo: list[tuple[str, str, Any]] = [("", "", arguments)]
    top = ""
    for _ in range(_MOST):
        if not todo:
            return
        top, within, value = todo.pop()
        if isinstance(value, dict):
            inside = cast("dict[str, Any]", value)
            for name, one in inside.items():
                yield Spot(top or name, name, one, inside, within)
                read = one if plain_name(name) in _CONTENT else opened(one)
                if isinstance(read, dict | list):
                    todo.append((top or name, name if kind_of(name) else within or name, cast("Any", read)))
                elif read is UNREADABLE:
                    yield Spot(top or name, UNREADABLE, UNREADABLE, inside)
        elif isinstance(value, list):
            read_items = map(opened, cast("list[Any]", value))
            todo += [(top, within, one) for one in read_items if isinstance(one, dict | list)]
    yield Spot(top, UNREADABLE, UNREADABLE, {})


def guessed_paths(arguments: Mapping[str, Any], is_there: Callable[[str], bool]) -> Iterator[str]:
    """The values that are likely to be paths, as they are written. A word that may mean anything is one where a file of
    that name is there: `{"target": "id_rsa"}`."""
    if is_flat(arguments):
        for name, value in arguments.items():
            kind = kind_of(name)
            if kind in _PATH_KINDS and isinstance(value, str):
                yield from _paths_in(name, kind, value, is_there)
        return
    for spot in spots(arguments):
        if spot.name is UNREADABLE:
            yield UNREADABLE
            return
        kind, around = kind_of(spot.name), kind_of(spot.within)
        if around in _FILE_KINDS or plain_name(spot.within) in _KEYED:
            yield from filter(None, (_as_path(spot.name, "place", spot.name, is_there),))
        if not kind and around in _PATH_KINDS:
            kind = _kind_within(around, plain_name(spot.name))
        if kind in _PATH_KINDS:
            texts = list(_texts(spot.value))
            for text in texts if len(texts) <= _MANY else (one for one in texts if not _is_prose(one)):
                yield from _paths_in(spot.name, kind, text, is_there)


def _kind_within(around: Kind, plain: str) -> Kind:
    """What a value is whose own name says nothing, by what it stands in: `{"files": [{"name": "a.txt"}]}`,
    `{"source": {"value": "a.txt"}}`."""
    if around in _FILE_KINDS:
        return "path" if plain == "name" else "" if plain.endswith(_NO_PLACE) else "place"
    return "place" if around in _UNSURE_KINDS and plain in _ITSELF else ""


def is_flat(arguments: Mapping[str, Any]) -> bool:
    """Whether no argument holds others, nor is a text that could be JSON: most calls."""
    for value in arguments.values():  # noqa: SIM110  (a generator takes twice as long)
        if type(value) in _NESTED or may_be_json(value):
            return False
    return True


def _paths_in(name: str, kind: Kind, text: str, is_there: Callable[[str], bool]) -> list[str]:
    if kind == "patch" or text.startswith(_BEGINS_PATCH):
        from rightcall.policy.commands.git import paths_in_patch  # late: few tools take one

        return paths_in_patch(text)
    return [path for one in _separated(name, text) if (path := _as_path(name, kind, one, is_there))]


_NESTED = frozenset((dict, list))
_FILE_KINDS = frozenset(("path", "program"))
_NO_PLACE = (*_CONTENT, *_OF_A_FILE)
_PATH_KINDS = frozenset(("path", "place", "program", "url", "patch"))
_ITSELF = frozenset(("name", "value", "ref"))
"""Names of what stands for the whole that they are in."""


def _texts(value: Any) -> Iterator[str]:
    todo: list[Any] = [value]
    for _ in range(_MOST_TEXTS):
        if not todo:
            return
        one = opened(todo.pop())
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            todo += [inside for inside in cast("list[Any]", one) if isinstance(inside, str | list)]
    yield UNREADABLE


def _is_prose(text: str) -> bool:
    return text.count(" ") > 4 and not any(sign in text for sign in _IN_PATHS if sign != ".")


def _separated(name: str, text: str) -> list[str]:
    """A text, and where it may name several paths, each of them: `a.txt, b.txt`."""
    if not ("," in text or ";" in text or "\n" in text) or not plain_name(name).endswith(_SEVERAL):
        return [text]
    return [text, *text.replace(";", ",").replace("\n", ",").split(",")]


_SEVERAL = tuple(end for end in _PATH_ENDS if end.endswith("s"))


def _as_path(name: str, kind: Kind, text: str, is_there: Callable[[str], bool]) -> str:
    """A text as a path, empty for one that is none: an address, several lines, a word that may mean anything."""
    bare = text.strip()
    plain = plain_name(name)
    is_named = plain.endswith(_NAMED)
    if "\n" in bare and not is_named:  # nobody opens several lines, unless a reader leaves out what stands before
        joined = bare.replace("\r", "").replace("\t", "").replace("\n", "")  # as whoever reads addresses does
        text = bare = joined if kind == "url" or joined[:5].lower() == "file:" else in_one_line(bare)
    if not bare:
        return ""
    if bare[:5].lower() == "file:":
        return bare
    if _is_address(plain, kind, bare):
        return ""
    is_word = kind in _UNSURE_KINDS and bare.isascii() and not any(sign in bare for sign in _IN_PATHS)
    if len(bare) > LONGEST and not is_named:
        text = bare = drop_padding(bare)
    return text if not is_word or (bare and is_there(bare)) else ""


def _is_address(plain: str, kind: Kind, bare: str) -> bool:
    """Whether a text where an address is expected can be no path. One without a scheme is a path."""
    if kind != "url":
        return False
    scheme = _SCHEME.match(bare)
    if scheme is None:
        return plain in _NO_FILES and bare[0] not in "/.~\\"
    if "." in scheme[1] and not scheme[2]:  # `server.key:10`, `server.key::$DATA`
        return False
    return scheme[1].lower() in _OF_THE_WEB or not (scheme[2] or _climbs(bare))


def address_folder(path: str) -> str:
    """Where a text is an address, the folder that it would have to lie in to be a path all the same: `s3:`. Empty for
    every other text."""
    scheme = _SCHEME.match(path) if "://" in path else None
    return path[: scheme.end(1) + 1] if scheme is not None and scheme[2] and not _climbs(path) else ""


def _climbs(address: str) -> bool:
    """Whether an address may lead elsewhere for whoever takes it for a path, or opens it in an editor: `x://../.env` is
    `.env`."""
    return not address.isascii() or any(sign in address for sign in _CLIMBING) or _FILE.match(address) is not None


_NAMED = ("path", "paths", "filename", "filenames")
_CLIMBING = ("..", "%", "\\", "://file/", "://open/", "://vscode-remote/")
_FILE = regex(r"(?i:(?:[a-z0-9.-]+\+)?file|netdoc|unix):")
"""Schemes that mean a file of this machine: `git+file:///srv/x`."""
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
"""A single letter is a drive."""
_OF_THE_WEB = frozenset(("http", "https", "ws", "wss"))
_NO_FILES = frozenset(("endpoint", "address", "webhook"))
"""Names of what is elsewhere, whatever it is called there."""
_UNSURE_KINDS = frozenset(("place", "url"))
_IN_PATHS = ("/", "\\", ".", "~", "$", "%", "\0")


# ── repeated calls ──
# The same call again (P-07). Where nobody can say what a call touches, whether anything has changed is seen from what
# it gave: as long as that differs, asking again is no loop.
#
# A record holds no answers, so each completed call keeps a keyed digest of what it gave. Of a call whose answer nobody
# sees (the client runs it) the summary has to do.

log = LateLog()

LOOP = "loop"
"""The rule that refuses it."""
_MOST_REPEATS = 1 << 20
"""Bytes of an answer that are compared; of a longer one its two ends, and its length."""
_SHORT = slice(len("keyed:"), len("keyed:") + 16)
"""Of a keyed digest: two answers of one call need no more to be told apart, and a record is small."""
_MOST_TOLD = 1_000
_NAME = regex(r"[A-Za-z0-9_./:-]{1,200}")
"""Of a tool, where it can be copied into a policy as it is: no pattern, no quotes."""


def decided(request: Request, tables: Tables, *, runs_here: bool = False) -> Decision:
    """The decision on a request, where a repeated call is only refused if it gave the same each time. `runs_here`: we
    run the tool ourselves. Then a state that is known says more than its answer, and a call that still runs has
    changed nothing; a host may never tell how one ended."""
    decision = decide(request, tables)
    if decision.rule != LOOP or (runs_here and request.state and not request.unsure):
        return decision
    given = _given_before(request, tables)
    ended = given - {None}
    if len(ended) > 1 or (not runs_here and (not ended or given != ended)):
        return decide(replace(request, repeatable=True), tables)
    if not ended or given != ended:  # one still runs, and what it will give nobody knows
        return decision
    return replace(decision, reason=decision.reason.replace("nothing changed", "it gave the same each time"))


def _given_before(request: Request, tables: Tables) -> set[tuple[str, str | None, str] | None]:
    scope = same_scope(request, tables.changes())
    marks = [tables.nth_last(scope, number) for number in range(1, request.rights.repeats)]
    return {_read_outcome(tables, mark.call) for mark in marks if mark is not None}


def _read_outcome(tables: Tables, call: int) -> tuple[str, str | None, str] | None:
    """What came of a call; None while it still runs."""
    for entry in tables.belonging(call):
        if entry.kind == "end":
            end = read_end(entry.body)
            return (end.status, None, end.answer) if end.answer else (end.status, end.error, end.summary)
    return None


def answer_digest(answer: Any, redactor: Redactor) -> str:
    """What tells one answer from another, and nobody can guess the answer from; "" for what cannot be compared, which
    is everything that is neither text nor JSON. Never raises."""
    if answer is None:
        return ""
    try:
        raw = answer if isinstance(answer, bytes) else _plain_bytes(answer)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
    if len(raw) > _MOST_REPEATS:
        half = _MOST_REPEATS // 2
        raw = b"%b\0%d\0%b" % (raw[:half], len(raw), raw[-half:])
    return redactor.keyed(raw)[_SHORT]


def _plain_bytes(answer: Any) -> bytes:
    if isinstance(answer, str):
        return answer.encode("utf-8", "surrogatepass")
    return json.encode(answer, order="deterministic")


class LoopNews:
    """Tells the operator, once for each tool, how a call that is polled can be allowed; the model reads that nowhere.
    Thread-safe."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def tell(self, tool: str) -> None:
        with self._lock:
            if tool in self._told or len(self._told) >= _MOST_TOLD:
                return
            self._told.add(tool)
        name = escaped(tool, 100)
        log.warning("rightcall: repeated calls of %s are refused as a loop; %s", name, how_to_allow(tool))


def how_to_allow(tool: str) -> str:
    """What an operator can do about it.

    >>> how_to_allow("jobs/status")
    'to allow polling it, add it to the policy: [policy] repeatable = ["jobs/status"]'
    """
    if not _NAME.fullmatch(tool):  # whoever chose it may want more than itself allowed
        return "its name contains characters not allowed in a policy, so it cannot be allowed by name"
    return f'to allow polling it, add it to the policy: [policy] repeatable = ["{tool}"]'


# ── commands, code and addresses in arguments, and what is found in them ──────────────────────────────────────────────

_WORDS = frozenset(("args", "arguments", "argv", "parameters", "params", "flags", "options", "argumentlist"))
_INPUTS = frozenset(("stdin", "input", "standardinput", "inputdata"))
_ENVIRONMENTS = frozenset(("env", "environment", "envvars", "environmentvariables"))
_MORE = _INPUTS | _ENVIRONMENTS
"""Names of what else a command gets, where it stands beside the command."""
_FOLDERS = frozenset(
    ("cwd", "workdir", "workingdir", "workingdirectory", "directory", "dirpath", "dir", "folder", "path", "root")
)
"""Names of the folder in which a command starts, where it stands beside the command."""
_LANGUAGES = {
    "python": "python", "python3": "python", "py": "python", "nodejs": "node", "node": "node", "javascript": "node",
    "js": "node", "typescript": "node", "ruby": "ruby", "perl": "perl", "php": "php", "powershell": "powershell",
    "pwsh": "powershell", "cmd": "cmd", "r": "rscript", "lua": "lua", "applescript": "osascript",
}  # fmt: skip
_SHELLS = ("terminal", "shell", "bash", "sh", "zsh", "console")
_SAY_LANGUAGE = ("runtime", "language", "lang", "interpreter", "shell", "kind")
_UNSURE = frozenset(
    ("script", "exec", "execute", "run", "shell", "link", "address", "commands", "chars", "keystrokes", "input")
)
"""Names that also mean other things: code of another language, a name, a number of steps."""
_MOST_JUDGED = 200
"""Commands and addresses in one call; more are not judged one by one."""


class JudgedArguments(Struct, frozen=True):
    """What the request takes over."""

    findings: tuple[Finding, ...] = ()
    arguments: tuple[str, ...] = ()
    paths: tuple[tuple[str, str, bool], ...] = ()
    """As written, whole, and whether it is written to."""


NOTHING = JudgedArguments()


class _Given(Struct, frozen=True):
    """One value that is judged."""

    argument: str
    value: Any
    url: bool
    language: str
    sure: bool
    folders: tuple[str, ...] = ()
    """Where it starts, as the call says."""


def judged_arguments(
    tool: Tool, arguments: dict[str, Any], inner: "tuple[Inner, ...]", rights: Rights, bases: tuple[str, ...], name: str
) -> JudgedArguments:
    """Nothing is loaded for a call without a command or an address. `bases` are the root and, where that is known, the
    folders in which a command starts; `name` is what the tool was called, whether or not it is known."""
    given = list(_find_commands(tool, arguments, name))
    for one in inner:
        for known in one.tools:
            for called in one.arguments:
                given += _find_commands(known, called)
        if not one.tools:
            for called in one.arguments:
                given += _by_name(one.names[0] if one.names else "", called)
    return _judged(given, rights, bases) if given else NOTHING


def _judged(given: list[_Given], rights: Rights, bases: tuple[str, ...]) -> JudgedArguments:
    from rightcall.policy.commands.judgement import Judgement, judge_code, judge_command, judge_url  # late: see above
    from rightcall.policy.commands.places import Place

    findings: list[Finding] = []
    paths: dict[tuple[str, str, bool], None] = {}
    if len(given) > _MOST_JUDGED:
        findings.append(Finding("ask", "command:unreadable", "the call has too many commands to judge"))
    for one in given[:_MOST_JUDGED]:
        # a tool may take the folder that the call names, or not
        place = Place.at(bases[0], (*one.folders, *(bases[1:] or bases)) if one.folders else bases[1:])
        judgement: Judgement
        if one.url:
            judgement = judge_url(one.value, rights.urls, place)
        elif one.language:
            judgement = judge_code(one.language, str(one.value), rights.commands, rights.urls, place)
        else:
            judgement = judge_command(one.value, rights.commands, rights.urls, place)
            if not one.sure and any(found.rule == "command:unreadable" for found in judgement.findings):
                judgement = judge_code("node", str(one.value), rights.commands, rights.urls, place)
        findings += judgement.findings
        paths |= dict.fromkeys((path.written, path.whole, path.writes) for path in judgement.paths)
    return JudgedArguments(tuple(findings), tuple(dict.fromkeys(one.argument for one in given)), tuple(paths))


def _find_commands(tool: Tool, arguments: Mapping[str, Any], called: str = "") -> Iterator[_Given]:
    rules, called = tool.rules, called or tool.name
    for url, places in ((False, rules.commands), (True, rules.urls)):
        for place in places:
            name = place.split(".")[0].split("[")[0]
            for value in found_at(arguments, place):
                yield from _values(_Beside(called, arguments), name, value, url, True)
    if not rules.commands and not rules.urls and not tool.is_described:
        patches = {plain_name(place) for place in rules.patches}
        kept = {name: one for name, one in arguments.items() if plain_name(name) not in patches}
        yield from _by_name(called, kept if patches else arguments)


def _by_name(tool: str, arguments: Mapping[str, Any]) -> Iterator[_Given]:
    for spot in spots(arguments):
        if spot.name is UNREADABLE:
            yield _Given(spot.top, UNREADABLE, False, "", True)
        else:
            yield from _named(_Beside(tool, spot.around), spot.top, spot.name, spot.value)


class _Beside(Struct, frozen=True):
    """What stands beside a command and says how it is meant."""

    tool: str
    around: Mapping[str, Any]
    is_code: bool = False
    """It stands under a name for code: then the tool's name may say of what language."""

    def words(self) -> list[Any]:
        """The arguments of a program, where they stand apart from it."""
        return [opened(value) for name, value in self.around.items() if plain_name(name) in _WORDS]

    def folders(self) -> tuple[str, ...]:
        said = (value for name, value in self.around.items() if plain_name(name) in _FOLDERS)
        return tuple(value for value in said if isinstance(value, str) and value and "\0" not in value)


def _named(beside: _Beside, top: str, name: str, value: Any) -> Iterator[_Given]:
    kind, unsure = kind_of(name), plain_name(name) in _UNSURE or is_typed(name)
    if kind == "url":
        if not unsure or ":/" in (text := str(value)) or ":\\" in text:
            yield from _values(beside, top, value, True, True)
    elif (
        kind == "command"
        or (kind == "program" and beside.words())
        or (kind == "code" and (_says_language(beside.around) or _language_named(beside.tool) is not None))
        or (is_typed(name) and _language_named(beside.tool) == "")
    ):
        beside = replace(beside, is_code=kind == "code")
        yield from _values(beside, top, value, False, not unsure)


def _values(beside: _Beside, name: str, value: Any, url: bool, sure: bool) -> Iterator[_Given]:
    """A text is a command line; a list of words is one command, a list of lists or lines are several. JSON in a text
    counts as both."""
    inside = opened(value)
    if inside is not value and isinstance(inside, dict | list):
        yield from _values(beside, name, inside, url, sure)
    if isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            if isinstance(item, str | list | dict):
                yield from _values(beside, name, item, url, sure)
        return
    language = "" if url else _language(beside)
    folders = () if url else beside.folders()
    if isinstance(value, str):
        yield _Given(name, value, url, language, sure, folders)
        if not url and not language:
            for more in beside.words():
                yield from _with_words(name, value, more, folders)
            yield from _with_more(beside, name, value, folders)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        words = [item for item in items if isinstance(item, str)]
        if url or language:
            yield from (_Given(name, word, url, language, sure, folders) for word in words)
        elif words:
            yield _Given(name, words, url, language, sure, folders)
            yield from _with_more(beside, name, words, folders)
            if len(words) == 1 or (len(words) < 50 and any(" " in word for word in words)):
                for word in words:  # lines, to another reader
                    yield _Given(name, word, url, language, False, folders)
        for item in items:
            if isinstance(item, list | dict):
                yield from _values(beside, name, item, url, sure)


def _with_words(name: str, program: str, more: Any, folders: tuple[str, ...]) -> Iterator[_Given]:
    """`{"command": "git", "args": ["push", "--force"]}`: started as words, or as a line."""
    if isinstance(more, str):
        yield _Given(name, f"{program} {more}", False, "", True, folders)
    elif isinstance(more, list):
        words = [str(item) for item in cast("list[Any]", more) if isinstance(item, str | int | float)]
        yield _Given(name, [*program.split(), *words], False, "", True, folders)


def _with_more(beside: _Beside, name: str, command: str | list[str], folders: tuple[str, ...]) -> Iterator[_Given]:
    """The command as a shell would be told what else it gets: what it reads, and the variables of its environment."""
    for key, value in beside.around.items():
        plain = plain_name(key)
        if plain not in _MORE:
            continue
        line, read = command if isinstance(command, str) else join(command), opened(value)
        if plain in _INPUTS and isinstance(value, str):
            yield _Given(name, f"{line} <<< {quote(value)}", False, "", True, folders)
        elif plain in _ENVIRONMENTS and isinstance(read, dict):
            said = cast("dict[str, Any]", read).items()
            named = [f"{one}={quote(str(given))}" for one, given in said if one.isidentifier()]
            yield _Given(name, f"export {' '.join(named)}\n{line}" if named else line, False, "", True, folders)


def _says_language(around: Mapping[str, Any]) -> bool:
    return any(said in _LANGUAGES or said in _SHELLS for said in _said_languages(around))


def _language(beside: _Beside) -> str:
    """The language of the code, where an argument beside it or the tool's name says it; empty for a shell."""
    found = next((_LANGUAGES[said] for said in _said_languages(beside.around) if said in _LANGUAGES), "")
    named = _language_named(beside.tool) or ""
    return found or (named if beside.is_code or named == "powershell" else "")


@lru_cache(1024)
def _language_named(tool: str) -> str | None:
    """The language that stands in the name of a tool: `run_python`, `executeJavaScript`. None where there is none."""
    low = tool.casefold()
    found = [(at, word) for word in _IN_NAMES if (at := low.find(word)) >= 0]
    return _LANGUAGES.get(min(found)[1], "") if found else None


_IN_NAMES = (
    "python", "powershell", "pwsh", "javascript", "typescript", "nodejs", "ruby", "perl", "php", "bash", "shell",
    "terminal",
)  # fmt: skip


def _said_languages(around: Mapping[str, Any]) -> list[str]:
    said = [(_SAY_LANGUAGE.index(plain), value) for name, value in around.items()
            if isinstance(value, str) and (plain := plain_name(name)) in _SAY_LANGUAGE]  # fmt: skip
    return [value.strip().casefold() for _, value in sorted(said)]
