"""Aliases of git: what `git foo` starts, as the settings of the repository and of the user say.

git itself is not asked: the files are read as they are, each up to a size. A name that git knows is never an alias.
"""

import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice
from stat import S_ISREG

from rightcall.base.text import regex
from rightcall.policy.commands.runs import Run, action_at, option_value
from rightcall.policy.commands.words import Word, known_names
from rightcall.policy.commands.wrappers import Inner

_KNOWN = known_names("git")
"""Of the names that git knows, those for which nobody need look into a file."""
_LARGEST = 200_000
_MOST_FILES = 20
_MOST_FOLDERS = 40
_SECTION = regex(r'\s*\[\s*([\w.-]+)\s*(?:"((?:\\.|[^"\\])*)")?\s*\]')
_SETTING = regex(r"\s*([A-Za-z][\w-]*)\s*(?:=(.*))?", re.DOTALL)


def aliased(run: Run, folders: tuple[str, ...], home: str) -> Iterator[Inner]:
    """What a command of git starts that git does not know, from the folders that it may work in."""
    at = action_at("git", run.arguments)
    name = run.arguments[at].value if at >= 0 else ""
    if not name or name in _KNOWN or not re.fullmatch(r"[\w.-]+", name):
        return
    rest = run.arguments[at + 1 :]
    given = option_value(run.arguments[:at], "--git-dir")
    places = [os.path.join(folder, given.value) for folder in folders] if given is not None else folders
    for value in dict.fromkeys(_values(name.casefold(), _files(places, home))):
        if value.startswith("!"):
            code = f'{value[1:]} "$@"' if rest else value[1:]
            yield Inner(code=Word(code, None, True), given=(Word("git"), *rest))
        else:
            yield Inner((Word("git"), *map(Word, _split(value)), *rest))


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def _values(name: str, files: Iterator[str]) -> Iterator[str]:
    """All that files say of an alias, also in those that they include: which one counts is for git to say."""
    todo, seen = list(files), set[str]()
    while todo and len(seen) < _MOST_FILES:
        file = todo.pop(0)
        if file in seen:
            continue
        seen.add(file)
        for section, part, key, value in _settings(_text(file)):
            if section in ("include", "includeif") and key == "path":
                todo.append(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
            elif (section, part, key) in (("alias", "", name), ("alias", name, "command")):
                yield value


def _files(folders: list[str] | tuple[str, ...], home: str) -> Iterator[str]:
    """The settings of the repositories that folders are in, and of the user."""
    for folder in dict.fromkeys(folders):
        found = next(filter(None, map(_repository, islice(_above(folder), _MOST_FOLDERS))), None)
        if found is not None:
            yield os.path.join(found, "config")
            yield os.path.join(found, "config.worktree")
            common = _text(os.path.join(found, "commondir")).strip()
            if common:
                yield os.path.join(found, common, "config")
    yield from (os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config"), "/etc/gitconfig")


def _above(folder: str) -> Iterator[str]:
    """A folder, and those that it is in."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _repository(folder: str) -> str | None:
    """The folder with the settings of a repository that begins here; a file `.git` says where that is."""
    inside = os.path.join(folder, ".git")
    if os.path.isdir(inside):
        return inside
    told = re.match(r"gitdir:\s*(.+)", _text(inside))
    if told is not None:
        return os.path.join(folder, told[1].strip())
    return folder if os.path.isfile(os.path.join(folder, "HEAD")) else None


def _text(file: str) -> str:
    try:
        if not S_ISREG(os.stat(file).st_mode):
            return ""
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST)
    except (OSError, ValueError):
        return ""


def _settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Section, its part, key and value of each setting; names without their case."""
    section, part = "", ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        begun = _SECTION.match(line)
        if begun is not None:
            section, part = begun[1].casefold(), (begun[2] or "").casefold()
            line = line[begun.end() :]
        setting = _SETTING.match(line)
        if setting is not None:
            yield section, part, setting[1].casefold(), _unquoted(setting[2] or "")


def _unquoted(value: str) -> str:
    """A value without its quotes, its escapes and the remark behind it."""
    found: list[str] = []
    quoted = escaped = False
    for sign in value.strip():
        if escaped:
            found.append({"n": "\n", "t": "\t"}.get(sign, sign))
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            found.append(sign)
    return "".join(found).rstrip()
