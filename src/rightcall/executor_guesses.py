"""What the arguments of a tool that nobody described are, by their names: whoever calls one `command` means a command,
whoever calls one `path` a path. They are found wherever they stand, also in JSON that is written as a text."""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from rightcall.errors import RightCallError
from rightcall.execute.places import plain_name
from rightcall.parse.late import Late
from rightcall.parse.strict import NO_JSON, attempt, duplicate_keys

Kind = Literal["command", "url", "code", "program", "path", "place", ""]

_COMMANDS = frozenset(("bash", "shell", "sh", "zsh", "script", "shellscript", "argv", "exec", "execute", "run"))
_URLS = frozenset(("href", "endpoint", "link", "address", "webhook"))
_COMMAND_ENDS = ("command", "commands", "cmd", "cmds")
_URL_ENDS = ("url", "urls", "uri", "uris")
_PATH_ENDS = (
    "path", "paths", "file", "files", "filename", "filenames", "folder", "folders", "directory", "directories", "dir",
    "dirs",
)  # fmt: skip
_FOLLOWED = Late(
    r".*(?:command|cmd|url|uri)s?(?:lines?|text|str|strings?|list|array|value|name|sequence"
    r"|to(?:run|execute|exec|invoke|call|start|use|fetch|open|load|read|get|visit))"
)
"""What may follow: `command_line`, `cmd_to_run`, `url_list`."""
_PATH_WORDS = ("path", "file", "folder", "dir")
"""Wherever they stand in a name it is about a path, though what it holds may be another thing of it."""
_PATH_FOLLOWED = Late(
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
     "old", "new", "include")
)  # fmt: skip
"""Names of paths that also mean other things: a value counts only where it looks like a path."""
_CONTENT = frozenset(
    ("content", "contents", "text", "filetext", "filecontent", "filecontents", "newtext", "oldtext", "newstring",
     "oldstring", "newstr", "oldstr", "newcontent", "message", "description", "markdown", "html", "prompt")
)  # fmt: skip
"""Names of what is written or said. JSON in it is a document, and no arguments."""
_MOST = 5000
"""Values in the arguments that are looked into."""
_LONGEST = 2_000_000
"""Characters of a text that is opened."""
_LONGEST_LOOSE = 20_000
_MOST_TEXTS = 1000
UNREADABLE = "\0 unreadable"
"""In the place of what nobody would look through, or can say for sure: it cannot be judged."""


class Spot(NamedTuple):
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
    followed = any(one in plain for one in ("command", "cmd", "url", "uri")) and _FOLLOWED.fullmatch(plain) is not None
    if plain in _COMMANDS or plain.endswith(_COMMAND_ENDS) or (followed and ("command" in plain or "cmd" in plain)):
        return "command"
    if followed or plain in _URLS or plain.endswith(_URL_ENDS):
        return "url"
    if plain == "code":
        return "code"
    if plain in _PROGRAMS:
        return "program"
    about = any(word in plain for word in _PATH_WORDS) and not plain.endswith(_OF_A_FILE)
    if about and (plain.endswith(_PATH_ENDS) or _PATH_FOLLOWED.fullmatch(plain) is not None):
        return "path"
    return "place" if about or plain in _PLACES else ""


def may_be_json(value: Any) -> bool:
    return type(value) is str and value.lstrip("\ufeff \t\r\n")[:1] in _OPENING


_OPENING = ("{", "[", '"')


def opened(value: Any) -> Any:
    """A value, or what a JSON text holds, and the text in that; a text with a key twice cannot be judged, and one that
    is not JSON stays as it is."""
    while may_be_json(value):
        text = value.strip("\ufeff \t\r\n")
        inside = attempt(text) if len(text) <= _LONGEST else NO_JSON
        if inside is NO_JSON:
            return _read_loosely(value, text)
        if duplicate_keys(text, inside):
            return UNREADABLE
        value = inside
    return value


def _read_loosely(value: str, text: str) -> Any:
    """Some who take arguments as a text take more than JSON: `{'command': 'ls'}`."""
    if text[0] == '"' or len(text) > _LONGEST_LOOSE or text[-1] not in "}]":
        return value
    from rightcall.parse.find import read_lenient  # late: hardly any text needs it

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


def guessed_paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The values that are likely to be paths, as they are written."""
    nested = any(type(value) in _NESTED or may_be_json(value) for value in arguments.values())
    found = spots(arguments) if nested else (Spot(name, name, value, arguments) for name, value in arguments.items())
    for spot in found:
        kind = kind_of(spot.name)
        if kind_of(spot.within) in _FILE_KINDS:  # `{"files": {"a.txt": "text"}}`, `{"files": [{"name": "a.txt"}]}`
            yield from filter(None, (_as_path(spot.name, "place", spot.name),))
            kind = kind or ("" if plain_name(spot.name).endswith(_NO_PLACE) else "place")
        if kind in _PATH_KINDS:
            yield from (path for text in _texts(spot.value) if (path := _as_path(spot.name, kind, text)))


_NESTED = frozenset((dict, list))
_FILE_KINDS = frozenset(("path", "program"))
_NO_PLACE = (*_CONTENT, *_OF_A_FILE)
_PATH_KINDS = frozenset(("path", "place", "program", "url"))


def _texts(value: Any) -> Iterator[str]:
    todo: list[Any] = [value]
    for _ in range(_MOST_TEXTS):
        if not todo:
            return
        one = opened(todo.pop())
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            todo += cast("list[Any]", one)


def _as_path(name: str, kind: Kind, text: str) -> str:
    """A text as a path, empty for one that is none: an address, several lines, a word that may mean anything."""
    bare = text.strip()
    if not bare or "\n" in bare:
        return ""
    if kind == "url" or "://" in bare[:20]:
        return bare if bare[:5].lower() == "file:" else ""
    if kind == "place" and bare.isascii() and not any(sign in bare for sign in _IN_PATHS):
        return ""
    if len(bare) > _LONGEST_PATH and not plain_name(name).endswith(("path", "paths", "filename", "filenames")):
        bare = os.path.normpath(bare)  # data, perhaps, or a path with padding
        return bare if len(bare) <= _LONGEST_PATH else ""
    return text


_LONGEST_PATH = 4096
_IN_PATHS = ("/", "\\", ".", "~", "$", "%", "\0")
