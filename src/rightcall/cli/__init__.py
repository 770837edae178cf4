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
from importlib import import_module
from typing import Final, TextIO

__all__ = ["CLOSED_PIPE", "COMMANDS", "EXIT_CODES", "INTERRUPTED", "OK", "REFUSED", "USAGE", "home_of", "main"]

COMMANDS: Final = {
    "proxy": "stand between clients and a model's server, so that its tool calls come out right",
    "serve": "run the server: proxy, health, metrics; with a practice model when there is no upstream",
    "mcp": "be an MCP server over stdio: the code tools, and the servers of the policy, joined",
    "wrap": "stand between an MCP client and one server: its tool calls are repaired, checked and recorded",
    "doctor": "ask a model for tool calls: what share is usable without and with RightCall, and what helps",
    "read": "find and check the calls in what a model wrote, in any format",
    "check": "check one call, or JSON lines of calls",
    "call": "run one tool call under the policy, with a record of it",
    "route": "show how a request would be routed: is a tool needed, which one, how sure is it",
    "ask": "ask about this folder: a model looks around with the code tools until it can answer",
    "tools": "show the catalogue of tools: arguments, aliases, effects",
    "packs": "list the rule packs, or show one",
    "init": "write a policy file with every key, its default and what it means",
    "policy": "check a policy file, or explain what it decides for a caller and a tool",
    "trust": "trust a policy file that was found in a folder: show what it asks for, ask, and remember it",
    "approvals": "answer the calls that wait for a person: list, show, approve, deny, watch",
    "grants": "say yes in advance to certain calls of a caller, or take it back",
    "token": "make, list and revoke the tokens with which clients speak for a caller over HTTP",
    "quarantine": "list the calls that were refused too often, or release one",
    "pause": "stop every tool call at once, in all processes on the store, until `resume`",
    "resume": "let tool calls run again after `pause`",
    "audit": "see what was recorded: tail, show, verify, head, export, prune",
    "packet": "tell the story of a request that was routed: show, list, remove, prune",
    "install": "put rightcall into the settings of a host: Claude Code, Gemini CLI, Codex, Cursor and others",
    "uninstall": "take it out of them again, byte for byte",
    "status": "show where rightcall is installed, in which mode, and whether it works",
    "hook": "answer an event of Claude Code, Gemini CLI or Codex: allow, deny, ask, or put its input right",
    "pr": "look after pull requests: list, show, diff, comment, approve, reject, close, merge, export",
    "undo": "take back what a tool has written, or list the last changes",
    "sandbox": "run a program of your own in the sandbox, or find out whether it works here: run, doctor",
    "warm": "make a big git history fast to look at, without touching the repository",
    "formats": "list the formats in which calls are found, with an example each",
    "stats": "show how tools were used: calls, success, times, refusals, the success metrics",
    "eval": "score the gate on a corpus of emissions, damaged calls or broken JSON",
    "demo": "watch the gate at work on broken calls",
    "version": "print the version",
}

_HOMES: Final = {
    "wrap": "mcp", "proxy": "serve", "uninstall": "install", "tools": "packs", "formats": "packs",
    "grants": "approvals", "quarantine": "approvals", "token": "trust", "resume": "pause", "undo": "pr",
    "hook": "mcp", "status": "install",
}  # fmt: skip
"""Commands that share a module with another: what is theirs there ends with their name (`run_wrap`, `HELP_WRAP`)."""

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141
HELP_WIDTH: Final = 110

EXIT_CODES: Final = """\
exit codes:
  0    done; for `check`: the call may run; for `read`: every call found may run, or there is none
       (with --jsonl: every line was answered); for `call`: the tool ran
  1    `check`: the call is refused; `read`: a call is refused; `call`, `route --run`: it did not run, or failed;
       `ask`: it waits for a person, or there is no whole answer; `route`: no model could choose;
       `audit verify`: a record was changed, removed or moved; `audit prune`: you said no;
       `install`, `uninstall`: you said no, or there was nothing to wrap; `status`, `sandbox doctor`: something does
       not work; `tools --write-examples`: the model wrote none for a tool; `undo`: you said no, or
       something newer depends on it; `pr`: it was not done, or you said no
  2    wrong usage, a wrong tool, pack or policy file, or input or output that fails
  124  `sandbox run`, whose exit code is the program's: it took too long; 125: there is no sandbox; 137: over a limit;
       123: it ended with 0, but not all of its files could be brought back
  129  its terminal was closed (SIGHUP)
  130  interrupted (Ctrl-C)
  141  the reader of the output closed it
  143  ended from outside (SIGTERM)
"""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises for what a user or a model wrote."""
    if argv is not None:
        return _main(argv)
    # As a process of its own: nothing of what is loaded is ever garbage, so Python need not search it, neither now nor
    # when it ends. That is 20 ms of a start.
    gc.set_threshold(50_000)
    if sys.argv[1:2] == ["hook"] and (code := _hook(sys.argv[1:])) is not None:
        os._exit(code)  # everything is said and recorded; tearing down takes as long as judging

    from rightcall.cli.terminal import Ending

    ending = Ending()
    try:
        code = _main(sys.argv[1:])
        return code if ending.code is None else ending.code
    except KeyboardInterrupt:  # before it had begun, or when it was all but done
        return INTERRUPTED if ending.code is None else ending.code
    finally:
        ending.tidying()
        gc.freeze()


def _hook(arguments: list[str]) -> int | None:
    """A host waits for it, at every call: nothing else is loaded. None where these words start no hook."""
    try:
        from rightcall.hosts.hooks.hook import alone, is_hook

        if not is_hook(arguments):
            return None
        gc.disable()
        return alone(arguments[1:])
    except KeyboardInterrupt:  # before it had begun
        from rightcall.hosts.hooks.hook import answer_interrupted, is_hook

        return answer_interrupted(arguments[1:]) if is_hook(arguments) else INTERRUPTED


def _main(arguments: list[str]) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with it closed: what is written goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for as long as we live
    try:
        code = _dispatch(arguments)
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
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return _complain(f"input or output failed: {error.strerror or error}{where}")
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


def _dispatch(arguments: list[str]) -> int:
    from rightcall.cli.terminal import make_writable

    make_writable(sys.stdout)
    make_writable(sys.stderr)
    if not arguments:
        sys.stderr.write(_help())
        return USAGE
    first = arguments[0]
    if first in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return OK
    if first in ("-V", "--version", "version"):
        return _version()
    if first not in COMMANDS:
        return _complain(_no_such_command(first))
    return _run(first, arguments[1:])


def _run(command: str, arguments: list[str]) -> int:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter
    from functools import partial

    from rightcall.errors import RightCallError

    home = home_of(command)
    module = import_module(f"rightcall.cli.{home}")
    own = "" if home == command else f"_{command}"
    parser = ArgumentParser(
        prog=f"rightcall {command}",
        description=getattr(module, f"HELP{own.upper()}") if own else module.__doc__,
        epilog=f"{getattr(module, f'EXAMPLES{own.upper()}')}\n{EXIT_CODES}",
        formatter_class=partial(RawDescriptionHelpFormatter, width=HELP_WIDTH),  # asking for the width loads shutil
        allow_abbrev=False,
    )
    getattr(module, f"arguments{own}")(parser)
    try:
        parse = getattr(module, "parse", None)
        return getattr(module, f"run{own}")(parser.parse_args(arguments) if parse is None else parse(parser, arguments))
    except SystemExit as stop:  # how argparse ends for --help and for wrong usage; it has already said why
        return stop.code if isinstance(stop.code, int) else USAGE
    except RightCallError as error:
        return _complain(str(error))


def home_of(command: str) -> str:
    """The module of this package that a command is in."""
    return _HOMES.get(command, command)


def _complain(message: str) -> int:
    from rightcall.cli.terminal import harmless_lines

    try:
        sys.stderr.write("rightcall: " + "\n".join(harmless_lines(message)) + "\n")
    except OSError:  # nobody is left to be told
        return USAGE
    return USAGE


def _no_such_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the commands are {', '.join(COMMANDS)}"
    return f"there is no command `{name}`: {hint}"


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: rightcall COMMAND [options]\n\n"
        "Makes every tool call a language model emits come out right, or not at all.\n\n"
        f"commands:\n{commands}\n\n"
        "examples:\n"
        "  rightcall demo\n"
        "  some-model | rightcall read --tools tools.json\n"
        "  rightcall check code_execution_tool \"{'runtime': 'bash', 'command': 'ls'}\" --pack agent-zero\n"
        "  rightcall check --help\n\n"
        f"{EXIT_CODES}"
    )


def _version() -> int:
    from rightcall import __version__

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
