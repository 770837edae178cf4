"""Which arguments of a call are commands, code or addresses, and what is found in them.

Packs, functions and the policy declare it. Of a tool that nobody described, arguments count by their names, at the top
and one level below: whoever calls an argument `command` means one.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from rightcall.catalog import Tool
from rightcall.config_settings import Rights
from rightcall.execute.places import found_at
from rightcall.executor_batches import Inner
from rightcall.types_running import Finding

COMMAND_NAMES = frozenset(
    ("command", "commands", "cmd", "cmds", "shell_command", "shellcommand", "bash", "bash_command", "shell",
     "command_line", "commandline", "script", "shell_script", "terminal_command", "argv", "exec", "run_command")
)  # fmt: skip
URL_NAMES = frozenset(
    ("url", "urls", "uri", "uris", "href", "endpoint", "link", "address", "webhook", "webhook_url", "base_url")
)
_LANGUAGES = {
    "python": "python", "python3": "python", "py": "python", "nodejs": "node", "node": "node", "javascript": "node",
    "js": "node", "typescript": "node", "ruby": "ruby", "perl": "perl", "php": "php", "powershell": "powershell",
    "pwsh": "powershell", "cmd": "cmd", "r": "rscript", "lua": "lua", "applescript": "osascript",
}  # fmt: skip
_SHELLS = ("terminal", "shell", "bash", "sh", "zsh", "console")
_SAY_LANGUAGE = ("runtime", "language", "lang", "interpreter", "shell", "kind")
_UNSURE = frozenset(("script", "exec", "shell", "link", "address", "commands"))
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


def judged_arguments(
    tool: Tool, arguments: dict[str, Any], inner: tuple[Inner, ...], rights: Rights, bases: tuple[str, ...]
) -> Judged:
    """Nothing is loaded, and next to nothing is done, for a call without a command or an address. `bases` are the root
    and, where that is known, the folders in which a command starts."""
    rules = tool.rules
    if not inner and not rules.commands and not rules.urls and not (_nobody_described(tool) and _may_hold(arguments)):
        return NOTHING
    given = list(_given(tool, arguments))
    for one in inner:
        for known in one.tools:
            for called in one.arguments:
                given += _given(known, called)
    return _judged(given, rights, bases) if given else NOTHING


def _judged(given: list[_Given], rights: Rights, bases: tuple[str, ...]) -> Judged:
    from rightcall.commands.judging import Judgement, judge_code, judge_command, judge_url  # late: see above
    from rightcall.commands.places import Place

    place = Place.at(bases[0], bases[1:])
    findings: list[Finding] = []
    paths: dict[tuple[str, str, bool], None] = {}
    if len(given) > _MOST:
        findings.append(Finding("ask", "command:unreadable", "the call has too many commands to judge"))
    for one in given[:_MOST]:
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


def _given(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[_Given]:
    rules = tool.rules
    for url, places in ((False, rules.commands), (True, rules.urls)):
        for place in places:
            name = place.split(".")[0].split("[")[0]
            for value in found_at(arguments, place):
                yield from _values(name, value, url, _language(tool.name, arguments), True)
    if not rules.commands and not rules.urls and _nobody_described(tool):
        yield from _by_name(tool, arguments)


def _may_hold(arguments: Mapping[str, Any]) -> bool:
    """Whether an argument is named like a command or an address, or could have one inside."""
    return any(type(value) is dict or type(value) is list or _is_telling(name) for name, value in arguments.items())


@lru_cache(1024)
def _is_telling(name: str) -> bool:
    folded = _folded(name)
    return folded in COMMAND_NAMES or folded in URL_NAMES or folded == "code"


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _nobody_described(tool: Tool) -> bool:
    return tool.source == "given" or not tool.source.startswith(("pack:", "policy"))


def _by_name(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[_Given]:
    for name, value in arguments.items():
        yield from _named(tool, arguments, name, name, value)
        for inside in _objects(value):
            for below, inner in inside.items():
                yield from _named(tool, inside, name, below, inner)


def _named(tool: Tool, around: Mapping[str, Any], top: str, name: str, value: Any) -> Iterator[_Given]:
    folded = _folded(name)
    if folded in COMMAND_NAMES or (folded == "code" and _says_language(around)):
        yield from _values(top, value, False, _language(tool.name, around), folded not in _UNSURE)
    elif folded in URL_NAMES and not (folded in _UNSURE and "://" not in str(value)[:2000]):
        yield from _values(top, value, True, "", True)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    items: Iterable[Any] = cast("list[Any]", value) if isinstance(value, list) else (value,)
    for item in items:
        if isinstance(item, dict):
            yield cast("Mapping[str, Any]", item)


def _values(name: str, value: Any, url: bool, language: str, sure: bool) -> Iterator[_Given]:
    """A text is a command line; a list of words is one command, a list of lists or lines are several."""
    if isinstance(value, str):
        yield _Given(name, value, url, language, sure)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        words = [item for item in items if isinstance(item, str)]
        if url or language:
            yield from (_Given(name, word, url, language, sure) for word in words)
        elif words:
            yield _Given(name, words, url, language, sure)
            if len(words) == 1 or (len(words) < 50 and any(" " in word for word in words)):
                yield from (_Given(name, word, url, language, False) for word in words)  # lines, to another reader
        for item in items:
            if isinstance(item, list):
                yield from _values(name, item, url, language, sure)
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            if isinstance(item, str | list):
                yield from _values(name, item, url, language, sure)


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
