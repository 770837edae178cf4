"""What several commands share of their input: files and standard input with a bound on memory and errors that name file
and line, the options of a gate, and those with which a command finds the store (audit, limits, approvals).

    --store FILE ─▶ that file
    --policy FILE ─▶ what its `[audit] path` says, counted from its folder
    otherwise ─▶ the same for rightcall.toml in --root DIR (or here), else .rightcall/audit.db there
"""

import json
import os
import re
import sys
from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    ArgumentTypeError,
    HelpFormatter,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from errno import EISDIR
from functools import partial
from importlib import import_module
from shlex import quote
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TextIO, TypeVar, cast

from rightcall import suggest
from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped, is_encodable
from rightcall.cli import COMMANDS, home_of, suffix_of
from rightcall.errors import ConfigError, PolicyError, StoreError

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor
    from rightcall.gate.gate import Gate
    from rightcall.policy.settings import Policy
    from rightcall.policy.trust import FoundPolicy
    from rightcall.record.identity import Identified
    from rightcall.record.tables import Store, Tables
    from rightcall.types import Mode

# ── parser ──
# The parser of every command: a short `--help`, the options that commands share, and suggestions for wrong flags.

WIDTH: Final = 100
"""Of every help. Asking for the terminal's width loads shutil."""

SHARED: Final = {
    "--tools": "Load tools from a JSON or TOML file, or from Python; repeatable",
    "--pack": "Use this rule pack, by name or path; repeatable",
    "--policy": f"Use this policy file (default: {POLICY_FILE} in --root)",
    "--root": "Work in this folder (default: the current one)",
    "--store": "Use this store (default: the one the policy names)",
    "--as": "Run as this caller (default: default)",
    "--by": "Record this name as yours (default: your user name)",
    "--key-env": "Read the upstream's key from this environment variable",
    "--model": "Use this model (default: the first one the upstream lists)",
    "--provider": "Use the repair settings of this provider (ollama, anthropic, …)",
    "--json": "Print JSON",
    "--yes": "Do not ask for confirmation",
    "--dry-run": "Show what would change; change nothing",
}
"""The sentence of each option that several commands take: the same everywhere."""

REMOVED: Final = {
    "--db": "--store", "--url": "--upstream", "--caller": "--as", "--observe": "--mode observe",
    "--block": "--mode block", "--days": "--older-than", "--seconds": "--timeout", "--open": "--no-auth",
    "--origin": "--allow-origin", "--host-name": "--allow-host",
}  # fmt: skip
"""Flags that have another name now. They do nothing: whoever types one is told the new name."""


_ARGUMENT: Final = re.compile(r"^argument (?:\S+/)?(-\S+): ")


class Parser(ArgumentParser):
    """Prints the short help for `--help`; `rightcall help COMMAND` prints all of it."""

    def __init__(self, *, summary: str = "", **more: Any) -> None:
        shape = cast("type[HelpFormatter]", partial(RawDescriptionHelpFormatter, width=WIDTH))
        super().__init__(formatter_class=shape, allow_abbrev=False, **more)
        self.summary = summary
        self._given: list[str] = []

    def format_help(self) -> str:
        return import_module("rightcall.cli.help").short_help(self)  # only when it is asked for

    @property
    def is_group(self) -> bool:
        """Whether the command only holds others, like `audit`."""
        return bool(actions_of(self))

    def format_whole_help(self) -> str:
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - its overloads
        self._given = list(args or ())
        found, rest = super().parse_known_args(args, namespace)
        if not is_encodable(getattr(found, "caller", None) or ""):
            self.error("`--as`: the name is not UTF-8 text")
        return found, rest

    def error(self, message: str) -> NoReturn:
        if self.is_group and message.endswith("required: ACTION"):
            self.exit(2, self.format_help())
        words = message.partition("unrecognized arguments: ")[2].split()
        message = _ARGUMENT.sub(r"`\1`: ", message)
        if renamed := self._renamed():
            message = renamed
        elif words and (flag := words[0].partition("=")[0]).startswith("-"):
            message = self._unknown(flag)
        elif "arguments are required" in message:
            message = self.suggest_flag() or message
        self.exit(2, f"error: {message}\nhint: run `{self.prog} --help`\n")

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from difflib import get_close_matches

        name = f"`{action.option_strings[-1]}`" if action.option_strings else str(action.metavar or action.dest).lower()
        near = get_close_matches(str(value), map(str, action.choices), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"expected {', '.join(map(str, action.choices))}"
        known = f"for {name}" if action.option_strings else ""
        what = f"invalid value `{value}` {known}" if known else f"unknown {name} `{value}`"
        raise ArgumentError(None, f"{what}: {hint}")

    def _renamed(self) -> str:
        """What to write instead of a flag that was removed, whatever else is missing because of it."""
        known = {name for parser in family(self) for name in flags(parser)}
        for word in self._given[: self._given.index("--") if "--" in self._given else None]:
            old = word.partition("=")[0]
            if old not in known and REMOVED.get(old, "").partition(" ")[0] in known:
                return f"`{old}` is now `{REMOVED[old]}`"
        return ""

    def suggest_flag(self) -> str:
        """What to say of the first flag that nobody knows but that is like one: it may be why something is missing."""
        known = {name for parser in family(self) for name in flags(parser)}
        given = self._given[: self._given.index("--") if "--" in self._given else None]
        written = (word.partition("=")[0] for word in given if word.startswith("--"))
        told = (self._unknown(flag) for flag in written if flag not in known)
        return next((message for message in told if "did you mean" in message), "")

    def _unknown(self, flag: str) -> str:
        """Suggests what the command that was typed takes, and nothing else; a known option that goes elsewhere is said
        to."""
        used = self._used()
        others = [one.prog for one in family(self) if flag in flags(one)]
        if flag == "--policy" and any(one.dest == "file" for one in used._actions):
            return f"`{used.prog}` takes the policy file as an argument: `{used.prog} FILE`"
        if flag in SHARED or others:
            return f"`{used.prog}` does not take `{flag}`" + (f"; `{others[0]}` does" if others else "")
        from difflib import get_close_matches

        near = get_close_matches(flag.lstrip("-"), [one.lstrip("-") for one in flags(used)], n=1, cutoff=0.65)
        return f"unknown option `{flag}`" + (f": did you mean `--{near[0]}`?" if near else "")

    def _used(self) -> ArgumentParser:
        """The parser of the action that was typed; this one where none was."""
        used: ArgumentParser = self
        for word in self._given:
            used = actions_of(used).get(word, used)
        return used


def parser_of(command: str) -> tuple[Parser, ModuleType]:
    """The parser of a command, and the module that the command is in."""
    module, own = import_module(f"rightcall.cli.{home_of(command)}"), suffix_of(command)
    parser = Parser(
        prog=f"rightcall {command}",
        summary=COMMANDS[command],
        description=getattr(module, f"HELP{own.upper()}") if own else module.__doc__,
        epilog=getattr(module, f"EXAMPLES{own.upper()}"),
    )
    getattr(module, f"arguments{own}")(parser)
    return parser, module


def actions_of(parser: ArgumentParser) -> dict[str, Parser]:
    found: dict[str, Parser] = {}
    for action in parser._actions:
        if action.dest == "action":
            found |= cast("dict[str, Parser]", action.choices)
    return found


def family(parser: ArgumentParser) -> list[ArgumentParser]:
    """The parser, and those of its actions."""
    return [parser, *(one for child in actions_of(parser).values() for one in family(child))]


def flags(parser: ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]


# ── options ──

MAX_BYTES = 8 * 1024 * 1024
_MOST_WORKERS = 256
_CHUNK = 1024 * 1024


class InputError(ConfigError):
    """A file or standard input cannot be used as it is."""


def standard_input() -> BinaryIO:
    stream: TextIO | None = sys.stdin
    if stream is None:  # started with its input closed
        raise InputError("is closed; pass the text as an argument or a file", source="standard input")
    return stream.buffer


def read_text(path: str, *, limit: int = MAX_BYTES) -> str:
    """The text of a file, or of standard input for `-`."""
    if path == "-":
        return decoded(_bounded(standard_input(), limit, "standard input"), "standard input")
    try:
        with open(path, "rb") as stream:
            return decoded(_bounded(stream, limit, path), path)
    except OSError as error:
        raise InputError(reason(error), source=path) from error


def read_argument(argument: str, *, limit: int = MAX_BYTES) -> str:
    """A text given on the command line: as it stands, from a file (`@FILE`) or from standard input (`-`)."""
    if argument == "-":
        return read_text("-", limit=limit)
    return read_text(argument[1:], limit=limit) if argument.startswith("@") else argument


def given_text(argument: str) -> str:
    """The same for `type=` of an option or argument; raises what argparse reports."""
    try:
        return read_argument(argument).rstrip("\n")
    except InputError as error:
        raise ArgumentTypeError(str(error)) from None


def reason(error: OSError) -> str:
    """What the system says, without its number and without the path that the message names anyway."""
    return f"cannot be read: {error.strerror or error}"


def _bounded(stream: BinaryIO, limit: int, source: str) -> bytes:
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"is larger than {limit:,} bytes, the limit of one command", source=source)
    return data


def decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"is not UTF-8 text (byte {error.start})", source=source, line=line) from error


@contextmanager
def open_lines(path: str) -> Generator[BinaryIO]:
    """A stream of bytes to read lines from."""
    if path == "-":
        yield standard_input()
        return
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        opened = open(path, "rb")  # noqa: SIM115 - what is raised while it is read is not ours to explain
    except OSError as error:
        raise InputError(reason(error), source=path) from error
    with opened as stream:
        yield stream


def bounded_lines(stream: BinaryIO, limit: int = MAX_BYTES) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, without its end; None stands for a line longer than `limit`, skipped whole."""
    number = 0
    while True:
        line = stream.readline(limit + 1)
        if not line:
            return
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            _skip_rest(stream)
            yield number, None
        else:
            yield number, line.rstrip(b"\r\n")


def _skip_rest(stream: BinaryIO) -> None:
    while chunk := stream.readline(_CHUNK):
        if chunk.endswith(b"\n"):
            return


def lines_options(parser: ArgumentParser) -> None:
    """--workers, --out."""
    parser.add_argument(
        "--workers", type=workers_within(_MOST_WORKERS), default=1, metavar="N",
        help="With --jsonl: read in N processes, or auto: all cores",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="FILE", help="With --jsonl: write to FILE; run the command again to continue it"
    )


def workers_within(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if text == "auto":
            able = getattr(os, "sched_getaffinity", None)
            return min(most, len(able(0)) if able is not None else os.cpu_count() or 1)
        if not text.isdecimal() or not 1 <= int(text[:6]) <= most:
            raise ArgumentTypeError(f"expected auto or a number from 1 to {most}, not {escaped(text, 40)!r}")
        return int(text)

    return read


def gate_options(parser: ArgumentParser, *, tools: bool = True) -> None:
    """--tools, --pack, --policy, --provider."""
    group = parser.add_argument_group("Tools and rules")
    if tools:
        group.add_argument("--tools", action="append", default=[], metavar="FILE|MODULE:NAME", help=SHARED["--tools"])
    group.add_argument("--pack", action="append", default=[], metavar="NAME", help=SHARED["--pack"])
    group.add_argument("--policy", metavar="FILE", help="Use this policy file (TOML)")
    group.add_argument("--provider", metavar="NAME", help=SHARED["--provider"])


EXAMPLE_URL = "http://127.0.0.1:8080/v1"


def model_options(parser: ArgumentParser, where: str = "the model") -> None:
    """--upstream, --model, --key-env."""
    group = parser.add_argument_group(f"{where}, instead of [router.light] and [router.prime] of the policy")
    group.add_argument("--upstream", metavar="URL", help=f"Ask this OpenAI-compatible server, such as {EXAMPLE_URL}")
    group.add_argument("--model", metavar="NAME", help=SHARED["--model"])
    group.add_argument("--key-env", metavar="NAME", help=SHARED["--key-env"])


def stats_option(parser: ArgumentParser) -> None:
    parser.add_argument("--stats", action="store_true", help="Print statistics to standard error at the end, as JSON")


def json_option(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=SHARED["--json"])


def build_gate(options: Namespace) -> "Gate":
    """The gate that the options describe; raises ConfigError naming the file that is wrong."""
    from rightcall.gate.gate import Gate

    sources: list[str] = getattr(options, "tools", [])
    tools = load_tools(sources) if sources else None
    return Gate(tools, policy=options.policy, packs=tuple(options.pack), **gate_settings(options))


def gate_settings(options: Namespace) -> dict[str, Any]:
    """What the options say of who wrote the text; a command that reads none has only the provider."""
    return {key: getattr(options, key, None) for key in ("provider", "reasoning", "model")}


def whole_number(what: str, least: int = 0) -> Callable[[str], int]:
    """For `type=` of an option that counts things; raises what argparse reports."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > 12 or int(text) < least:
            expected = "fewer than 13 digits" if text.isdecimal() and len(text) > 12 else f"{least} or more"
            raise ArgumentTypeError(f"invalid number of {what} {escaped(text, 40)!r}: expected {expected}")
        return int(text)

    return read


def number_within(least: int, most: int) -> Callable[[str], int]:
    """The same for a number that has both bounds."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text[:12]) <= most:
            raise ArgumentTypeError(f"a number from {least} to {most}, not {escaped(text, 40)}")
        return int(text)

    return read


def subcommands(parser: ArgumentParser, **more: Any) -> tuple[Callable[[str, str], ArgumentParser], dict[str, Any]]:
    """What makes the parser of each action of a command, from its name and what it does; and those made so far."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, **more)
    samples = (parser.epilog or "").splitlines()

    def action(name: str, about: str) -> ArgumentParser:
        mine = [line for line in samples if f"{line} ".startswith(f"  {parser.prog} {name} ")]
        epilog = "\n".join(["examples:", *mine]) if mine else None
        return actions.add_parser(name, help=about, summary=about, description=f"{about}.", epilog=epilog)

    return action, actions.choices


def missing_package(missing: ImportError) -> Exception:
    """What to say where the extra is not installed; an error of our own stays what it is."""
    name = (missing.name or "").partition(".")[0]
    if name in ("", "rightcall"):
        return missing
    return ConfigError(f"the server needs {name}, which is not installed: pip install 'rightcall[serve]'")


# ── files of tools ──
# What `--tools` accepts: a JSON, JSON lines or TOML file, or `module:attribute` for tools written in Python.

_PYTHON = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def load_tools(sources: list[str]) -> list[Any]:
    """Everything the sources name, in order, ready for `Gate(tools=...)`."""
    return [tool for source in sources for tool in _load(source)]


def _load(source: str) -> list[Any]:
    if _PYTHON.fullmatch(source) and not os.path.exists(source):
        return _from_python(source)
    suffix = os.path.splitext(source)[1].lower()
    if suffix == ".toml":
        return [source]
    if suffix == ".py":
        raise InputError("give Python tools as module:attribute, for example mytools:TOOLS", source=source)
    text = read_text(source)
    if suffix in (".jsonl", ".ndjson"):
        return _from_lines(text, source)
    return _from_json(text, source)


def _from_json(text: str, source: str) -> list[Any]:
    try:
        return _listed(json.loads(text), source)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" in text.strip():  # several values one after the other: JSON lines
            return _from_lines(text, source)
        raise InputError(
            f"is not JSON: {error.msg} (column {error.colno})", source=source, line=error.lineno
        ) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", source=source) from error


def _from_lines(text: str, source: str) -> list[Any]:
    tools: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            tools += _listed(json.loads(line), source, number)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}", source=source, line=number) from error
    return tools


def _listed(value: Any, source: str, line: int = 0) -> list[Any]:
    """A list of tools, {"tools": [...]}, the answer of an MCP server to tools/list, or one tool."""
    if isinstance(value, dict):
        table = cast(dict[str, Any], value)
        inner = table.get("result") if isinstance(table.get("result"), dict) else table
        listed: Any = cast(dict[str, Any], inner).get("tools")
        value = cast(Any, listed if isinstance(listed, list) else [table])
    if not isinstance(value, list):
        raise InputError(
            f'holds a JSON {type(value).__name__}: a list of tools or {{"tools": [...]}} is needed',
            source=source,
            line=line,
        )
    tools = cast(list[Any], value)
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise InputError(f"tool number {position + 1} is {tool!r:.60}, not a JSON object", source=source, line=line)
    return tools


def _from_python(source: str) -> list[Any]:
    """Imports what the user named. This runs the user's own module, which is why it must be asked for by name."""
    module_name, _, path = source.partition(":")
    found: Any = import_from_here(module_name, source)
    for part in path.split("."):
        if not hasattr(found, part):
            near = suggest(part, [name for name in dir(found) if not name.startswith("_")])
            raise InputError(f"{module_name} has no `{path}`{near}", source=source)
        found = getattr(found, part)
    if isinstance(found, dict) and isinstance(cast(dict[str, Any], found).get("tools"), list):
        return list(cast(dict[str, Any], found)["tools"])
    return list(cast(list[Any], found)) if isinstance(found, list | tuple | set | frozenset) else [found]


def import_from_here(name: str, source: str) -> ModuleType:
    """A module of the user's, from this folder too. What it prints is not the output of the command."""
    what = "it" if name == source else name
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):
            return import_module(name)
    except SystemExit as error:
        code = "" if error.code is None else f"{error.code!r:.80}"
        raise InputError(
            f"importing {what} failed: the module ended the program with sys.exit({code}). "
            'Put what it runs under `if __name__ == "__main__":`',
            source=source,
        ) from error
    except Exception as error:  # whatever a user's module raises while it is imported
        raise InputError(f"importing {what} failed: {type(error).__name__}: {error}", source=source) from error


T = TypeVar("T")

_PATIENCE = 3.0
"""Seconds that a look waits while somebody holds the database."""


def store_options(parser: ArgumentParser) -> None:
    """--policy, --root, --store."""
    group = parser.add_argument_group("Storage")
    group.add_argument("--policy", metavar="FILE", help=SHARED["--policy"])
    group.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    group.add_argument("--store", type=_parse_store, metavar="FILE|URL", help=SHARED["--store"])


def _parse_store(text: str) -> str:
    """A file, or a database on a server that there is a store for."""
    if not text:
        raise ArgumentTypeError("expected a file, or postgresql://USER@HOST/DATABASE")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) and not is_server(text):
        kind = escaped(text.partition("://")[0], 40)
        raise ArgumentTypeError(f"{kind}:// is not supported: expected a file or postgresql://USER@HOST/DATABASE")
    if text.startswith(("postgresql:", "postgres:")) and not is_server(text):
        raise ArgumentTypeError(
            "a URL has two slashes after the colon: write postgresql://USER@HOST/DATABASE; for a file with that name "
            "write it behind ./"
        )
    if text == "memory":
        raise ArgumentTypeError(
            "`memory` keeps nothing, and is for Python alone: name a file, such as /tmp/trial.db; "
            "for a file with that name write ./memory"
        )
    return text


_PLACES: Final = ("policy", "root", "store")

TAKES: Final[dict[str, tuple[str, ...]]] = {
    "check": ("policy",), "install": ("policy",), "read": ("policy",), "tools": ("policy",), "wrap": ("policy",),
    "mcp": ("policy", "root"), "policy command": ("policy", "root"), "proxy": ("policy", "root"),
    "sandbox": ("policy", "root"), "serve": ("policy", "root"), "init": ("root",), "warm": ("root",),
    "approvals": _PLACES, "ask": _PLACES, "audit": _PLACES, "console": _PLACES, "doctor": _PLACES, "grants": _PLACES,
    "lint": _PLACES, "login": _PLACES, "logout": _PLACES,
    "pause": _PLACES, "people": _PLACES, "policy explain": _PLACES, "policy quarantine": _PLACES, "pr": _PLACES,
    "learn": _PLACES, "replay": _PLACES, "requests": _PLACES, "resume": _PLACES, "route": _PLACES, "run": _PLACES,
    "stats": _PLACES, "token": _PLACES, "undo": _PLACES,
}  # fmt: skip
"""Which of these options a command takes. One that is not here takes none of them, or names a file of its own."""


def follow_up(command: str, options: Namespace, program: str = "rightcall") -> str:
    """A command line to paste: with the policy, root and store of this one, as far as it takes them.

    >>> follow_up("audit tail", Namespace(policy=None, root="my project", store=None))
    "rightcall audit tail --root 'my project'"
    """
    words = command.split()
    takes = TAKES.get(" ".join(words[:2])) or TAKES.get(words[0] if words else "", ())
    missing = tuple(name for name in takes if f"--{name}" not in words)
    return f"{program} {command}{repeat_options(options, missing)}"


def places(options: Namespace) -> str:
    """The options that say where policy and store are, as they were given: for commands that take all of them."""
    return repeat_options(options, _PLACES)


def repeat_options(options: Namespace, names: tuple[str, ...]) -> str:
    """What holds by itself is not said again."""
    values = {name: getattr(options, name, None) for name in names}
    told = {name: str(value) for name, value in values.items() if _was_given(name, value)}
    return "".join(f" --{name.replace('_', '-')} {quote(escaped(value))}" for name, value in told.items())


def _was_given(name: str, value: object) -> bool:
    """A policy that was found is found again."""
    return isinstance(value, str) and value != "" and (name, value) != ("root", ".")


_COMMAND = re.compile(r"`rightcall ([a-z][^`]*)`")


def pointed(text: str, options: Namespace) -> str:
    """A text of ours whose commands, in backticks, lead to the same policy and store when they are pasted."""
    return _COMMAND.sub(lambda found: f"`{follow_up(found[1], options)}`", text) if places(options) else text


def policy_file(options: Namespace) -> "str | FoundPolicy | None":
    """The policy file that the options name, or the one that was found in the root; None when there is none."""
    if options.policy is not None:
        return options.policy
    usual = os.path.join(options.root, POLICY_FILE)
    return found_policy(usual) if os.path.lexists(usual) else None


def found_policy(path: str, least: "Mode" = "block") -> "FoundPolicy":
    """A policy file that a command has found; what is ignored of it is said on standard error."""
    from rightcall.policy.trust import FoundPolicy, speak_on_stderr

    speak_on_stderr()
    return FoundPolicy(path, least)


def policy_path(options: Namespace) -> str | None:
    """The same as a path, for whoever only says where it is."""
    file = policy_file(options)
    return None if file is None else os.fspath(file)


def policy_of(options: Namespace) -> "Policy":
    """The policy in force there; of one that was only found, what may be believed of it. Raises PolicyError for a file
    that is wrong. A command reads it once: what it decides by is what it tells."""
    key, read = (options.policy, options.root), getattr(options, "policy_read", None)
    if read is None or read[0] != key:
        from rightcall.policy.watch import load_policy

        read = options.policy_read = key, load_policy(policy_file(options))
    return read[1]


def policy_despite(options: Namespace) -> "Policy":
    """The policy, for a command that only looks or denies: with `--store` no mistake in the policy keeps anybody from
    that. The mistake is told, and the defaults count. Never for a command that permits something."""
    with without_policy():
        try:
            return policy_of(options)
        except PolicyError as wrong:
            if options.store is None:
                raise
            from rightcall.policy.settings import DEFAULT_POLICY
            from rightcall.policy.trust import speak_on_stderr, warn

            speak_on_stderr()
            warn(f"{escaped(str(wrong), 300)}; the defaults are used instead")
            return DEFAULT_POLICY


def redactor_of(options: Namespace, store: "Store", policy: "Policy | None" = None) -> "Redactor":
    """Hides what must not stand in the records of this store."""
    from rightcall.base.secrets import Redactor

    return Redactor(store.key(), (policy or policy_of(options)).settings.audit.redact)


def database_of(options: Namespace) -> str:
    """Where the store's file is, or would be. StoreError where it leads out of a folder in which it was only found.
    Where the store is on a server, this is where the rest lies that stays on its machine."""
    if options.store is not None and not is_server(options.store):
        return options.store
    from rightcall.record.premises import store_path

    path = store_path(policy_of(options), policy_path(options), options.root)
    if (folder := found_in(options)) is not None:
        from rightcall.record.identity import refuse_leaving

        refuse_leaving(path, folder)
    return path


def is_server(where: str) -> bool:
    """Whether that names a database on a server, and not a file."""
    return where.startswith(("postgresql://", "postgres://"))


def server_of(options: Namespace) -> str:
    """The URL of the store, where it is on a server; else empty."""
    if options.store is not None:
        return options.store if is_server(options.store) else ""
    return policy_of(options).settings.store.url


def found_in(options: Namespace) -> str | None:
    """The folder that the store may have come with; None where the options name it."""
    if options.store is not None:
        return None
    from rightcall.policy.trust import speak_on_stderr
    from rightcall.record.premises import found_folder

    speak_on_stderr()

    return found_folder(policy_of(options), policy_path(options), options.root)


def open_store(options: Namespace, *, create: bool = False) -> "Store":
    """The store. Only a command that runs calls may `create` it: looking into it never leaves an empty one behind."""
    if url := server_of(options):
        from rightcall.record.postgres import PostgresStore  # late: it needs an extra

        return PostgresStore(url, keep=policy_of(options).settings.audit.keep_days)
    path = database_of(options) if create else _existing(options)
    from rightcall.record.sqlite import SqliteStore

    keep = 0 if options.store is not None else policy_of(options).settings.audit.keep_days
    return SqliteStore(path, found=found_in(options) or False, keep=keep)


def existing_place(options: Namespace) -> None:
    """Raises ConfigError where a folder that the options name is missing: a store made there would be nobody's."""
    for name, folder in (
        ("--root", options.root),
        ("--store", _folder_of(options.store)),
    ):
        if folder is not None and not os.path.isdir(folder):
            raise ConfigError(f"no such folder: {escaped(folder)}; nothing was changed. Check `{name}`")


def _folder_of(store: str | None) -> str | None:
    return None if not store or is_server(store) else os.path.dirname(os.path.abspath(store))


class Looking:
    """A store that is only looked into: nothing is written beside what others write, not even that they ended."""

    def __init__(self, path: str, *, found: bool | str) -> None:
        from rightcall.record.identity import Origin
        from rightcall.record.runs import Runs
        from rightcall.record.sqlite import Readers
        from rightcall.record.tables import SystemClock

        file = self.path = os.path.realpath(path)
        self.clock = SystemClock()
        self._origin = Origin(file, found=found)
        runs = Runs(f"{file}-runs")
        self._readers = Readers(file, self.clock, runs, _PATIENCE, self._origin, alone=True)

    def look(self, work: Callable[["Tables"], T]) -> T:
        return self._readers.look(work)

    def strangeness(self, tables: "Tables") -> str:
        """Why it is not the audit that was written here last: what lies beside it knows, and so does this user's state,
        also where all of it was put back; empty where it is."""
        from rightcall.record.identity import older, wrong_with

        seen, known = cast("Identified", tables), self._origin.kept_head()
        return wrong_with(self.path, seen) or ("" if known is None else older(seen, known))

    @property
    def counts_whole(self) -> bool:
        """False: it came from elsewhere, so tokens, people, approvals and grants in it do not count."""
        return not self._origin.since.tokens

    def close(self) -> None:
        self._readers.close()


def look_into(options: Namespace) -> Looking:
    """The store, for a command that changes nothing in it."""
    with without_policy():
        if url := server_of(options):
            from rightcall.record.postgres import PostgresReader  # late: it needs an extra

            return cast("Looking", PostgresReader(url))  # the same for whoever looks
        return Looking(_existing(options), found=found_in(options) or False)


@contextmanager
def without_policy() -> Generator[None]:
    """For a command that uses the policy only to find the store: a file that is wrong does not keep one from it."""
    try:
        yield
    except PolicyError as wrong:
        raise PolicyError(f"{wrong}. To use the audit log without the policy, pass `--store FILE`") from None


def open_without_policy(options: Namespace) -> "Store":
    """The store, for a command that lists what waits or takes a right away: no mistake in the policy prevents that."""
    with without_policy():
        return open_store(options)


def open_to_list(options: Namespace) -> "Store":
    """The store, for a command that only lists: on a server a role that may only read does for it."""
    with without_policy():
        url = server_of(options)
    if not url:
        return open_without_policy(options)
    from rightcall.record.postgres import PostgresReader  # late: it needs an extra

    reader = PostgresReader(url)
    reader.look(lambda tables: tables.wall())  # its clock goes by what the server told
    return cast("Store", reader)


def _existing(options: Namespace) -> str:
    path = database_of(options)
    if os.path.isdir(path):
        raise StoreError(f"{path} is a folder, not an audit log")
    from rightcall.record.identity import lost
    from rightcall.record.sqlite_file import unusable, way_out

    file = os.path.realpath(path)
    if problem := lost(file):
        raise unusable(file, problem, way_out(file), "replaced")
    if not _is_there(path):
        record = "" if options.store else "Record a call with `rightcall run ping '{}'`, or start `rightcall serve`. "
        raise StoreError(
            f"no audit log at {path}: nothing is recorded there yet. {record}"
            f"To look elsewhere, pass --policy FILE, --root DIR or --store FILE{_of_hooks()}"
        )
    return path


def _is_there(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}). Run it as a user who may read it") from error


def _of_hooks() -> str:
    """Hooks of projects without a policy keep one record for all of them."""
    from rightcall.hosts.hooks.place import record_without_policy

    path = record_without_policy()
    return f". Hooks without a policy file record in {path}: --store {path}" if os.path.exists(path) else ""
