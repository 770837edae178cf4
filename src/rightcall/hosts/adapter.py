"""What the adapters for frameworks share: the door, the calls of one answer put right, and the record of what ran.

An adapter stands at two places. Where the model's answer arrives, `put_right` finds the calls in it, also those left in
the text, and corrects names and arguments, so that the framework finds the tool and its history holds what ran. Where
a tool is about to run, the call is judged as the model wrote it (`as_written`): policy, limits, approval, record.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from secrets import token_hex
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.json.marks import is_object
from rightcall.base.text import escaped
from rightcall.catalog.packs import load_pack
from rightcall.errors import AnswerError
from rightcall.executor.messages import summarise
from rightcall.executor.rights import own_arguments
from rightcall.gate.gate import has_required
from rightcall.gate.recover.native import finish_word
from rightcall.policy.effects import WORDED
from rightcall.policy.settings import DEFAULT_POLICY, CallerSettings, HostSettings, Policy
from rightcall.record.admission import Reply, answer
from rightcall.record.tables import CallBody, Tables, read_call
from rightcall.types import Verdict

if TYPE_CHECKING:
    from typing import Unpack

    from rightcall.executor.door import Door, DoorSettings
    from rightcall.executor.executor import PolicySource
    from rightcall.executor.passage import Passage

T = TypeVar("T")
Work = tuple[Callable[[], Any], Callable[[], Awaitable[Any]]]
"""One thing to wait for: how to do it, and how from an event loop."""
Steps = Generator[Work, Any, T]
"""What an adapter does in the same way with and without an event loop: it yields what is to be waited for, and gets
what came of that."""

UNREADABLE = "unreadable_arguments"
"""Holds, as the only argument, a text that nobody could read, where a framework wants a dict. It never runs as `{}`."""


def missing(adapter: str, framework: str, extra: str | None = None) -> ImportError:
    """The error of an adapter whose framework is not installed.

    >>> str(missing("langchain", "LangChain"))
    "rightcall.hosts.langchain needs LangChain (rightcall[langchain]): pip install '.[langchain]' in a checkout"
    """
    name = extra or adapter
    return ImportError(
        f"rightcall.hosts.{adapter} needs {framework} (rightcall[{name}]): pip install '.[{name}]' in a checkout",
        name=f"rightcall.hosts.{adapter}",
    )


def door_for(host: str, policy: Any = None, door: "Door | None" = None, **settings: Any) -> "Door":
    """The door given, or one opened for this host; `settings` are those of `Door.open`."""
    from rightcall.executor.door import Door

    if door is None:
        opened = Door.open(host, policy, **settings)
        if opened.policy.settings.approvals.notify:
            from rightcall.executor.notices import warn_of_notices  # late: few policies name anybody

            warn_of_notices(opened.policy)
        return opened
    named = [name for name, value in {"policy": policy, **settings}.items() if value]
    if named:
        raise TypeError(f"a `door` has its own {named[0]}: give {named[0]} to `Door.open`, or no door")
    return door


class Written(Struct, frozen=True):
    """A native call as the model wrote it: arguments may be a dict, JSON text or broken text."""

    id: str
    name: str
    arguments: Any


class Corrected(Struct, frozen=True):
    """A call put right, as far as that is certain: what is not stays as it was written, and is refused when judged."""

    name: str
    arguments: Any
    written: Written
    changed: bool = False
    in_text: bool = False
    readable: bool = True
    """Whether `arguments` is, or says, a dict."""
    observed: bool = False

    @property
    def id(self) -> str:
        return self.written.id

    def as_dict(self) -> dict[str, Any]:
        """The arguments for a framework that takes nothing but a dict."""
        arguments = self.arguments
        return arguments if self.readable and is_object(arguments) else {UNREADABLE: arguments}


class Turn(Struct, frozen=True):
    """One answer of a model, read: the prose that is left and every call. `changed` false: keep the answer as it is."""

    text: str
    calls: tuple[Corrected, ...]
    changed: bool


def put_right(
    door: "Door",
    text: str,
    calls: Sequence[Written],
    *,
    offered: Collection[str],
    finish_reason: str | None = None,
    space: str = "",
) -> Turn:
    """The calls of one answer, native ones first, then those left in the text. Only tools `offered` can be meant."""
    native = [_native(door, call, offered, space) for call in calls]
    if native and finish_reason and finish_word(str(finish_reason)) == "length":
        native[-1] = _cut_off(native[-1])
    prose, lifted = _in_text(door, text, calls, offered, finish_reason, space) if text.strip() else (text, [])
    changed = bool(lifted) or any(call.changed for call in native)
    return Turn(prose, (*native, *(_lifted(verdict, _is_unclear(door, verdict)) for verdict in lifted)), changed)


def _cut_off(call: Corrected) -> Corrected:
    """The call that an answer's end cut off. APIs give what there was as a whole, or as `{}`, and frameworks close what
    was open; so it is judged as the beginning that it is."""
    if call.observed:
        return call
    given = call.written.arguments
    written = Written(call.id, call.written.name, beginning(given))
    return Corrected(call.written.name, given, written, changed=True, readable=is_object(given))


def beginning(arguments: Any) -> str:
    """Arguments at which an answer was cut off, as what they are.

    >>> beginning({"title": "a"}), beginning("")
    ('{"title":"a"', '{')
    """
    text = arguments if isinstance(arguments, str) else encode(arguments, enc_hook=str).decode() if arguments else ""
    return text.rstrip().removesuffix("}") or "{"


def _native(door: "Door", call: Written, offered: Collection[str], space: str) -> Corrected:
    message = {"role": "assistant", "content": None, "tool_calls": [_openai(call)]}
    verdicts = door.read(message, space=space).calls
    verdict = verdicts[0] if len(verdicts) == 1 else Verdict(ok=False, call=None)
    meant = verdict.call
    observed = _observed(door, _name(verdict) or call.name)
    if observed or _is_unclear(door, verdict) or meant is None or meant.name not in offered:
        return Corrected(call.name, call.arguments, call, readable=is_object(call.arguments), observed=observed)
    if meant.name == call.name and not verdict.repairs and _runs_so(call.arguments, meant.arguments):
        return Corrected(call.name, call.arguments, call)
    return Corrected(meant.name, meant.arguments, call, changed=True)


def _is_unclear(door: "Door", verdict: Verdict) -> bool:
    """Whether nobody can say what it means, or only with a person's word where there is no policy to ask one by."""
    policy = door.policy
    unset = policy.source == DEFAULT_POLICY.source
    return not verdict.ok or verdict.truncated or (unset and verdict.confidence < policy.settings.approval.confidence)


def _runs_so(written: Any, meant: Any) -> bool:
    """Whether what was written is what runs: a text that needed no repair is, however it is spaced."""
    return isinstance(written, str) or written is meant or written == meant


def _in_text(
    door: "Door", text: str, calls: Sequence[Written], offered: Collection[str], finish_reason: str | None, space: str
) -> tuple[str, list[Verdict]]:
    """The prose and the calls in it to tools that are there. With none, the text is left as it is."""
    message = {"role": "assistant", "content": text, "tool_calls": [_openai(call) for call in calls]}
    reading = door.read(message, finish_reason, space=space)
    lifted = [
        verdict
        for verdict, place in zip(reading.calls, reading.places, strict=False)
        if place.format != "native" and _name(verdict) in offered and not _observed(door, _name(verdict))
    ]
    return (reading.text, lifted) if lifted else (text, [])


def _observed(door: "Door", name: str) -> bool:
    return door.policy.mode_for(name, door.host) == "observe"


def _openai(call: Written) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _name(verdict: Verdict) -> str:
    call = verdict.call or verdict.found
    return call.name if call else ""


def _lifted(verdict: Verdict, unclear: bool) -> Corrected:
    """A call of the text. One that is wrong is lifted too: the model reads why as the answer to its call."""
    meant, found = verdict.call or verdict.found, verdict.found or verdict.call
    if unclear and meant is not None and found is not None and is_object(found.arguments):
        meant = replace(meant, arguments=found.arguments)
    assert meant is not None  # `_name` has seen one
    assert found is not None
    written = Written(f"call_{token_hex(12)}", found.name, found.arguments)
    return Corrected(meant.name, meant.arguments, written, changed=True, in_text=True, readable=not verdict.truncated)


def draft_of(call: Corrected, name: str, arguments: Any) -> dict[str, Any]:
    """What the model wrote of a call that goes on as `name` with `arguments`, to be kept beside it; plain data."""
    return {"name": call.written.name, "arguments": call.written.arguments, "became": digest(name, arguments)}


def as_written(draft: Any, name: str, arguments: Any) -> tuple[str, Any]:
    """The call as the model wrote it, to be judged and recorded so. One that was changed since is judged as it is."""
    match draft:
        case {"name": str(written), "arguments": raw, "became": became} if became == digest(name, arguments):
            return written, raw
        case _:
            pass
    match arguments:
        case {"unreadable_arguments": raw} if len(cast("dict[str, Any]", arguments)) == 1:
            return name, raw
        case _:
            return name, arguments


def digest(name: str, arguments: Any) -> str:
    """Of a call, to know it again."""
    return blake2b(encode([name, arguments], enc_hook=str, order="sorted"), digest_size=16).hexdigest()


class Known:
    """The definitions behind one door. Agents that share it add to them: none takes away what another may call."""

    def __init__(self, door: "Door", space: str = "") -> None:
        self._door = door
        self._space = space
        self._tools: dict[str, Any] = {}
        self._lock = threading.Lock()

    def offer(self, tools: Iterable[dict[str, Any]]) -> frozenset[str]:
        """Learn what the model is offered now (`name`, `description`, `parameters`), and say by which names."""
        offered = {tool["name"]: tool for tool in tools}
        with self._lock:
            if any(self._tools.get(name) != tool for name, tool in offered.items()):
                self._tools |= offered
                self._door.know(list(self._tools.values()), self._space)
        return frozenset(offered)


class Guarded:
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place, with a policy of its own.

    `settings` are those of `Door.open`, such as `caller`: who calls, as `[callers.NAME]` of the policy knows them.
    `space` comes before the tools' names there (`researcher/search`), for agents whose tools of one name differ. Close
    it when its agents are done.
    """

    host: ClassVar[str]

    def __init__(
        self,
        policy: "PolicySource" = None,
        *,
        door: "Door | None" = None,
        space: str = "",
        **settings: "Unpack[DoorSettings]",
    ) -> None:
        super().__init__()
        self.door = door_for(self.host, policy, door, **settings)
        self.space = space
        self._known = Known(self.door, space)
        self._prepare()

    def close(self) -> None:
        self.door.close()

    def _prepare(self) -> None:
        """What an adapter keeps besides."""


def take_steps(steps: Steps[T]) -> T:
    """What comes of the steps, taken one after the other."""
    try:
        work = next(steps)
        while True:
            work = steps.send(work[0]())
    except StopIteration as end:
        return end.value


async def atake_steps(steps: Steps[T]) -> T:
    """The same from an event loop."""
    try:
        work = next(steps)
        while True:
            work = steps.send(await work[1]())
    except StopIteration as end:
        return end.value


def run_recorded(
    door: "Door", passage: "Passage", run: Callable[[], T], failure: Callable[[T], str | None] | None = None
) -> T:
    """Run the tool, and complete the record with what came of it, also where it raises; `failure` says what went wrong
    where a result stands for that."""
    started = perf_counter()
    try:
        result = run()
    except BaseException as error:
        door.ended(passage, ok=False, error=describe_error(error), seconds=perf_counter() - started)
        raise
    _ended(door, passage, result, failure(result) if failure else None, perf_counter() - started)
    return result


async def arun_recorded(
    door: "Door", passage: "Passage", run: Callable[[], Awaitable[T]], failure: Callable[[T], str | None] | None = None
) -> T:
    """As `run_recorded`, for a tool that is awaited."""
    started = perf_counter()
    try:
        result = await run()
    except BaseException as error:
        door.ended(passage, ok=False, error=describe_error(error), seconds=perf_counter() - started)
        raise
    _ended(door, passage, result, failure(result) if failure else None, perf_counter() - started)
    return result


def _ended(door: "Door", passage: "Passage", result: Any, failure: str | None, seconds: float) -> None:
    """A door does not wait for the disk here, so this is for event loops too."""
    summary = "" if failure else summarise(passage.name, result)
    answer = getattr(result, "content", result)  # frameworks wrap it in a message of their own
    door.ended(passage, ok=failure is None, summary=summary, error=failure, seconds=seconds, answer=failure or answer)


def describe_error(error: BaseException) -> str:
    """An error in one line for the record."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# ── answering ──
# What a person answered in a framework, for the adapters: it counts for the very call that they were asked about.
#
# A call is judged under its id in the framework (`step` of the record). The history between a question and its answer
# is the program's, and may have changed: only where that very call was asked about under that id does a yes hold for
# it.

log = logging.getLogger("rightcall")

MOST_WAITING = 200
"""Questions that are looked through for those about a call."""


def settle(door: "Door", passage: "Passage", said: Literal["approved", "denied"]) -> bool:
    """Hand on what a person answered in the framework; False when the question is no longer open."""
    try:
        door.answer(passage, said, by=_person(door))
    except AnswerError as error:
        log.warning("an answer to approval %s came to nothing: %s", passage.approval, error)
        return False
    return True


async def asettle(door: "Door", passage: "Passage", said: Literal["approved", "denied"]) -> bool:
    """The same from an event loop, which does not wait for the disk."""
    return await asyncio.to_thread(settle, door, passage, said)


def was_asked(door: "Door", passage: "Passage", call_id: str | None) -> bool:
    """Whether this very call was asked about under this id before it was judged just now."""
    questions = door.store.look(lambda tables: list(_questions(tables, door.host)))
    return any(
        body.step == call_id and body.approval == passage.approval and seq < passage.call
        for seq, body in questions
        if body.step and body.approval
    )


async def awas_asked(door: "Door", passage: "Passage", call_id: str | None) -> bool:
    return await asyncio.to_thread(was_asked, door, passage, call_id)


def refuse(door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    """A person said no to calls that wait: nobody can say yes to them afterwards."""
    door.store.transact(partial(_refuse, door=door, refused=refused))


async def arefuse(door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    await asyncio.to_thread(refuse, door, refused)


def _refuse(tables: "Tables", door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    settings = door.policy.settings
    now, expires = tables.now(), settings.approval.expires
    for body in [body for _, body in _questions(tables, door.host) if refused(body)]:
        about = tables.approval(body.approval or "")
        if about is not None and about.status == "waiting" and about.expires_at > now:
            answer(tables, about.id, Reply("denied", _person(door)), expires, tuple(settings.callers))


def _questions(tables: "Tables", host: str) -> "Iterator[tuple[int, CallBody]]":
    found = ((entry.seq, read_call(entry.body)) for entry in tables.newest(MOST_WAITING, ("waiting",)))
    return ((seq, body) for seq, body in found if body.wire == host)


def _person(door: "Door") -> str:
    return f"a person, asked by {door.host}"


# ── what a host cannot enforce ──
# What a policy says and a host cannot do: which of its rules do not hold at which host, and why.
#
# One table for `rightcall policy check`, `rightcall status` and docs/hosts/index.md, so that no rule is passed over.
# A row says by which keys a rule is written, at which hosts it does not hold, and when a policy says such a thing at
# all.

HOOKS = ("claude-code", "gemini", "codex")
_CLAUDE = ("claude-code", "claude-agent-sdk")
_CHOSEN = (*HOOKS, "claude-agent-sdk", "agent-zero")
_FRAMEWORKS = ("pydantic-ai", "langchain", "openai-agents", "smolagents", "litellm")
_SILENT = ("codex", "agent-zero", "litellm")
_JOINED = (*HOOKS, "claude-agent-sdk", "fastmcp", "wrap", "gateway")
"""Where tools of MCP servers come by."""
_ELSEWHERE = (*_CHOSEN, *_FRAMEWORKS, "fastmcp", "wrap")
_OTHERS = (*_ELSEWHERE, "gateway")
"""Where tools run that are not RightCall's own; at the gateway these are the servers' tools."""
_OWN_TOOLS = "it holds for RightCall's own tools alone"
Says = Callable[[Policy, str], bool]


class Gap(Struct, frozen=True):
    """A rule that does not hold somewhere."""

    rule: str
    """The keys, as people write them."""
    hosts: tuple[str, ...]
    why: str
    says: Says
    """Whether a policy says such a thing of a host."""


class Unenforced(Struct, frozen=True):
    host: str
    rule: str
    why: str


def _here(policy: Policy, host: str) -> HostSettings:
    return policy.hosts.get(host) or HostSettings()


def _is_unbound(policy: Policy, host: str) -> bool:
    """Whether nothing names the tools that the host may use."""
    own = policy.settings.callers.get(host) or CallerSettings()
    return own.only is None and own.stage is None


def _always(_policy: Policy, _host: str) -> bool:
    return True


def _asks(policy: Policy, host: str) -> bool:
    settings = policy.settings
    own = settings.callers.get(host) or CallerSettings()
    said = (settings, own, *settings.tools.values())
    found = (settings.least, own.least, *settings.least_of_tools.values())  # what an untrusted file says
    tables = (*said, *found)
    asked = any(getattr(table, effect) == "ask" for table in tables for effect in WORDED)
    return asked or bool(settings.approval.tools) or any(server.ask for server in policy.servers.values())


def _renames(policy: Policy, _host: str) -> bool:
    tools = [*policy.tools.values(), *(tool for pack in policy.packs for tool in load_pack(pack).tools)]
    return any(tool.rules.names or tool.rules.replaced_by for tool in tools)


def _packs_retire(policy: Policy, _host: str) -> bool:
    return any(tool.rules.replaced_by for pack in policy.packs for tool in load_pack(pack).tools)


def _repairs(policy: Policy, _host: str) -> bool:
    rules = [tool.rules for tool in policy.tools.values()]
    return any(one.aliases or one.values or one.defaults for one in rules)


def _judges_unknown_arguments(policy: Policy, host: str) -> bool:
    said = _here(policy, host).unknown_argument or policy.unknown_argument
    return said != "drop" or any(tool.rules.unknown_argument == "refuse" for tool in policy.tools.values())


def _names_servers(policy: Policy, _host: str) -> bool:
    return bool(policy.servers) or any("/" in name or name.startswith("mcp__") for name in policy.tools)


GAPS: tuple[Gap, ...] = (
    Gap(
        "`[policy]` `stage`, `allow`; `[policy.budgets]`", _ELSEWHERE,
        "these are about tools that RightCall runs, and the host runs its own; to restrict those, set `[policy]` "
        "`deny`, `write` or `execute`, or `[callers.HOST]` `only` or `deny`",
        _is_unbound,
    ),
    Gap(
        "`[policy]` `stage`, `allow`; `[policy.budgets]`", ("gateway",),
        "the table of a server permits its tools; `[servers.NAME]` `allow`, `deny` and `timeout` hold there",
        _is_unbound,
    ),
    Gap(
        "`[policy]`, `[callers]`, `[servers]`, `[write]`, `[web]`, `[code]`, `[sandbox]`", ("proxy",),
        "it runs nothing and decides on nothing; only `[gate]` and `[audit]` concern it", _always,
    ),
    Gap(
        "`write` or `execute` = \"ask\"; `[policy.approval]` `tools`; `[servers.NAME]` `ask`", _SILENT,
        "the host cannot ask, so such a call is denied; a person approves its id, and the model calls again", _asks,
    ),
    Gap(
        "`[gate.llm]`", _OTHERS,
        "the host waits for an answer at once, so no model is asked; it holds at the proxy, and for tools that "
        "RightCall runs", lambda policy, _host: policy.llm is not None,
    ),
    Gap(
        "`[gate.tools.NAME]` `names`, `replaced_by`", _CHOSEN,
        "the host has chosen the tool before it asks; a replaced tool is refused with the name of the new one, "
        "and a name that the host does not know never comes", _renames,
    ),
    Gap(
        "`replaced_by` of a pack, for tools of servers", _JOINED,
        "a tool that a server offers is there, so its call passes; what the pack requires of it holds, and "
        "`[gate.tools.\"SERVER/TOOL\"]` `replaced_by` does too", _packs_retire,
    ),
    Gap(
        "`[gate.tools.NAME]` `aliases`, `values`, `defaults`", _CLAUDE,
        "Claude Code checks the arguments of its own tools before any hook; those of MCP tools are repaired", _repairs,
    ),
    Gap(
        "`[gate.tools.NAME]` `aliases`, `values`, `defaults`", ("gemini",),
        "Gemini CLI refuses arguments that do not fit before any hook, those of MCP tools too", _repairs,
    ),
    Gap(
        "`[gate.hosts.HOST]` `unknown_tool`", _CHOSEN,
        "a tool that RightCall does not know is the host's own business: its call passes",
        lambda policy, host: _here(policy, host).unknown_tool not in (None, "pass"),
    ),
    Gap(
        "`unknown_argument`", (*HOOKS, "claude-agent-sdk"),
        "which arguments the host's own tools take is not known; for MCP tools it holds once their definitions are",
        _judges_unknown_arguments,
    ),
    Gap(
        "types and names of the arguments of a server's tools", HOOKS,
        "hosts do not tell definitions; what `[gate.tools]` and packs require holds, and the rest once "
        "`rightcall hook learn`, `wrap` or the gateway has seen the server", _names_servers,
    ),
    Gap(
        "`[policy.paths]` `deny`", (*_ELSEWHERE, "gateway"),
        "an argument that neither a pack nor `[gate.tools.NAME]` `paths` declares to be a path is known for one by its "
        "name alone (`path`, `file`, …)", lambda policy, _: bool(policy.settings.paths.deny),
    ),
    Gap(
        "`[policy.approval]` `definitions`, of servers", ("claude-code", "claude-agent-sdk", "codex"),
        "the host does not tell how a server is reached; `wrap` and the gateway notice when that changes",
        _names_servers,
    ),
    Gap(
        "`[policy]` `repeats`, by answers", ("litellm",),
        "the client runs the tools, so answers are not seen: the third identical call is refused whatever it gave",
        lambda policy, _: bool(policy.settings.repeats),
    ),
    Gap(
        "`[policy]` `rounds`", _OTHERS,
        "the host decides how often its model may call tools; this holds for RightCall's own loop alone",
        lambda policy, _: policy.settings.rounds != DEFAULT_POLICY.settings.rounds,
    ),
    Gap(
        "`[write]` (`folders`, `protected`, …)", _OTHERS,
        f"{_OWN_TOOLS}; `[policy.paths]` `deny` and `[policy.commands]` hold there too",
        lambda policy, _: policy.write != DEFAULT_POLICY.write,
    ),
    Gap(
        "`[web]`", _OTHERS, f"{_OWN_TOOLS}; `[policy.urls]` holds there too",
        lambda policy, _: policy.web != DEFAULT_POLICY.web,
    ),
    Gap(
        "`[code]`", _OTHERS, f"{_OWN_TOOLS}; the host reads files by its own rules",
        lambda policy, _: policy.code != DEFAULT_POLICY.code,
    ),
    Gap(
        "`[sandbox]`", _OTHERS,
        f"{_OWN_TOOLS}; what the host runs is isolated by the host or not at all; "
        "`[policy.commands]` holds there too", lambda policy, _: policy.sandbox != DEFAULT_POLICY.sandbox,
    ),
    Gap(
        "every rule, for tools that the provider runs itself", _FRAMEWORKS,
        "such calls (a provider's own web search or code interpreter) never come by", _always,
    ),
)  # fmt: skip


def unenforced(policy: Policy, host: str) -> list[Unenforced]:
    """What this policy says and this host cannot do."""
    found = [Unenforced(host, gap.rule, gap.why) for gap in GAPS if host in gap.hosts and gap.says(policy, host)]
    return [*found, *_packs(policy, host)]


def _packs(policy: Policy, host: str) -> Iterator[Unenforced]:
    """Packs whose rules miss a host's own tools: another tool of the same name, or none at all."""
    from rightcall.hosts.hooks.wires import builtin_tools  # late: whoever has no packs needs none of it

    if host not in HOOKS:
        return
    own = {tool.name for tool in builtin_tools("claude" if host == "claude-code" else host)}
    for name in policy.packs:
        tools = [tool for tool in load_pack(name).tools if tool.rules.required or tool.rules.required_any]
        shared = [tool for tool in tools if tool.name in own]
        missed = [tool.name for tool in shared if not has_required(tool, own_arguments(host, tool.name))]
        rule = f"pack `{escaped(name, 60)}`"
        if tools and not shared:
            yield Unenforced(host, rule, "it names none of the host's own tools; tools of MCP servers are checked")
        elif missed:
            which = ", ".join(f"`{escaped(one, 60)}`" for one in missed)
            yield Unenforced(host, rule, f"the host's own {which} may have other arguments, so it is not checked")


def hosts_named(policy: Policy) -> list[str]:
    """The hosts that a policy speaks of."""
    known = {host for gap in GAPS for host in gap.hosts}
    named = [*policy.hosts, *policy.settings.callers, *(["gateway"] if policy.servers else [])]
    return [host for host in dict.fromkeys(named) if host in known]


def table_lines() -> list[str]:
    """The table of docs/hosts/index.md."""
    rows = [f"| {gap.rule} | {', '.join(gap.hosts)} | {gap.why} |" for gap in GAPS]
    return ["| rule | does not hold at | why, and what holds instead |", "|---|---|---|", *rows]
