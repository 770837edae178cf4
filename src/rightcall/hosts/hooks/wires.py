"""What an event of a host says, whichever host it is, and how the names of its tools are to be read. Then what each of
them sends and takes: Claude Code, Codex and Gemini CLI, none of which can stand for another. And what they are told of
a call that nobody could judge."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import HOST_OWN, PackTool
from rightcall.hosts.hooks.place import TRIAL
from rightcall.types import Effect, Rules

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage


Kind = Literal["before", "after", "over", "trial", "other"]
_PREFIX = "mcp__"
_LONGEST_LABEL = 200


class Happened(Struct, frozen=True):
    """`before` a tool runs, `after` it has run, `over` when a session or a turn is; `trial` when `rightcall status`
    asks whether calls can be judged; anything `other` needs no word."""

    kind: Kind
    tool: str = ""
    arguments: Any = None
    space: str = ""
    """The MCP server, for a tool of one."""
    context: str | None = None
    """The session."""
    step: str = ""
    """The call, as the host numbers it; empty for a host that does not."""
    ok: bool = True
    error: str | None = None
    summary: str = ""
    seconds: float | None = None
    reached: Mapping[str, Any] | None = None
    """How that server is reached, where the host tells: `command`, `args`, `cwd`, `url`."""
    cwd: str | None = None
    """The folder that the host works in at the moment."""
    answer: Any = None
    """All that the tool gave, as the host tells it."""
    called: str = ""
    """The tool by the name that the model calls it, where a word on it follows."""


class WrongEvent(Exception):
    """The event is not what the host says it sends; the text says what is wrong."""


def as_called(message: str, happened: Happened) -> str:
    """A refusal for the model, which knows a server's tool by the host's name for it.

    >>> as_called("⚠️ Invalid read call.", Happened("before", "read", space="files", called="mcp__files__read"))
    '⚠️ Invalid mcp__files__read call.'
    """
    if not message or not happened.space or not happened.called:
        return message
    from rightcall.base.text import rename_hint  # late: a call that passes says nothing

    return rename_hint(message, happened.tool, happened.called)


def tool_and_space(name: str, servers: Iterable[str] = ()) -> tuple[str, str]:
    """`mcp__files__read` is the tool `read` of server `files`. The longest server that is known counts, since names of
    servers may hold the separator; hosts write what they do not take in a name as `_`.

    >>> tool_and_space("mcp__files__read_file"), tool_and_space("Read")
    (('read_file', 'files'), ('Read', ''))
    >>> tool_and_space("mcp__my_files__v2__read", ["my files__v2"])
    ('read', 'my files__v2')
    """
    if not name.startswith(_PREFIX):
        return name, ""
    rest = name.removeprefix(_PREFIX)
    for server in sorted(servers, key=len, reverse=True):
        start = f"{plain(server)}__"
        if rest.startswith(start) and len(rest) > len(start):
            return rest.removeprefix(start), server
    server, separator, tool = rest.partition("__")
    return (tool, server) if server and separator and tool else (name, "")


def plain(server: str) -> str:
    """A server's name as hosts write it in the names of its tools."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in server)


def label(value: object) -> str | None:
    """An id that can stand in a record."""
    return value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_LABEL else None


def text_of(value: object, most: int = 300) -> str:
    """The beginning of what a tool gave back, as text. Only for the record, where it is shown escaped."""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, list):
        return " ".join(filter(None, (text_of(one, most) for one in value[:5])))[:most]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, dict):
        for key in ("text", "stdout", "content", "llmContent", "output", "message", "filePath", "file"):
            if found := text_of(value.get(key), most):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return found
    return ""


_TIMINGS = ("duration", "elapsed")
_DEEPEST = 20


def answer_of(value: Any, depth: int = 0) -> Any:
    """What a tool gave, without what a host says beside it: how long it took is no part of the answer.

    >>> answer_of({"stdout": "ok", "durationMs": 12, "_meta": {}})
    {'stdout': 'ok'}
    """
    if depth < _DEEPEST and isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {
            key: answer_of(one, depth + 1)
            for key, one in table.items()
            if not (key == "_meta" or key.casefold().startswith(_TIMINGS))
        }
    if depth < _DEEPEST and isinstance(value, list):
        return [answer_of(one, depth + 1) for one in cast("list[Any]", value)]
    return value


def inside(value: Any, key: str) -> Any:
    """What a value holds under a key; None where it is no object."""
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def field(event: dict[str, Any], name: str, kind: type) -> Any:
    """What the event must hold. Raises WrongEvent."""
    value = event.get(name)
    if not isinstance(value, kind):
        raise WrongEvent(f"its `{name}` is {'absent' if value is None else 'of the wrong type'}")
    return value


def is_unjudged(rule: str) -> bool:
    """Whether a refusal says nothing of the call itself: it could not be recorded, or judging it failed."""
    return rule == "fault" or rule.startswith("store:")


def denies_unjudged(on_failure: str | None, mode: str | None) -> bool:
    """Whether a call that nobody could judge is denied: as `on_failure` says, else where calls are blocked."""
    return (on_failure or ("deny" if mode in (None, "block") else "allow")) == "deny"


CANNOT_JUDGE = (
    "RightCall could not judge this call, so it was not made. Do not repeat it; tell the user. "
    "`rightcall status` shows them why."
)
"""What the model reads when a call is denied because nobody could judge it. Why is for the operator."""
JUDGED_TOO_LATE = "RightCall did not judge this call in time, so it was not made. You can send the same call again."


# ── built-in tools ──
# The tools that hosts bring along: what they do, and which of their arguments are paths, commands and addresses.
#
# Nothing else is checked of them, unless the policy asks for it (a pack, or `[gate.tools.NAME]`): a host has checked
# its own tools before its hook is asked, and knows them better. Those of Claude Code stand in pack `claude`; the
# others have no pack, since no door but the hook sees their calls.

_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}
_ALL: tuple[Effect, ...] = ("read", "write", "execute", "network")


def _tool(name: str, *effects: Effect, rules: Rules | None = None) -> PackTool:
    return PackTool(name, "", _ANYTHING, effects, rules or Rules(), HOST_OWN)


_FILE = Rules(paths=("file_path", "absolute_path"))
_FOLDER = Rules(paths=("dir_path", "path"))
"""By the names of all its versions."""
_SEARCH = Rules(paths=("dir_path", "path"), globs=("include", "include_pattern", "glob"))

_GEMINI_TOOLS = (
    _tool("read_file", "read", rules=_FILE),
    _tool("write_file", "write", rules=_FILE),
    _tool("replace", "read", "write", rules=_FILE),
    _tool("list_directory", "read", rules=_FOLDER),
    _tool("glob", "read", rules=Rules(paths=("dir_path", "path"), globs=("pattern",))),
    _tool("grep_search", "read", rules=_SEARCH),
    _tool("search_file_content", "read", rules=_SEARCH),
    _tool("read_many_files", "read", rules=Rules(paths=("include", "paths"), globs=("include", "paths"))),
    _tool("run_shell_command", *_ALL, rules=Rules(paths=("dir_path",), commands=("command",))),
    _tool("web_fetch", "network", rules=Rules(urls=("prompt", "url"))),
    _tool("google_web_search", "network"),
    _tool("invoke_agent", *_ALL),
    _tool("write_todos"),
    _tool("update_topic"),
    _tool("complete_task"),
    _tool("ask_user"),
    _tool("enter_plan_mode"),
    _tool("exit_plan_mode"),
    _tool("activate_skill", "read"),
    _tool("get_internal_docs", "read"),
    _tool("list_mcp_resources", "read"),
    _tool("read_mcp_resource", "read", "network"),
)
_CODEX_TOOLS = (
    _tool("Bash", *_ALL, rules=Rules(commands=("command",))),
    _tool("shell", *_ALL, rules=Rules(paths=("workdir",), commands=("command",))),
    _tool("local_shell", *_ALL, rules=Rules(commands=("command", "action.command"))),
    _tool("shell_command", *_ALL, rules=Rules(paths=("workdir",), commands=("command",))),
    _tool("exec_command", *_ALL, rules=Rules(paths=("workdir",), commands=("cmd",))),
    _tool("unified_exec", *_ALL, rules=Rules(commands=("input",))),
    _tool("apply_patch", "read", "write", rules=Rules(paths=("workdir",), patches=("command", "input", "patch"))),
    _tool("view_image", "read", rules=Rules(paths=("path",))),
    _tool("web_search", "network"),
    _tool("update_plan"),
)
_OF_HOSTS = {"gemini": _GEMINI_TOOLS, "codex": _CODEX_TOOLS}


def builtin_tools(host: str, name: str | None = None) -> list[PackTool]:
    """All of a host's own tools, or the one of this name."""
    tools = _OF_HOSTS.get(host) or tuple(map(_as_the_hosts_own, load_pack("claude").tools))
    return [tool for tool in tools if name is None or tool.name == name]


def _as_the_hosts_own(tool: PackTool) -> PackTool:
    said = tool.rules
    rules = Rules(
        paths=said.paths, commands=said.commands, urls=said.urls, patches=said.patches, globs=said.globs,
        repeatable=said.repeatable,
    )  # fmt: skip
    return _tool(tool.name, *(tool.effects if tool.effects is not None else _ALL), rules=rules)


_BY_A_PERSON = ("approval:given", "approval:grant")
_SILENT = "The call was refused."
"""Codex takes no denial without a reason."""


class Wire(ABC):
    """The events of one host, and the answers to them."""

    HOST = ""
    BEFORE = "PreToolUse"
    AFTER: tuple[str, ...] = ("PostToolUse",)
    OVER: tuple[str, ...] = ()

    def read(self, event: dict[str, Any], servers: Iterable[str] = ()) -> Happened:
        """Raises WrongEvent."""
        name = field(event, "hook_event_name", str)
        context = label(event.get("session_id"))
        if name == "SessionEnd" or (name in self.OVER and not event.get("background_tasks")):
            return Happened("over", context=context)
        if name == TRIAL:
            return Happened("trial", field(event, "tool_name", str), event.get("tool_input"))
        if name != self.BEFORE and name not in self.AFTER:
            return Happened("other")
        called = field(event, "tool_name", str)
        tool, space = tool_and_space(called, servers)
        step = label(event.get("tool_use_id")) or ""
        call = Happened("before", tool, event.get("tool_input"), space, context, step, called=called)
        if name == self.BEFORE:
            return call
        return replace(call, kind="after", summary=text_of(event.get("tool_response")), **self._result(event))

    @abstractmethod
    def answer_before(self, passage: Passage, can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
        """What the host is told of a call that it is about to make; None for nothing. `vouched`: the policy is the
        user's own word, so that what it has from a person takes the place of the host's question."""

    def answer_after(self, warning: str) -> dict[str, Any] | None:
        """What the model reads beside the result, where a warning can only be given there; None for nothing."""
        del warning
        return None

    def deny(self, reason: str) -> dict[str, Any]:
        return _output(permissionDecision="deny", permissionDecisionReason=reason)

    @abstractmethod
    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        """What came of a call: its `ok`, and what else the event says of it."""


class _Claude(Wire):
    """PreToolUse, PostToolUse, PostToolUseFailure, Stop and SessionEnd, as Claude Code's command line has them.

    Input that was put right goes in without a decision, so that the host's own permissions still decide on it. Saying
    nothing leaves a call to them as well."""

    HOST = "claude-code"
    AFTER = ("PostToolUse", "PostToolUseFailure")
    OVER = ("Stop",)

    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        ok = event["hook_event_name"] == "PostToolUse"
        took = event.get("duration_ms")
        return {
            "ok": ok,
            "error": None if ok else text_of(event.get("error")) or None,
            "answer": answer_of(event.get("tool_response" if ok else "error")),
            "seconds": took / 1000 if isinstance(took, (int, float)) else None,
        }

    def answer_before(self, passage: Passage, can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
        del can_ask  # it denies by itself where nobody is there
        told: dict[str, Any] = {}
        if passage.action == "deny":
            return self.deny(passage.message)
        if passage.action == "ask":
            told = {"permissionDecision": "ask", "permissionDecisionReason": f"{passage.why}{_elsewhere(passage)}"}
        elif passage.decision.rule in _BY_A_PERSON and vouched and not passage.observed:
            told = {"permissionDecision": "allow", "permissionDecisionReason": "A person has approved this call."}
        if passage.changed:
            told["updatedInput"] = passage.arguments
        if passage.action == "allow" and passage.message:
            told["additionalContext"] = passage.message
        return _output(**told) if told else None


def _elsewhere(passage: Passage) -> str:
    """Without a terminal the host asks nobody and denies: the model reads then how a person can still say yes."""
    about = passage.approval
    if not about:
        return ""
    return f" Without a prompt: `rightcall approvals approve {about}{passage.desk}`, then the same call again."


class _Codex(Wire):
    """PreToolUse, PostToolUse and Stop. Its reader is strict: an unknown key makes the whole output void.

    It takes changed input only beside `allow`, and `allow` only beside changed input; either way its own approval
    policy still holds. It cannot ask, so that a call which needs a person is denied with the approval's id."""

    HOST = "codex"
    OVER = ("Stop",)

    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        given: Any = event.get("tool_response")
        failed = bool(inside(given, "isError"))
        return {"ok": not failed, "error": text_of(given) or None if failed else None, "answer": answer_of(given)}

    def answer_before(self, passage: Passage, can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
        del can_ask, vouched  # it never asks, and its `allow` skips no question of its own
        if passage.action != "allow":
            return self.deny(passage.message)
        told: dict[str, Any] = {}
        if passage.changed:
            told = {"permissionDecision": "allow", "updatedInput": passage.arguments}
        if passage.message:
            told["additionalContext"] = passage.message
        return _output(**told) if told else None

    def deny(self, reason: str) -> dict[str, Any]:
        return super().deny(reason.strip() or _SILENT)


class _Gemini(Wire):
    """BeforeTool, AfterTool and SessionEnd, with a decision at the top and the input below.

    Its events number no calls: a call is known by its session, its tool and the input it runs with. What the model
    should read beside a result is taken from AfterTool alone."""

    HOST = "gemini"
    BEFORE = "BeforeTool"
    AFTER = ("AfterTool",)

    def read(self, event: dict[str, Any], servers: Iterable[str] = ()) -> Happened:
        """For a server's tool the host says which server and which tool, and how it is reached; the name alone would
        not tell them apart."""
        call = replace(super().read(event, servers), step="")
        about = event.get("mcp_context")
        if not call.tool or not isinstance(about, dict):
            return call
        context = cast("dict[str, Any]", about)
        server, tool = context.get("server_name"), context.get("tool_name")
        if isinstance(server, str) and isinstance(tool, str) and server and tool:
            call = replace(call, tool=tool, space=server)
        return replace(call, reached=context) if call.kind == "before" else call

    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        given: Any = event.get("tool_response")
        error = inside(given, "error")
        return {"ok": not error, "error": text_of(error) or None if error else None, "answer": answer_of(given)}

    def answer_before(self, passage: Passage, can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
        """Asked without a terminal, it would wait for an answer for ever: there a call that needs a person is denied,
        with the approval's id."""
        del vouched  # it is never told `allow`
        if passage.action == "deny" or (passage.action == "ask" and not can_ask):
            return self.deny(passage.message)
        told: dict[str, Any] = {}
        if passage.action == "ask":
            told = {"decision": "ask", "reason": passage.why, "systemMessage": passage.why}
        if passage.changed:
            told["hookSpecificOutput"] = {"hookEventName": "BeforeTool", "tool_input": passage.arguments}
        return told or None

    def answer_after(self, warning: str) -> dict[str, Any] | None:
        if not warning:
            return None
        return {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": warning}}

    def deny(self, reason: str) -> dict[str, Any]:
        return {"decision": "deny", "reason": reason}


def _output(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


CLAUDE, CODEX, GEMINI = _Claude(), _Codex(), _Gemini()
WIRES: dict[str, Wire] = {"claude": CLAUDE, "gemini": GEMINI, "codex": CODEX}


def hosted(name: str) -> dict[str, list[PackTool]]:
    """The hosts that have a tool of this name themselves, as policy and audit call them, each with that tool."""
    found = {wire.HOST: builtin_tools(word, name) for word, wire in WIRES.items()}
    return {host: tools for host, tools in found.items() if tools}


# ── calls that could not be judged ──
# What a host is told when its call could not be judged: as the policy wants it, even where the policy is at fault.
#
# `on_failure` decides; where nothing is said, a hook that blocks denies and any other lets pass. A policy file that
# cannot be used may still show which of them it means: so far it is believed, and never for the milder. One that was
# only found in the project is never believed for the milder.

_OTHER_NAMES = {"claude": ("claude-code", "claude")}
_MILD = ("observe", "warn")
_LONGEST = 600


def cannot_judge(why: str) -> str:
    """What the operator reads of it."""
    return f"RightCall could not judge this call, so it was not made: {why.rstrip('. ')}."


def answer_unjudged(
    host: str, policy: str | None, mode: str | None, why: str, *, found: bool = False, late: bool = False
) -> str:
    """What is to be printed; empty to let the call pass. `found`: nobody named the policy, it lay in the project.
    `late`: judging it took too long, which says nothing of the call."""
    if found and policy is not None and _leads_out(policy):
        policy = None  # somebody else's file, of which nothing is read
    if not (found and mode not in _MILD) and not _denies(host, policy, mode):
        return ""
    import json

    tell_operator(why)
    return json.dumps(WIRES[host].deny(JUDGED_TOO_LATE if late else CANNOT_JUDGE))


def tell_operator(why: str) -> None:
    """On standard error, which no model reads beside an answer: what is wrong may come with a command that helps."""
    shown = "".join(one if one.isprintable() else " " for one in why[:_LONGEST])
    with suppress(OSError):
        os.write(2, f"{cannot_judge(shown)}\n".encode("utf-8", "replace"))


def _leads_out(policy: str) -> bool:
    """Whether it is a link out of its folder."""
    folder = os.path.realpath(os.path.dirname(policy))
    return os.path.islink(policy) and os.path.dirname(os.path.realpath(policy)) != folder


def reason_unsaid(text: str, why: str) -> str:
    """Why a call must not run whose answer never arrived: it was denied, a person should be asked, or it was to run
    with other input. Empty where the answer was only a word beside it."""
    import json

    try:
        told: Any = json.loads(text)
    except ValueError:
        return cannot_judge(why)  # in the system's own words, which name no command
    inner = _table(told, "hookSpecificOutput") or told
    decided = inner.get("permissionDecision") or told.get("decision")
    if decided in ("deny", "ask"):
        return str(inner.get("permissionDecisionReason") or told.get("reason") or cannot_judge(why))
    return cannot_judge(why) if "updatedInput" in inner or "tool_input" in inner else ""


def _denies(host: str, policy: str | None, mode: str | None) -> bool:
    gate = _read_gate_table(policy)
    if gate is None:  # there is a policy, and nobody can read it
        return mode not in _MILD or _speaks_of_blocking(policy)
    hosts = _table(gate, "hosts")
    tables = [_table(hosts, name) for name in _OTHER_NAMES.get(host, (host,))]
    here = tables[0] or tables[-1]
    said = here.get("on_failure")
    meant = here.get("mode") or mode or gate.get("mode")
    return denies_unjudged(said if said in ("allow", "deny") else None, meant if meant in _MILD else "block")


def _read_gate_table(policy: str | None) -> dict[str, Any] | None:
    """The table `[gate]`, whatever else is wrong with the file; None where it is no TOML at all."""
    if policy is None:
        return {}
    import tomllib

    try:
        return _table(tomllib.loads(_text(policy)), "gate")
    except (OSError, ValueError, RecursionError):
        return None


def _speaks_of_blocking(policy: str | None) -> bool:
    try:
        lines = _text(policy or "", "replace").splitlines()
    except (OSError, ValueError):
        return False
    return any('"block"' in line or "'block'" in line for line in lines if not line.lstrip().startswith("#"))


def _text(policy: str, errors: str = "strict") -> str:
    """Of a file only: whatever else has its name is not waited for."""
    handle = os.open(policy, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, encoding="utf-8-sig", errors=errors) as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not a file")
        return opened.read(10_000_000)


def _table(inside: dict[str, Any], name: str) -> dict[str, Any]:
    found: object = inside.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
