"""The command line. Each command is a module of this package, imported only when it is asked for.

A command module has a docstring and `EXAMPLES` for its help, `arguments(parser)` and `run(options) -> exit code`; one
whose options depend on what else is written has `parse(parser, arguments)` too.

    main ─▶ hook (alone, at once) or the module of the command ─▶ run ─▶ exit code

What several commands share is in modules of its own: `options` for what comes in, `terminal` for what is shown,
`persons` for whoever answers; `*_report` is the output of the command before it.
"""

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TextIO

__all__ = ["CLOSED_PIPE", "COMMANDS", "INTERRUPTED", "OK", "REFUSED", "USAGE", "home_of", "main", "suffix_of"]

COMMANDS: Final = {
    "demo": "Show how RightCall repairs, checks and runs broken calls",
    "init": "Write a policy file with every key, its default and its meaning",
    "doctor": "Check this machine and say what to do next; with --upstream, measure a model",
    "console": "Open the console in the browser, or print a login link",
    "docs": "Print a page of the documentation, or list the pages",
    "proxy": "Run a proxy that repairs a model's tool calls",
    "serve": "Run the server: proxy, health and metrics; without an upstream, a practice model",
    "mcp": "Serve code tools and configured MCP servers over stdio",
    "wrap": "Repair, check and record the calls of an MCP client to one server",
    "install": "Add RightCall to the settings of a host, such as Claude Code or Cursor",
    "uninstall": "Remove RightCall from the settings of a host",
    "status": "Show where RightCall is installed, in which mode, and whether it works",
    "login": "Log in to a protected MCP server",
    "logout": "Log out of an MCP server and revoke its tokens",
    "read": "Find and check the calls in a model's output, in any format",
    "check": "Repair and check one call, or JSON lines of calls",
    "run": "Run one tool call under the policy, and record it",
    "tools": "Show the tools: arguments, aliases and effects",
    "lint": "Check tool definitions for what makes models and providers fail, and fix some of it",
    "packs": "List the rule packs, or show one",
    "formats": "List the formats of calls that RightCall reads, with an example of each",
    "policy": "Check a policy file, explain its decisions, or release a call from quarantine",
    "trust": "Trust a policy file that RightCall found in a folder",
    "approvals": "Approve or deny the calls that wait for a person",
    "grants": "Permit certain calls of a caller in advance",
    "people": "Add, list and revoke the people who may open the console",
    "token": "Create, list and revoke the tokens of HTTP clients",
    "pause": "Stop every tool call on the store; without a policy file, on the whole machine",
    "resume": "Let tool calls run again after `pause`",
    "audit": "Show, verify, export, prune and erase the audit log",
    "store": "Move the store to a PostgreSQL server, prepare its tables, print its roles",
    "learn": "Propose a rule pack from calls that models got wrong and corrected",
    "stats": "Show how tools were used: calls, success, times and refusals",
    "replay": "Decide recorded calls again under another policy, and show what would change",
    "ask": "Ask a model about this folder; it reads the code until it can answer",
    "route": "Show which tool a request would be routed to, and why",
    "requests": "Inspect saved requests",
    "sandbox": "Run a program in the sandbox, or check that the sandbox works",
    "pr": "Review, merge and export pull requests",
    "undo": "Undo a change that a tool made, or list the last changes",
    "hook": "Answer a hook event of Claude Code, Gemini CLI or Codex",
    "eval": "Score the gate on a corpus of model output, damaged calls or broken JSON",
    "warm": "Speed up code/log and code/blame in a large repository",
    "version": "Print the version",
    "completion": "Print the completion script of bash, zsh or fish",
}

_HOMES: Final = {
    "wrap": "mcp", "proxy": "serve", "uninstall": "install", "tools": "packs", "formats": "packs",
    "grants": "approvals", "token": "trust", "resume": "pause", "undo": "pr",
    "hook": "mcp", "status": "install", "docs": "help", "completion": "help", "warm": "init", "people": "console",
    "logout": "login",
}  # fmt: skip
"""Commands that share a module with another: what is theirs there ends with their name (`run_wrap`, `HELP_WRAP`)."""

REMOVED: Final = {"call": "run", "packet": "requests", "quarantine": "policy quarantine"}
"""Commands that have another name now. They do not run: whoever types one is told the new name."""

_MEANT: Final = {"start": "serve", "server": "serve", "tail": "audit tail", "log": "audit tail", "logs": "audit tail"}
"""Words that other programs have for a command of ours."""

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises for what a user or a model wrote."""
    if argv is not None:
        return _main(argv)
    # As a process of its own: nothing of what is loaded is ever garbage, so Python need not search it, neither now nor
    # when it ends. That is 20 ms of a start.
    gc.set_threshold(50_000)
    if sys.argv[1:2] == ["hook"] and (code := _hook(sys.argv[1:])) is not None:
        if (notices := sys.modules.get("rightcall.executor.notices")) is not None:
            notices.finish()
        os._exit(code)  # everything is said and recorded; tearing down takes as long as judging

    import signal  # late: not for a hook

    # Until the command is loaded there is nothing to tidy: Ctrl-C ends the process at once, as the system does it. An
    # exception in the middle of a module that loads is a traceback, and inside msgspec a crash.
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in the background of a shell
    if hears:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from rightcall import lighten  # late, as all that is ours: see `_hook`

    lighten()
    from rightcall.cli.terminal import Ending

    ending = Ending()

    def listen() -> None:
        ending.listen()
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        code = _main(sys.argv[1:], listen)
        return code if ending.code is None else ending.code
    except KeyboardInterrupt:  # when it was all but done
        return INTERRUPTED if ending.code is None else ending.code
    finally:
        ending.tidying()
        gc.freeze()


def _hook(arguments: list[str]) -> int | None:
    """A host waits for it, at every call: nothing else is loaded. None where these words start no hook. Whatever
    happens, also in the middle of an upgrade: hosts take any code but this one as leave to run the call."""
    try:
        try:
            from rightcall.hosts.hooks.hook import alone, is_hook

            if not is_hook(arguments):
                return None
            gc.disable()
            return alone(arguments[1:])
        except KeyboardInterrupt:  # before it had begun
            from rightcall.hosts.hooks.hook import answer_interrupted, is_hook

            return answer_interrupted(arguments[1:]) if is_hook(arguments) else INTERRUPTED
    except BaseException as fault:  # noqa: BLE001 - it could not even be loaded
        told = f"rightcall hook: it cannot be started ({type(fault).__name__}: {fault}); install RightCall again\n"
        os.write(2, told.encode("utf-8", "replace"))
        observes = any(word.removeprefix("--mode=") in ("observe", "warn") for word in arguments)
        return REFUSED if observes else USAGE


def _describe_failure(error: OSError) -> str:
    """Which file, why, and what to do about it."""
    import errno  # late: this is rare

    name = error.filename if isinstance(error.filename, str) else ""
    if error.errno == errno.EROFS:
        return f"cannot write {name or 'here'}: the disk is read-only; run it in another folder"
    if error.errno == errno.ENOSPC:
        return f"cannot write {name or 'the output'}: the disk is full; free some space and run it again"
    if error.errno in (errno.EACCES, errno.EPERM) and name:
        return f"no permission for {name}; change its rights, or run it in another folder"
    return f"reading or writing failed: {error.strerror or error}{f' ({name})' if name else ''}"


def _main(arguments: list[str], when_loaded: Callable[[], None] | None = None) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with it closed: what is written goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for as long as we live
    try:
        code = _dispatch(arguments, when_loaded)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _finish(sys.stdout)
        return INTERRUPTED
    except BrokenPipeError:
        _quiet(sys.stdout)
        return CLOSED_PIPE
    except OSError as error:
        _quiet(sys.stdout)
        return _complain(_describe_failure(error))
    except Exception as error:
        if not _is_interruption(error):
            raise
        _finish(sys.stdout)
        return INTERRUPTED


def _is_interruption(error: BaseException | None) -> bool:
    """Python itself makes another exception of one that comes while a class is made, as when a module is loaded."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error is not None


def _dispatch(arguments: list[str], when_loaded: Callable[[], None] | None) -> int:
    from rightcall.cli.terminal import make_writable

    make_writable(sys.stdout)
    make_writable(sys.stderr)
    if not arguments:
        sys.stderr.write(_part("help").overview())
        return USAGE
    first = arguments[0]
    if first in ("-h", "--help", "help"):
        return _show_help(arguments[1:])
    if first in ("-V", "--version", "version"):
        return _version(arguments[1:])
    if first not in COMMANDS:
        return _complain(_no_such_command(first))
    return _run(first, arguments[1:], when_loaded)


def _run(command: str, arguments: list[str], when_loaded: Callable[[], None] | None) -> int:
    from rightcall.errors import RightCallError

    parser, module = _part("options").parser_of(command)
    if when_loaded is not None:
        when_loaded()
    options: Any = None
    try:
        parse = getattr(module, f"parse{suffix_of(command)}", None)
        options = parser.parse_args(arguments) if parse is None else parse(parser, arguments)
        return getattr(module, f"run{suffix_of(command)}")(options)
    except SystemExit as stop:  # how argparse ends for --help and for wrong usage; it has already said why
        return stop.code if isinstance(stop.code, int) else USAGE
    except RightCallError as error:
        message = str(error).replace("It continues by itself once", "Run the command again once")  # this one has ended
        return _complain(message if options is None else _part("options").pointed(message, options))


def home_of(command: str) -> str:
    """The module of this package that a command is in."""
    return _HOMES.get(command, command)


def suffix_of(command: str) -> str:
    """How what is this command's ends in a module that it shares with others."""
    return "" if home_of(command) == command else f"_{command}"


def _part(name: str) -> Any:
    """A module of this package, which may import this one: by its name, as commands are."""
    return import_module(f"rightcall.cli.{name}")


def _complain(message: str) -> int:
    from rightcall.cli.terminal import harmless_lines

    try:
        sys.stderr.write("error: " + "\n".join(harmless_lines(message)) + "\n")
    except OSError:  # nobody is left to be told
        return USAGE
    return USAGE


def _no_such_command(name: str) -> str:
    from difflib import get_close_matches

    if name in REMOVED:
        return f"`rightcall {name}` is now `rightcall {REMOVED[name]}`"
    near = [_MEANT[name]] if name in _MEANT else get_close_matches(name, [*COMMANDS, "help"], n=1)
    hint = f"did you mean `{near[0]}`?" if near else "run `rightcall --help`"
    return f"unknown command `{name}`: {hint}"


def _show_help(words: list[str]) -> int:
    from rightcall.errors import RightCallError

    try:
        return _part("help").run(words)
    except RightCallError as error:
        return _complain(str(error))


def _version(words: list[str]) -> int:
    from rightcall import __version__

    if "--json" in words:
        sys.stdout.write(f'{{"version": "{__version__}"}}\n')
    else:
        sys.stdout.write(f"rightcall {__version__}\n")
    return OK


def _finish(stream: TextIO) -> None:
    """Writes out what was answered before an interruption."""
    try:
        stream.flush()
    except OSError:
        _quiet(stream)


def _quiet(stream: TextIO) -> None:
    """Points a stream that can no longer be written at nothing, so that Python's own last flush does not complain."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):  # no real file behind it: nothing to flush
        return
