"""Which arguments of a call are commands, code or addresses, and what is found in them.

Packs, functions and the policy declare it. Of a tool that nobody described, arguments count by their names, wherever
they stand.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from rightcall.catalog.tool import Tool
from rightcall.executor.guesses import UNREADABLE, kind_of, opened, spots
from rightcall.executor.toolbox import Inner
from rightcall.policy.settings import Rights
from rightcall.policy.types import Finding
from rightcall.tools.places import found_at, plain_name

_WORDS = frozenset(("args", "arguments", "argv", "parameters", "params", "flags", "options", "argumentlist"))
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
_UNSURE = frozenset(("script", "exec", "execute", "run", "shell", "link", "address", "commands"))
"""Names that also mean other things: code of another language, a name, a number of steps."""
_MOST = 200
"""Commands and addresses in one call; more are not judged one by one."""


class Judged(NamedTuple):
    """What the request takes over."""

    findings: tuple[Finding, ...] = ()
    arguments: tuple[str, ...] = ()
    paths: tuple[tuple[str, str, bool], ...] = ()
    """As written, whole, and whether it is written to."""


NOTHING = Judged()


class _Given(NamedTuple):
    """One value that is judged."""

    argument: str
    value: Any
    url: bool
    language: str
    sure: bool
    folders: tuple[str, ...] = ()
    """Where it starts, as the call says."""


def judged_arguments(
    tool: Tool, arguments: dict[str, Any], inner: tuple[Inner, ...], rights: Rights, bases: tuple[str, ...]
) -> Judged:
    """Nothing is loaded for a call without a command or an address. `bases` are the root and, where that is known, the
    folders in which a command starts."""
    given = list(_find_commands(tool, arguments))
    for one in inner:
        for known in one.tools:
            for called in one.arguments:
                given += _find_commands(known, called)
        if not one.tools:
            for called in one.arguments:
                given += _by_name(one.names[0] if one.names else "", called)
    return _judged(given, rights, bases) if given else NOTHING


def _judged(given: list[_Given], rights: Rights, bases: tuple[str, ...]) -> Judged:
    from rightcall.policy.commands.judgement import Judgement, judge_code, judge_command, judge_url  # late: see above
    from rightcall.policy.commands.places import Place

    findings: list[Finding] = []
    paths: dict[tuple[str, str, bool], None] = {}
    if len(given) > _MOST:
        findings.append(Finding("ask", "command:unreadable", "the call has too many commands to judge"))
    for one in given[:_MOST]:
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
    return Judged(tuple(findings), tuple(dict.fromkeys(one.argument for one in given)), tuple(paths))


def _find_commands(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[_Given]:
    rules = tool.rules
    for url, places in ((False, rules.commands), (True, rules.urls)):
        for place in places:
            name = place.split(".")[0].split("[")[0]
            for value in found_at(arguments, place):
                yield from _values(_Beside(tool.name, arguments), name, value, url, True)
    if not rules.commands and not rules.urls and not tool.is_described:
        patches = {plain_name(place) for place in rules.patches}
        kept = {name: one for name, one in arguments.items() if plain_name(name) not in patches}
        yield from _by_name(tool.name, kept if patches else arguments)


def _by_name(tool: str, arguments: Mapping[str, Any]) -> Iterator[_Given]:
    for spot in spots(arguments):
        if spot.name is UNREADABLE:
            yield _Given(spot.top, UNREADABLE, False, "", True)
        else:
            yield from _named(_Beside(tool, spot.around), spot.top, spot.name, spot.value)


class _Beside(NamedTuple):
    """What stands beside a command and says how it is meant."""

    tool: str
    around: Mapping[str, Any]

    def words(self) -> list[Any]:
        """The arguments of a program, where they stand apart from it."""
        return [opened(value) for name, value in self.around.items() if plain_name(name) in _WORDS]

    def folders(self) -> tuple[str, ...]:
        said = (value for name, value in self.around.items() if plain_name(name) in _FOLDERS)
        return tuple(value for value in said if isinstance(value, str) and value and "\0" not in value)


def _named(beside: _Beside, top: str, name: str, value: Any) -> Iterator[_Given]:
    kind, unsure = kind_of(name), plain_name(name) in _UNSURE
    if kind == "url":
        if not unsure or ":/" in (text := str(value)) or ":\\" in text:
            yield from _values(beside, top, value, True, True)
    elif (
        kind == "command"
        or (kind == "code" and _says_language(beside.around))
        or (kind == "program" and beside.words())
    ):
        yield from _values(beside, top, value, False, not unsure)


def _values(beside: _Beside, name: str, value: Any, url: bool, sure: bool) -> Iterator[_Given]:
    """A text is a command line; a list of words is one command, a list of lists or lines are several. JSON in a text
    counts as both."""
    inside = opened(value)
    if inside is not value and isinstance(inside, dict | list):
        yield from _values(beside, name, inside, url, sure)
    if isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            if isinstance(item, str | list):
                yield from _values(beside, name, item, url, sure)
        return
    language = "" if url else _language(beside.tool, beside.around)
    folders = () if url else beside.folders()
    if isinstance(value, str):
        yield _Given(name, value, url, language, sure, folders)
        if not url and not language:
            for more in beside.words():
                yield from _with_words(name, value, more, folders)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        words = [item for item in items if isinstance(item, str)]
        if url or language:
            yield from (_Given(name, word, url, language, sure, folders) for word in words)
        elif words:
            yield _Given(name, words, url, language, sure, folders)
            if len(words) == 1 or (len(words) < 50 and any(" " in word for word in words)):
                for word in words:  # lines, to another reader
                    yield _Given(name, word, url, language, False, folders)
        for item in items:
            if isinstance(item, list):
                yield from _values(beside, name, item, url, sure)


def _with_words(name: str, program: str, more: Any, folders: tuple[str, ...]) -> Iterator[_Given]:
    """`{"command": "git", "args": ["push", "--force"]}`: started as words, or as a line."""
    if isinstance(more, str):
        yield _Given(name, f"{program} {more}", False, "", True, folders)
    elif isinstance(more, list):
        words = [str(item) for item in cast("list[Any]", more) if isinstance(item, str | int | float)]
        yield _Given(name, [*program.split(), *words], False, "", True, folders)


def _says_language(around: Mapping[str, Any]) -> bool:
    said = [around.get(name) for name in _SAY_LANGUAGE]
    return any(isinstance(one, str) and one.strip().casefold() in (*_LANGUAGES, *_SHELLS) for one in said)


def _language(tool: str, around: Mapping[str, Any]) -> str:
    """The language of the code, where an argument beside it or the tool's name says it; empty for a shell."""
    for name in _SAY_LANGUAGE:
        said = around.get(name)
        if isinstance(said, str) and (found := _LANGUAGES.get(said.strip().casefold())):
            return found
    return "powershell" if "powershell" in tool.casefold() or "pwsh" in tool.casefold() else ""
