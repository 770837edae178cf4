"""The texts of `--help` and of `rightcall help`: at most 30 lines for a command, everything on demand.

rightcall --help            the groups of commands
rightcall COMMAND --help    one sentence, usage, arguments, own options, three examples, the page
rightcall help COMMAND      every option, with all examples
rightcall help TOPIC        commands, options, exit-codes
rightcall docs [PAGE]       the pages of the documentation
rightcall completion SHELL  the script that completes words in a shell
"""

import os
import re
import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, redirect_stderr
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Final, cast

from rightcall.base.files.guarded import packets_folder
from rightcall.base.text import escaped
from rightcall.cli import COMMANDS, OK
from rightcall.cli.options import (
    SHARED,
    WIDTH,
    InputError,
    Parser,
    actions_of,
    database_of,
    flags,
    json_option,
    load_tools,
    look_into,
    parser_of,
    policy_of,
    server_of,
)
from rightcall.cli.terminal import Style, style_for, tell
from rightcall.errors import ConfigError

LONGEST: Final = 30
"""Lines of a `--help`: what fits a small terminal."""

GROUPS: Final = {
    "Start": ("demo", "init", "doctor", "console", "docs"),
    "Connect": ("proxy", "serve", "mcp", "wrap", "install", "uninstall", "status", "login", "logout"),
    "Calls": ("read", "check", "run", "tools", "lint", "packs", "formats"),
    "Control": (
        "policy",
        "trust",
        "approvals",
        "grants",
        "people",
        "token",
        "pause",
        "resume",
        "audit",
        "store",
        "stats",
        "replay",
        "learn",
    ),
    "Requests": ("ask", "route", "requests"),
    "Code": ("sandbox", "pr", "undo"),
}
"""What `rightcall --help` shows; the commands that are in no group are hidden."""

HIDDEN: Final = ("hook", "eval", "warm", "version", "completion")

PAGES: Final = {
    "doctor": "reference/doctor.md", "proxy": "reference/proxy.md", "serve": "reference/proxy.md",
    "mcp": "reference/mcp.md", "wrap": "reference/mcp.md", "install": "hosts/index.md", "uninstall": "hosts/index.md",
    "status": "hosts/index.md", "login": "login.md", "logout": "login.md", "hook": "hosts/index.md",
    "read": "reference/formats.md",
    "check": "concepts/repair.md", "lint": "reference/lint.md", "tools": "reference/packs.md",
    "packs": "reference/packs.md",
    "formats": "reference/formats.md", "policy": "operate/policy.md", "init": "operate/policy.md",
    "trust": "concepts/policy-order.md", "approvals": "operate/approve.md", "grants": "operate/approve.md",
    "console": "operate/console.md", "people": "operate/console.md",
    "audit": "operate/audit.md", "store": "operate/scale.md", "stats": "operate/stats.md",
    "replay": "operate/replay.md",
    "learn": "operate/learn.md",
    "route": "concepts/routing.md",
    "ask": "concepts/routing.md", "requests": "reference/routing.md", "sandbox": "reference/sandbox.md",
    "pr": "reference/writes.md", "undo": "reference/undo.md", "run": "reference/executor.md",
}  # fmt: skip
"""The page under docs/ about a command; where there is no other, its section of the reference."""

EXITS: Final = {
    "check": "0 the call may run, 1 refused, 2 wrong usage",
    "read": "0 every call may run, 1 a call is refused, 2 wrong usage",
    "run": "0 the tool ran, 1 refused, waiting or failed, 2 wrong usage",
    "audit verify": "0 unchanged, 1 a record was changed, removed or moved, 2 wrong usage",
    "sandbox run": "the program's own; 123 files lost, 124 timeout, 125 no sandbox, 137 over a limit",
}

EXIT_CODES: Final = """\
Exit codes of every command:
  0    done
  1    the command worked; the answer is negative (below)
  2    wrong usage; an invalid tool, pack or policy file; input or output failed
  129  the terminal was closed (SIGHUP)
  130  interrupted (Ctrl-C); `audit tail --follow` and `approvals watch` end that way, with 0
  141  the reader of the output closed it
  143  stopped from outside (SIGTERM)

Exit code 1:
  check                   the call is refused (with --jsonl: 0 once every line is answered)
  read                    a call is refused
  run, route --run        the call did not run, or failed
  ask                     a person must answer first, or the answer is incomplete
  route                   no model could choose
  approvals approve       the call was shown and not approved
  lint                    findings at or above `--fail-on`; with --fix, you declined
  audit verify            a record was changed, removed or moved
  audit prune, adopt      you declined
  replay                  a change that `--fail-on` names occurs
  install, uninstall      you declined, or there was nothing to wrap
  doctor, status          something does not work
  sandbox doctor          the sandbox does not work, or does not stop everything
  tools --write-examples  the model wrote no example for a tool
  undo                    you declined, or something newer depends on the change
  pr                      nothing was done, or you declined

Exit codes of sandbox run: the program's own, 128+N when signal N ended it, and
  123  the program ended with 0, but not all of its files could be copied back
  124  timeout
  125  no sandbox on this machine; nothing ran
  137  another limit ended the program

wrap ends with the exit code of the server.
"""

_NAMES: Final = {
    "--tools": "--tools FILE|MODULE:NAME", "--pack": "--pack NAME", "--policy": "--policy FILE", "--root": "--root DIR",
    "--store": "--store FILE", "--as": "--as CALLER", "--by": "--by NAME", "--key-env": "--key-env NAME",
    "--model": "--model NAME", "--provider": "--provider NAME",
}  # fmt: skip


def run(words: list[str]) -> int:
    """`rightcall help …`."""
    sys.stdout.write(_topic(words))
    return OK


def _topic(words: list[str]) -> str:
    if not words or words[0] in ("-h", "--help", "help"):
        return overview()
    name, *rest = words
    topics = {"commands": _commands, "options": _options, "exit-codes": lambda: EXIT_CODES}
    if name in topics and not rest:
        return topics[name]()
    if name not in COMMANDS or name == "version":
        near = get_close_matches(name, [*COMMANDS, *topics], n=1)
        hint = f"did you mean `{near[0]}`?" if near else "run `rightcall help commands`"
        raise ConfigError(f"unknown help topic `{name}`: {hint}")
    parser = parser_of(name)[0]
    for word in rest:
        if (inner := actions_of(parser).get(word)) is None:
            raise ConfigError(f"unknown action `{word}` of `{parser.prog}`: run `{parser.prog} --help`")
        parser = inner
    return "\n".join(_whole(parser))


def _whole(parser: Parser) -> Iterator[str]:
    yield parser.format_whole_help()
    for action in actions_of(parser).values():
        yield from _whole(action)


def overview() -> str:
    """What `rightcall --help` prints."""
    width = max(map(len, GROUPS))
    groups = "\n".join(f"  {group:<{width}}  {', '.join(names)}" for group, names in GROUPS.items())
    return f"""\
Repair the tool calls models get wrong, and block those that must not run.

usage: rightcall COMMAND [OPTIONS]

commands:
{groups}

examples:
  rightcall demo                                      See what RightCall does
  rightcall proxy --upstream http://localhost:11434   Repair the calls of a local model
  some-model | rightcall read --tools tools.json      Check the calls in a model's output

more:
  rightcall help commands      What each command does
  rightcall COMMAND --help     How to use a command
  rightcall help COMMAND       Every option of a command
  rightcall help options       Options that commands share
  rightcall help exit-codes    Exit codes
  rightcall completion SHELL   Completion for bash, zsh or fish
  rightcall --version          The version

docs: run `rightcall docs`
"""


def _commands() -> str:
    width = max(map(len, COMMANDS))
    parts = [
        f"{group}:\n" + "".join(f"  {name:<{width}}  {COMMANDS[name]}\n" for name in names)
        for group, names in {**GROUPS, "Other": HIDDEN}.items()
    ]
    return "\n".join(parts)


def _options() -> str:
    rows = [(_NAMES.get(flag, flag), about) for flag, about in SHARED.items()]
    return "\n".join(["Options that several commands take:", *_rows(rows), ""])


def short_help(parser: Parser) -> str:
    """What `--help` prints. Own options that do not fit are named as missing, never cut silently."""
    command = parser.prog.removeprefix("rightcall ")
    own = [action for action in _visible(parser) if action.option_strings and not _is_shared(action)]
    shared = [action.option_strings[-1] for action in _visible(parser) if action.option_strings and _is_shared(action)]
    head = [f"{parser.summary}.", "", *_usage(parser)]
    places = [row for action in _visible(parser) if not action.option_strings for row in _argument_rows(action)]
    if places:
        head += ["", "actions:" if actions_of(parser) else "arguments:", *_rows(places)]
    line = f"shared options: {', '.join(shared)} (see `rightcall help options`)"
    tail = wrap(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) if shared else []
    if examples := _examples(parser):
        tail += ["", "examples:", *examples]
    tail += ["", *([f"exit codes: {EXITS[command]}"] if command in EXITS else [])]
    about = command.partition(" ")[0]
    tail += [f"docs: rightcall docs {PAGES.get(about, about).removesuffix('.md')}"]
    return "\n".join(_fitting(parser, head, own, tail)).replace("\n\n\n", "\n\n") + "\n"


def _fitting(parser: Parser, head: list[str], own: list[Action], tail: list[str]) -> list[str]:
    lines: list[str] = []
    for count in range(len(own), -1, -1):
        rows = _rows([(_name(action), _about(action)) for action in own[:count]])
        missing = len(own) - count
        more = [f"  … {missing} more: run `rightcall help {parser.prog.split()[1]}`"] if missing else []
        middle = ["", "options:", *rows, *more] if rows or more else [""]
        lines = [*head, *middle, *tail]
        if len(lines) <= LONGEST:
            break
    return lines


def _visible(parser: ArgumentParser) -> list[Action]:
    return [action for action in parser._actions if action.help != SUPPRESS and action.dest != "help"]


def _is_shared(action: Action) -> bool:
    return not action.required and action.help in (SHARED.get(flag) for flag in action.option_strings)


def _usage(parser: Parser) -> list[str]:
    if parser.usage is not None:
        words = [parser.usage]
    else:
        actions = _visible(parser)
        required = [_name(action) for action in actions if action.option_strings and action.required]
        optional = any(action.option_strings and not action.required for action in actions)
        places = [_place(action) for action in actions if not action.option_strings]
        words = [parser.prog, *required, *(["[OPTIONS]"] if optional else []), *places]
    return wrap(f"usage: {' '.join(words)}", WIDTH, subsequent_indent=" " * 7)


def _place(action: Action) -> str:
    name = str(action.metavar or action.dest)
    if action.nargs == "?":
        return f"[{name}]"
    if action.nargs == "*":
        return f"[{name} ...]"
    return f"{name} ..." if action.nargs in ("+", "A...") else name


def _name(action: Action) -> str:
    name = ", ".join(sorted(action.option_strings, key=len))
    if action.nargs == 0:
        return name
    choices = "|".join(map(str, action.choices)) if action.choices is not None else action.dest.upper()
    metavar = str(action.metavar or choices)
    return f"{name} [{metavar}]" if action.nargs == "?" else f"{name} {metavar}"


def _argument_rows(action: Action) -> list[tuple[str, str]]:
    if action.dest == "action":
        return [(name, parser.summary) for name, parser in cast("dict[str, Parser]", action.choices).items()]
    return [(str(action.metavar or action.dest), _about(action))]


def _about(action: Action) -> str:
    return (action.help or "") % {"default": action.default} if "%(" in (action.help or "") else action.help or ""


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns; the text of a long name starts in the same column where it can."""
    width = min(max((len(name) for name, _ in rows), default=0), 30)
    lines: list[str] = []
    for name, about in rows:
        first, *others = wrap(about.replace("%%", "%"), WIDTH - width - 4) or [""]
        if len(name) > width:
            first, *others = wrap(about.replace("%%", "%"), WIDTH - len(name) - 4) or [""]
        lines += [f"  {name:<{width}}  {first}".rstrip(), *(" " * (width + 4) + line for line in others)]
    return lines


def _examples(parser: Parser) -> list[str]:
    lines = [line for line in (parser.epilog or "").splitlines() if f"{parser.prog} " in f"{line} "]
    return [line for line in lines if re.match("  [^ ]", line) and len(line) <= WIDTH][:3]


# ── docs ──

HELP_DOCS = """\
Print a page of the documentation: the one of a command, of a topic, or the list of all pages.

The pages come with the package, as Markdown, and belong to the installed version. In a checkout with a built site
(`make docs`), --browser opens the page there."""

EXAMPLES_DOCS = """\
examples:
  rightcall docs
  rightcall docs approvals
  rightcall docs concepts/repair | less
"""

_HERE: Final = Path(__file__).resolve().parent.parent
_COMMANDS_PAGE: Final = "reference/commands"
_COMMENT: Final = re.compile(r"<!--.*?-->\n+", re.DOTALL)
_MOVED: Final = "This page moved to "
"""How the pages begin that only keep an old path alive."""


def arguments_docs(parser: ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", metavar="PAGE", help="Name of a page or command (default: list all pages)")
    parser.add_argument("--browser", action="store_true", help="Open the page of the built site in a browser")
    json_option(parser)


def run_docs(options: Namespace) -> int:
    found = pages()
    if options.page is None and not options.browser:
        record = {"pages": [{"page": name, "title": title} for name, title in found.items()]}
        tell(options, record, lambda style: _listing(found, style))
        return OK
    name = _named(options.page or "index", list(found))
    if options.browser:
        return _browse(name)
    text = _COMMENT.sub("", (_folder() / f"{name}.md").read_text(encoding="utf-8"))
    if options.page in COMMANDS and name == _COMMANDS_PAGE:
        text = _section(text, options.page)
    tell(options, {"page": name, "title": found[name], "text": text}, lambda _: text.rstrip("\n").split("\n"))
    return OK


def _folder() -> Path:
    """Beside the package where it was installed from a wheel, at the root of a checkout."""
    for folder in (_HERE / "docs", _HERE.parent.parent / "docs"):
        if (folder / "index.md").is_file():
            return folder
    raise InputError("the documentation is not installed here: build the wheel from a checkout or an sdist")


def pages() -> dict[str, str]:
    """Every page with its title, by its path without the ending."""
    folder = _folder()
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.md"), key=lambda path: (len(path.relative_to(folder).parts), path)):
        with open(path, encoding="utf-8") as stream:
            first = next((line.strip() for line in stream if line.strip() and not line.startswith("<!--")), "")
        if not first.startswith(_MOVED):
            found[path.relative_to(folder).with_suffix("").as_posix()] = first.lstrip("# ")
    return found


def _named(page: str, pages: list[str]) -> str:
    wanted = page.removeprefix("docs/").removesuffix(".md").strip("/")
    if wanted in pages:
        return wanted
    if wanted in COMMANDS:
        return PAGES.get(wanted, _COMMANDS_PAGE).removesuffix(".md")
    last = [name for name in pages if name.rpartition("/")[2] == wanted or name == f"{wanted}/index"]
    if last:
        return last[0]
    names = [*pages, *(name.rpartition("/")[2] for name in pages), *COMMANDS]
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "run `rightcall docs` to list the pages"
    raise InputError(f"unknown page `{escaped(page, 80)}`: {hint}")


def _section(text: str, command: str) -> str:
    """What the reference says of one command, instead of all of them."""
    return f"## {command}\n" + text.partition(f"\n## {command}\n")[2].partition("\n## ")[0]


def _browse(name: str) -> int:
    file = _HERE.parent.parent / "build" / "site" / f"{name}.html"
    if not file.is_file():
        raise InputError(f"no built site here; run `make docs` in a checkout, or read it with `rightcall docs {name}`")
    from webbrowser import open as open_page

    style = style_for(sys.stdout)
    sys.stdout.write(f"{style.tint(file.as_uri(), 'bold')}\n")
    if "BROWSER" in os.environ or "DISPLAY" in os.environ or sys.platform in ("darwin", "win32"):
        open_page(file.as_uri())
    return OK


def _listing(pages: dict[str, str], style: Style) -> list[str]:
    width = max(map(len, pages))
    lines = [
        f"{name:<{width}}  {style.tint(title, 'dim')}" for name, title in pages.items() if "decisions/" not in name
    ]
    return [*lines, "", "Read one with `rightcall docs PAGE`."]


# ── completion ──

HELP_COMPLETION = """\
Print the completion script of a shell. It completes commands, options, tools, packs, callers and approvals.

The script asks `rightcall completion words` at every Tab. That reads the parsers, and of the policy and the store in
force what an option or argument needs. It changes nothing, never fails, and runs none of your Python tools."""

EXAMPLES_COMPLETION = """\
examples:
  eval "$(rightcall completion bash)"               # in ~/.bashrc
  rightcall completion zsh > _rightcall             # into a folder of $fpath
  rightcall completion fish > rightcall.fish        # into ~/.config/fish/completions
"""

SCRIPTS: Final = {
    "bash": """\
_rightcall() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(rightcall completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _rightcall rightcall
""",
    "zsh": """\
#compdef rightcall
_rightcall() {
    local -a found
    found=("${(@f)$(rightcall completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then
        compadd -a found
    else
        _files
    fi
}
if [[ "$funcstack[1]" = _rightcall ]]; then
    _rightcall "$@"
else
    compdef _rightcall rightcall
fi
""",
    "fish": """\
function __rightcall_words
    set -l before (commandline -opc)
    set -e before[1]
    rightcall completion words $before (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c rightcall -a '(__rightcall_words)'
""",
}

TOPICS: Final = ("commands", "options", "exit-codes")
_PLAIN: Final = re.compile(r"[\w./@+][\w./@+:-]*|--?[\w-]+", re.ASCII)
"""A shell inserts a word as it is: one that it would read as more than a word is not offered."""


def arguments_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help="bash, zsh or fish")


def parse_completion(parser: ArgumentParser, given: list[str]) -> Namespace:
    if given[:1] == ["words"]:  # what is being typed may look like an option
        return Namespace(shell=None, words=given[1:])
    return parser.parse_args(given)


def run_completion(options: Namespace) -> int:
    if options.shell is None:
        sys.stdout.writelines(f"{word}\n" for word in complete(options.words))
    else:
        sys.stdout.write(SCRIPTS[options.shell])
    return OK


def complete(words: list[str]) -> list[str]:
    """What the last of the words behind `rightcall` may become; nothing where a file is meant, or nothing is known."""
    words = [*words, ""] if words[-1:] in ([], ["="]) else words  # bash makes a word of the sign
    *before, now = [word for word in words if word != "="]
    try:
        with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stderr(nothing):
            found = sorted({word for word in _candidates(before, now) if word.startswith(now)})
    except Exception:  # noqa: BLE001 - nobody who presses Tab wants to read what is wrong with a policy or a store
        return []
    return [word for word in found if _PLAIN.fullmatch(word)]


def _candidates(before: list[str], now: str) -> Iterable[str]:
    if not before:
        return ["--help", "--version"] if now.startswith("-") else [*COMMANDS, "help"]
    if before[0] == "help":
        return [*COMMANDS, *TOPICS] if len(before) == 1 else actions_of(parser_of(before[1])[0])
    if before[0] not in COMMANDS:
        return []
    parser, taken, wanted = parser_of(before[0])[0], 0, None
    for word in before[1:]:
        if wanted is not None:
            wanted = None
        elif word == "--":
            return []
        elif word.startswith("-"):
            wanted = _value_of(parser, word)
        elif (inner := actions_of(parser).get(word)) is not None:
            parser, taken = inner, 0
        else:
            taken += 1
    if wanted is None and now.startswith("-"):
        return flags(parser)
    places = [action for action in parser._actions if not action.option_strings]
    if wanted is None and places:
        wanted = places[min(taken, len(places) - 1)]
    return [] if wanted is None else _values(wanted, parser, before)


def _value_of(parser: Parser, flag: str) -> Action | None:
    action = parser._option_string_actions.get(flag)
    return None if action is None or action.nargs in (0, "?") else action


def _values(action: Action, parser: Parser, before: list[str]) -> Iterable[str]:
    if action.choices is not None:
        return map(str, action.choices)
    command = parser.prog.removeprefix("rightcall ")
    flag = action.option_strings[-1] if action.option_strings else ""
    kind = flag or _PLACES.get(command, str(action.metavar or action.dest))
    return [] if (values := _KINDS.get(kind)) is None else values(_read(before))


def _read(before: list[str]) -> Namespace:
    """What the words before say of policy, store and tools; the last one counts where only one can."""
    given: dict[str, list[str]] = {"--tools": [], "--pack": [], "--policy": [], "--root": [], "--store": []}
    for flag, value in pairwise(before):
        if flag in given:
            given[flag].append(value)
    last = {name: given[f"--{name}"][-1] if given[f"--{name}"] else None for name in ("policy", "root", "store")}
    return Namespace(**{**last, "root": last["root"] or "."}, tools=given["--tools"], pack=given["--pack"])


def _tools(options: Namespace) -> Iterable[str]:
    from rightcall.gate.gate import Gate

    files = [one for one in options.tools if os.path.isfile(one)]
    return Gate(load_tools(files), packs=tuple(dict.fromkeys(("code", *options.pack)))).catalog.tools


def _packs(_options: Namespace) -> Iterable[str]:
    from rightcall.catalog.packs import available_packs

    return available_packs()


def _formats(_options: Namespace) -> Iterable[str]:
    from rightcall.gate.recover.machine import builtin_formats

    return [one.name for one in builtin_formats()]


def _hosts(_options: Namespace) -> Iterable[str]:
    from rightcall.hosts.install.places import HOSTS

    return HOSTS


def _callers(options: Namespace) -> Iterable[str]:
    return ["default", *policy_of(options).settings.callers]


def _docs(_options: Namespace) -> Iterable[str]:

    return pages()


def _approvals(options: Namespace) -> Iterable[str]:
    with closing(look_into(options)) as store:
        now = store.clock.now()
        return [one.id for one in store.look(lambda tables: tables.approvals("waiting")) if one.expires_at > now]


def _grants(options: Namespace) -> Iterable[str]:
    with closing(look_into(options)) as store:
        return [one.id for one in store.look(lambda tables: tables.all_grants())]


def _tokens(options: Namespace) -> Iterable[str]:
    with closing(look_into(options)) as store:
        return [one.id for one in store.look(lambda tables: tables.tokens())]


def _requests(options: Namespace) -> Iterable[str]:
    from rightcall.router.packets import PacketStore, packets_of

    folder = packets_folder(database_of(options))
    if not server_of(options):
        return ["last", *PacketStore(folder).ids()]
    with closing(look_into(options)) as store:
        return ["last", *packets_of(store, folder).ids()]


_PLACES: Final = {
    "tools": "TOOL", "packs": "PACK", "formats": "FORMAT", "policy explain": "TOOL", "approvals show": "APPROVAL",
    "approvals approve": "APPROVAL", "approvals deny": "APPROVAL", "grants revoke": "GRANT", "token revoke": "TOKEN",
    "requests show": "REQUEST", "requests remove": "REQUEST",
}  # fmt: skip
"""What the argument of a command is, where its name does not tell."""

_KINDS: Final[dict[str, Callable[[Namespace], Iterable[str]]]] = {
    "TOOL": _tools, "--tool": _tools, "PACK": _packs, "--pack": _packs, "FORMAT": _formats, "HOST": _hosts,
    "--as": _callers, "PAGE": _docs, "APPROVAL": _approvals, "--approval": _approvals, "GRANT": _grants,
    "TOKEN": _tokens, "REQUEST": _requests, "--resume": _requests,
}  # fmt: skip
