"""Print the completion script of a shell. It completes commands, options, tools, packs, callers and approvals.

The script asks `rightcall completion words` at every Tab. That reads the parsers, and of the policy and the store in
force what an option or argument needs. It changes nothing, never fails, and runs none of your Python tools."""

import os
import re
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import closing, redirect_stderr
from itertools import pairwise
from typing import Final

from rightcall.cli import COMMANDS, OK
from rightcall.cli.parser import Parser, actions_of, flags, parser_of

EXAMPLES = """\
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


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help="bash, zsh or fish")


def parse(parser: ArgumentParser, given: list[str]) -> Namespace:
    if given[:1] == ["words"]:  # what is being typed may look like an option
        return Namespace(shell=None, words=given[1:])
    return parser.parse_args(given)


def run(options: Namespace) -> int:
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
    from rightcall.cli.options import load_tools
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
    from rightcall.cli.options import policy_of

    return ["default", *policy_of(options).settings.callers]


def _docs(_options: Namespace) -> Iterable[str]:
    from rightcall.cli.docs import pages

    return pages()


def _approvals(options: Namespace) -> Iterable[str]:
    from rightcall.cli.options import look_into

    with closing(look_into(options)) as store:
        now = store.clock.now()
        return [one.id for one in store.look(lambda tables: tables.approvals("waiting")) if one.expires_at > now]


def _grants(options: Namespace) -> Iterable[str]:
    from rightcall.cli.options import look_into

    with closing(look_into(options)) as store:
        return [one.id for one in store.look(lambda tables: tables.all_grants())]


def _tokens(options: Namespace) -> Iterable[str]:
    from rightcall.cli.options import look_into

    with closing(look_into(options)) as store:
        return [one.id for one in store.look(lambda tables: tables.tokens())]


def _requests(options: Namespace) -> Iterable[str]:
    from rightcall.base.files.guarded import packets_folder
    from rightcall.cli.options import database_of
    from rightcall.router.packets import PacketStore

    return ["last", *PacketStore(packets_folder(database_of(options))).ids()]


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
