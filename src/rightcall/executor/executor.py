"""The executor: every tool, whatever it is, goes the same way (X-01). The order stands in `Pipeline.run`.

    read ─▶ check ─▶ authorise, record ─▶ execute ─▶ record ─▶ present

Asynchronous; `Executor.open_sync` gives its synchronous twin. What runs a call is loaded with the first one, and so is
`asyncio`: opening an executor and asking what it offers needs neither.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, cast, overload

from msgspec import Struct, json, structs
from msgspec.structs import replace

from rightcall import LateLog, suggest_keywords
from rightcall.base.secrets import Redactor
from rightcall.base.telemetry.conventions import UNKNOWN_TOOL
from rightcall.base.telemetry.spans import NO_SPAN, Span, Telemetry, telemetry_for
from rightcall.catalog.packs import pack_digests
from rightcall.errors import ConfigError, StoreError, ToolError
from rightcall.executor.messages import tell_judgement, tell_outcome, tell_waiting
from rightcall.executor.shipped import Hands, shipped_tools
from rightcall.executor.sync import SyncExecutor
from rightcall.executor.toolbox import Toolbox, build_toolbox
from rightcall.policy.settings import Policy
from rightcall.policy.types import DEFAULT_CALLER
from rightcall.policy.watch import PolicyInForce, place_policy
from rightcall.record.notes import (
    PlanStep,
    Routed,
    confirm_routing,
    decider_of,
    note_diagnosis,
    note_message,
    note_policy,
    note_routing,
    note_step,
    packs_digest,
    policy_note,
)
from rightcall.record.premises import (
    Premises,
    existing_folder,
    found_folder,
    held_folders,
    listed,
    open_store,
    store_path,
    store_place,
)
from rightcall.record.tables import Store, SystemClock
from rightcall.tools.functions import LocalTool, local_tool, tool
from rightcall.tools.state import Cache
from rightcall.types import Effect, Event

if TYPE_CHECKING:
    from rightcall.catalog.tool import PackTool, Tool
    from rightcall.executor.calls import OnStage, Who, Written
    from rightcall.executor.guesses import LoopNews
    from rightcall.executor.messages import Outcome
    from rightcall.executor.pipeline import Ask, Pipeline
    from rightcall.executor.request import Tighter
    from rightcall.executor.servers import Servers
    from rightcall.executor.toolbox import Equipped
    from rightcall.gate.gate import Gate
    from rightcall.gate.last_resort import LastResort
    from rightcall.policy.settings import Server
    from rightcall.policy.types import Approval, Pause
    from rightcall.record.notes import Confirmation, Rescued
    from rightcall.record.tables import Clock


log = LateLog()

F = TypeVar("F", bound=Callable[..., Any])
PolicySource = str | os.PathLike[str] | Mapping[str, Any] | Policy | None
StoreSource = Store | Literal["memory"] | None
_Begun = tuple[Toolbox, int]
"""The toolbox by which a call was checked, and when that began."""
Label = str | int | None
"""What groups records: a chat, a task, a step."""


class ExecutorSetup(Struct, frozen=True):
    """What an executor is opened with besides its root, policy and tools; `Executor.open` says what each is."""

    store: StoreSource
    clock: Clock | None
    ask: Ask | None
    on_stage: OnStage | None
    gate: Mapping[str, Any]
    """The keywords of its gate."""
    code: bool
    servers: bool


class _Way(Struct, frozen=True):
    """What runs calls: loaded with the first one, since importing it again for each would take longer than deciding."""

    one_call: Callable[[Any, Gate], Written]
    who_of: Callable[[object, object, object, object, str], Who]
    tighter: type[Tighter]
    pipeline: type[Pipeline]
    loops: LoopNews
    equipped: Callable[[Written, Toolbox], Equipped | None]


class Executor:
    """Runs tool calls under a policy, with a record of each.

    >>> import asyncio
    >>> from rightcall import Executor
    >>> async def main():
    ...     async with Executor.open(policy=None, store="memory") as ex:
    ...         @ex.tool(effects=["read"])
    ...         def add(a: int, b: int) -> int:
    ...             return a + b
    ...         outcome = await ex.run({"name": "add", "arguments": "{'a': '1', b: 2}"}, caller="teacher")
    ...         return outcome.result, outcome.decision.rule
    >>> asyncio.run(main())
    (3, 'stage:own')

    `root` is the folder that path arguments count from; `policy` a path (watched for changes), a dict of the same
    shape, or None for the defaults; `store` None for SQLite where the policy says, "memory", or a `Store`; `ask` is
    called with an `Approval` when a call needs a person, and returns the name of who said yes, or None.
    """

    def __init__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "an executor is opened, not called: `async with Executor.open(root, policy) as ex:`, or without an event "
            "loop `with Executor.open_sync(root, policy) as ex:`"
        )

    def _set_up(
        self, root: str | os.PathLike[str], policy: PolicySource, tools: Iterable[Any], setup: ExecutorSetup
    ) -> None:
        self.root: str = existing_folder(root)
        self._held = held_folders((self.root,))
        self._setup = setup
        self._policy_file = os.path.abspath(policy) if isinstance(policy, (str, os.PathLike)) else None
        self._policy = PolicyInForce(policy)
        self._given = policy
        self._hands = Hands()
        self._servers: Servers | None = None
        self.reach: Callable[[Server], Any] | None = None
        """How servers of the policy are reached, where another process starts them; to be set before the first use."""
        self._alone = threading.Lock()
        self._tools = _by_name(listed(tools))
        self._toolbox = self._built(self._place(self._policy.current), self._tools)
        self._store: Store | None = None
        self._redactor: Redactor | None = None
        self._cache = Cache.of(self._policy.current.cache)
        self._way: _Way | None = None
        self._seen: dict[tuple[str, str], int] = {}

    @classmethod
    @suggest_keywords
    def open(
        cls, root: str | os.PathLike[str] = ".", policy: PolicySource = None, *, tools: Iterable[Any] = (),
        store: StoreSource = None, clock: Clock | None = None, ask: Ask | None = None, packs: Iterable[str] = (),
        provider: str | None = None, on_event: Callable[[Event], object] | None = None, on_stage: OnStage | None = None,
        code: bool | None = None, servers: bool = True, last_resort: LastResort | None = None,
    ) -> Self:  # fmt: skip
        """`async with Executor.open(root, policy) as ex:` Raises PolicyError or ToolError at once, StoreError on
        entering. `code` True adds the tools that ship with us to `tools`; without `tools` they are there unless it
        is False. `servers` False leaves out those of the policy's servers,
        which are started by the first call or listing that needs them. `last_resort` asks the model of `[gate.llm]`
        about calls that nothing can repair: `rightcall.models.RepairModel()`."""
        if ask is not None and not callable(ask):
            raise ConfigError(f"`ask` is called with an approval, so it must be a function, not {type(ask).__name__}")
        laid_over = (packs,) if isinstance(packs, str) else tuple(packs)
        gate = {"packs": laid_over, "provider": provider, "on_event": on_event, "last_resort": last_resort}
        given = listed(tools)
        ours = not given if code is None else code
        opened = cls.__new__(cls)
        opened._set_up(root, policy, given, ExecutorSetup(store, clock, ask, on_stage, gate, ours, servers))
        return opened

    @classmethod
    def open_sync(cls, root: str | os.PathLike[str] = ".", policy: PolicySource = None, **options: Any) -> SyncExecutor:
        """The synchronous twin, ready to use: `with Executor.open_sync(root, policy) as ex:`."""

        return SyncExecutor(cls.open(root, policy, **options))

    def __enter__(self) -> NoReturn:
        raise TypeError("use `with Executor.open_sync(…) as ex:`, or `async with Executor.open(…) as ex:`")

    def __exit__(self, *_: object) -> None:
        """`with` looks for it before it enters."""

    async def __aenter__(self) -> Self:
        import asyncio

        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def start(self) -> None:
        """Open the store. Entering does it; for those who cannot use `async with`."""
        if self._store is None:
            current, file = self._policy.current, self._policy_file
            self._store = open_store(
                self._setup.store, store_place(current, file, self.root), self._setup.clock,
                found_folder(current, file, self.root), current.settings.audit.keep_days,
            )  # fmt: skip
            self._redactor = self._new_redactor()
            self._note_policy("loaded")
            self._warn_of_notices()
            if current.llm is not None and self._setup.gate.get("last_resort") is None:
                log.warning("rightcall: [gate.llm] asks no model here; pass `last_resort=RepairModel()` to open")

    def close(self) -> None:
        """Everything that was recorded is on disk, the servers that were started have ended; a store that was handed in
        stays open."""
        with self._alone:
            servers, self._servers = self._servers, None
        if servers is not None:
            servers.close()
        if self._store is not None and self._store is not self._setup.store:
            self._store.close()
        self._store = None
        self._hands.close()

    @property
    def store(self) -> Store:
        if self._store is None:
            raise StoreError("the executor is not open: use `async with Executor.open(…) as ex:`", "closed")
        return self._store

    def wall(self) -> str:
        """The date and time of its clock, in UTC; before it is open too."""
        store = self._store
        return (store.clock if store is not None else self._setup.clock or SystemClock()).wall()

    @cached_property
    def telemetry(self) -> Telemetry:
        """What follows its calls; as the policy and the environment said when it was first asked."""
        return telemetry_for(self._policy.current.telemetry.enabled)

    @property
    def gate(self) -> Gate:
        """The gate that checks calls, for reading what a model wrote."""
        return self._listing().gate if self._servers is None else self._now().gate

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._now().policy

    @property
    def policy_problem(self) -> str | None:
        """What is wrong with an edit of the policy file that was not taken; None when there is no such edit."""
        self._now()
        return self._policy.problem

    @property
    def rounds(self) -> int:
        """How many rounds of tool calls one request may take."""
        return self.policy.settings.rounds

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **about: Any) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **about: Any) -> Any:
        """Register a function, as a decorator; the words are those of `rightcall.tool`."""
        if function is None:

            def register(inner: F) -> F:
                return self.tool(tool(inner, **about))

            return register
        declared = tool(function, **about) if about else function
        self.register(declared)
        return declared

    def register(self, *functions: Any) -> None:
        """Add tools: functions, plain or made with `rightcall.tool`. One of the same name takes the other's place."""
        tools = {**self._tools, **_by_name(functions)}
        self._toolbox = self._built(self._place(self._policy.current), tools)
        self._tools = tools
        self._cache.clear()  # another function of the same name may give other results

    async def join(self, seconds: float | None = None, caller: str = DEFAULT_CALLER) -> None:
        """Start the servers of the policy, and wait so long at most for their tools. Listing tools does it too; this
        holds up no event loop."""
        servers = self._begun()
        if servers is not None:
            from rightcall.executor.servers import LISTING

            await servers.source_of(caller).asettle(LISTING if seconds is None else seconds)

    @suggest_keywords
    async def run(
        self, call: Any, caller: str = DEFAULT_CALLER, *, context: Label = None, step: Label = None,
        approval: str | None = None, wait: float = 0.0, rehearse: Iterable[Effect] = (),
        ask: Iterable[Effect] = (), seconds: float | None = None, turn: Label = None,
    ) -> Outcome:  # fmt: skip
        """Run one call: a `Call`, a dict with a name and arguments (a dict, JSON or broken text), or a message that
        holds exactly one. `wait` is how many seconds to wait for a person where one has to be asked. A call with an
        effect in `rehearse` is a dry run, also where the policy would run it; one with an effect in `ask` needs a
        person's yes, also where the policy would not ask; and `seconds` may shorten what it may take. Never the other
        way round. `turn` names the request of a person that is being answered: identical calls are a loop within one
        turn, and no longer across turns. Never take it from a model."""
        way = self._way or self._loaded_way()
        toolbox = self._now(caller)
        if self.has_servers and not _names_one(call, toolbox):
            await self._join_to_call(caller)
            toolbox = self._now(caller)
        since = self.telemetry.now()
        written = way.one_call(call, toolbox.gate)
        who = way.who_of(caller, context, step, turn, self._setup.gate.get("provider") or "")
        tighter = way.tighter(frozenset(rehearse), frozenset(ask), seconds)
        return await self._followed(written, who, approval, wait, tighter, (toolbox, since))

    @suggest_keywords
    async def run_all(
        self, message: Any, caller: str = DEFAULT_CALLER, *, context: Label = None, step: Label = None,
        finish_reason: str | None = None, wait: float = 0.0, emission: str | None = None, turn: Label = None,
    ) -> list[Outcome]:  # fmt: skip
        """Run every call in a text, a native message or a `Reading`; the outcomes are in the order of the calls. Calls
        that only read run at the same time, any other runs alone and in its place. `emission` is the text that a
        `Reading` is of, for the record; `turn` is as for `run`."""
        import asyncio

        from rightcall.executor.calls import equipped, groups, writings

        if self.has_servers and self._servers is None:
            await self.join(caller=caller)
        way, toolbox = self._way or self._loaded_way(), self._now(caller)
        who = way.who_of(caller, context, step, turn, self._setup.gate.get("provider") or "")
        slots = asyncio.Semaphore(toolbox.rights_of(caller).budgets.parallel)

        async def one(written: Written) -> Outcome:
            async with slots:
                return await self._followed(written, who, None, wait, way.tighter(), (toolbox, 0))

        def alone(written: Written) -> bool:
            found = equipped(written, toolbox)
            return found is not None and (found.side_effects or (found.local is not None and found.local.in_turn))

        outcomes: list[Outcome] = []
        for together in groups(writings(message, toolbox.gate, finish_reason, emission), alone):
            outcomes += await asyncio.gather(*map(one, together))
        return outcomes

    async def run_approved(
        self, ids: Collection[str], caller: str = DEFAULT_CALLER, *, context: str, turn: str | None = None
    ) -> list[Outcome]:
        """Run the calls of this context that a person has approved under these ids, exactly as they were approved:
        for a conversation that goes on. What waits, was denied, has expired or was used is left alone."""
        import asyncio  # late, as everywhere here

        own, now, store = ("call", caller, self._hidden(context)), self.store.clock.now(), self.store
        found = await asyncio.to_thread(store.look, lambda tables: tables.approvals("approved"))
        mine = [one for one in found if one.id in ids and (one.kind, one.caller, one.context) == own]
        outcomes: list[Outcome] = []
        for one in sorted(mine, key=lambda one: one.asked_at):
            if one.expires_at > now and one.canonical:
                call: dict[str, Any] = json.decode(one.canonical)
                outcomes.append(await self.run(call, caller, context=context, turn=turn, approval=one.id))
        return outcomes

    def prompt(self, caller: str = DEFAULT_CALLER, *, only: Iterable[str] | None = None) -> str:
        """The system prompt for a model without native tool calls, of the tools that this caller may use; with `only`
        just those of these names, in this order."""
        from rightcall.executor.prompt import day_of, examples_here, system_prompt
        from rightcall.gate.examples import example

        toolbox = self._listing(caller)
        offered = [one.tool for one in toolbox.usable(toolbox.rights_of(caller), only)]
        return system_prompt(
            offered, examples=example, today=day_of(self.wall()),
            here=examples_here(str(self.root)) if "code/read" in toolbox.tools else {},
        )  # fmt: skip

    def definitions(
        self, caller: str = DEFAULT_CALLER, shape: Literal["openai", "anthropic", "mcp"] = "openai", *,
        only: Iterable[str] | None = None,
    ) -> list[Any]:  # fmt: skip
        """The tools that this caller may use, as a model's API wants them; with `only` just those of these names, in
        this order."""
        from rightcall.executor.messages import definition

        toolbox = self._listing(caller)
        return [definition(one.tool, shape) for one in toolbox.usable(toolbox.rights_of(caller), only)]

    def waiting(self) -> list[Approval]:
        """The questions that nobody has answered yet."""
        now = self.store.clock.now()
        return [one for one in self.store.look(lambda t: t.approvals("waiting")) if one.expires_at > now]

    def answer(self, id: str, said: Literal["approved", "denied"], *, by: str, digest: str) -> Approval:
        """A person answers a question; `digest` shows that it was this very call they saw. Raises AnswerError."""
        from rightcall.record.admission import Reply, answer

        settings = self.policy.settings
        reply, expires = Reply(said, by, digest), settings.approval.expires
        return self.store.transact(lambda t: answer(t, id, reply, expires, tuple(settings.callers)))

    def pause(self, reason: str = "", *, by: str) -> Pause:
        """The emergency stop: from now on every process on this store refuses every call, until `resume`. Calls that
        run already end by themselves. `by` is the person who says so. Raises AnswerError or StoreError."""
        from rightcall.record.admission import pause

        told, callers = str(self._hidden(reason)), tuple(self.policy.settings.callers)
        return self.store.transact(lambda t: pause(t, by, told, callers))[0]

    def resume(self, reason: str = "", *, by: str) -> Pause | None:
        """Let calls run again; returns the pause that ends, None when there was none."""
        from rightcall.record.admission import resume

        told, callers = str(self._hidden(reason)), tuple(self.policy.settings.callers)
        return self.store.transact(lambda t: resume(t, by, told, callers))

    def paused(self) -> Pause | None:
        """The emergency stop, while it holds."""
        return self.store.look(lambda t: t.paused())

    def note_message(self, caller: str, context: str | None = None, task: str | None = None) -> None:
        """A host tells of a message, for the metrics: how many use tools, how deep an investigation goes."""
        within = self._hidden(context)
        self.store.transact(lambda t: note_message(t, caller, within, task))

    def note_turns(self, caller: str, context: str, task: str | None, turns: int, tool_turns: int) -> None:
        """A loop tells of a message and the turns it took. Nobody waits for it, and nothing of it raises."""
        within, store = self._hidden(context), self._store
        if store is not None:
            store.later(lambda t: note_message(t, caller, within, task, turns=(turns, tool_turns)))

    def note_step(
        self, context: str, step: Label, *, action: str | None = None, expected_outcome: str | None = None,
        completed: bool | None = None, result: Any = None, error: str | None = None,
    ) -> None:  # fmt: skip
        """A host tells of a step of a plan, as often as there is news of it: what is to be done and to come of it, or
        that it is done. `plan_steps` of `rightcall.record` shows the plan with the calls of each step."""
        from rightcall.executor.calls import check_label  # late: with the first call

        told = PlanStep(
            *map(self._hidden, (check_label("context", context), check_label("step", step), action, expected_outcome)),
            completed=completed, result=self._hidden(result), error=self._hidden(error),
        )  # fmt: skip
        self.store.transact(lambda t: note_step(t, told))

    def note_diagnosis(self, caller: str, context: str, correct: bool | None) -> None:
        """A host tells whether a diagnosis was found to be right."""
        within = self._hidden(context)
        self.store.transact(lambda t: note_diagnosis(t, caller, within, correct))

    async def note_routing(self, routed: Routed, arguments: Any = None, call: bytes = b"") -> None:
        """A router tells what it decided of a request. What is secret by its name in the `arguments` of the call it
        thought of is hidden in the reason too; `call` is the one that a person is asked about from now on. Raises
        StoreError when that cannot be recorded."""
        store, told = self.store, self._told(routed, arguments, call)
        await store.atransact(lambda t: note_routing(t, told))

    async def confirm_routing(self, routed: Routed, arguments: Any, call: bytes) -> Confirmation:
        """A router tells that a person has said yes to this call; the answer says whether that counts. Raises
        StoreError when it cannot be recorded."""
        store, told = self.store, self._told(routed, arguments, call)
        return await store.atransact(lambda t: confirm_routing(t, told))

    def _told(self, routed: Routed, arguments: Any, call: bytes) -> Routed:
        told = Routed(*map(self._hidden, structs.astuple(routed)))
        digest = self._redactor.keyed(call) if call and self._redactor is not None else ""
        return structs.replace(told, why=self._hidden(routed.why, arguments), digest=digest)

    def _hidden(self, told: Any, arguments: Any = None) -> Any:
        """As the records of its calls have it."""
        redactor = self._redactor
        return redactor.beside(told, arguments) if redactor is not None else told

    async def _followed(
        self, written: Written, who: Who, approval: str | None, wait: float, tighter: Tighter, begun: _Begun
    ) -> Outcome:
        """With a span around it, where telemetry is on."""
        telemetry = self.telemetry
        if not telemetry.is_on:
            return await self._run(written, who, approval, wait, tighter)
        call, (toolbox, since) = written.verdict.call, begun
        found = None if call is None else toolbox.tools.get(call.name)
        name, about = (UNKNOWN_TOOL, "") if found is None else (found.tool.name, found.tool.description)
        with telemetry.tool(name, since, None if call is None else call.id, about) as span:
            outcome = await self._run(written, who, approval, wait, tighter, span)
            tell_outcome(span, outcome, found, self._redactor)
            return outcome

    async def _run(
        self, written: Written, who: Who, approval: str | None, wait: float, tighter: Tighter, span: Span = NO_SPAN
    ) -> Outcome:
        now = self.telemetry.now
        if not written.verdict.ok and self._toolbox.gate.last_resort is not None:
            written = await self._rescued(written, who)
        outcome = await self._through(written, who, approval, tighter)
        tell_judgement(span, outcome, 0, now())
        if outcome.status != "waiting" or outcome.decision is None or outcome.decision.approval is None:
            return outcome
        from rightcall.executor.pipeline import answered, asked_in_vain, nobody_answered

        since = now()
        said, trouble = await answered(self, outcome.decision.approval, self._setup.ask, wait)
        asked, since = since, now()
        tell_waiting(span, outcome.decision.approval, said, asked, since)
        match said:
            case "answered":
                outcome = await self._through(written, who, None, tighter)
                tell_judgement(span, outcome, since, now())
                return outcome
            case "expired":
                return nobody_answered(outcome)
            case "waiting":
                return asked_in_vain(outcome, trouble) if trouble else outcome

    async def _rescued(self, written: Written, who: Who) -> Written:
        """After a model was asked about a call that nothing could repair; the attempt is recorded."""
        from rightcall.executor.calls import rescue
        from rightcall.record.notes import note_rescue

        def hear(rescued: Rescued) -> None:
            told = replace(rescued, context=self._hidden(rescued.context))
            self.store.later(lambda t: note_rescue(t, told))

        return await rescue(written, self._now(who.caller), who, hear)

    async def _through(self, written: Written, who: Who, approval: str | None, tighter: Tighter) -> Outcome:
        """Under the policy of this moment: a call that was checked under another is checked again."""
        way, toolbox, store = self._way or self._loaded_way(), self._now(who.caller), self.store
        assert self._redactor is not None, "there is one as long as the store is open"
        until = None if tighter.seconds is None else perf_counter() + tighter.seconds
        pipeline = way.pipeline(
            toolbox, store, self._cache, self._redactor, self.root, on_stage=self._setup.on_stage, tighter=tighter,
            until=until, loops=way.loops, held=self._held, seen=self._seen,
        )  # fmt: skip
        written = written.checked_by(toolbox.gate)
        who = replace(who, policy=toolbox.policy.digest, packs=toolbox.packs)
        servers = self._servers
        if servers is not None and (found := way.equipped(written, toolbox)) is not None and found.behind is not None:
            return await servers.run(pipeline, written, found, who, approval)
        return await pipeline.run(written, who, approval)

    def _loaded_way(self) -> _Way:
        from rightcall.executor.calls import equipped, one_call, who_of
        from rightcall.executor.guesses import LoopNews
        from rightcall.executor.pipeline import Pipeline
        from rightcall.executor.request import Tighter

        self._way = _Way(one_call, who_of, Tighter, Pipeline, LoopNews(), equipped)
        return self._way

    # ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_servers(self) -> bool:
        """Whether the policy in force has servers whose tools are tools of this executor."""
        servers = self._policy.current.servers
        return bool(servers) and self._setup.servers and any(one.enabled for one in servers.values())

    def _begun(self) -> Servers | None:
        """The servers' tools; None where there are none, or the executor is not open."""
        if not self.has_servers or self._store is None:
            return self._servers
        with self._alone:
            if self._servers is None:
                from rightcall.executor.door import Door  # late: an executor without servers has no door
                from rightcall.executor.servers import Servers

                gate = self._setup.gate
                door = Door.open(
                    "gateway", self._given, strict=True, root=self.root, store=self._store, packs=gate["packs"],
                    provider=gate["provider"],
                )  # fmt: skip
                self._servers = Servers(door, self._policy.current, lambda: self._toolbox.tools, self.reach)
            return self._servers

    def served(self, caller: str = DEFAULT_CALLER) -> tuple[dict[str, Tool], Mapping[str, str]]:
        """The tools of the policy's servers by the names they are listed under; and the servers that are not there,
        with why."""
        tools = self._listing(caller).tools.items()
        found = {name: replace(one.tool, source=f"server:{one.behind[0]}") for name, one in tools if one.behind}
        away = () if self._servers is None else self._servers.source_of(caller).away().items()
        return found, {name: one.told for name, one in away}

    def _listing(self, caller: str = DEFAULT_CALLER) -> Toolbox:
        """All tools, also those of servers that have yet to start."""
        now = self._now(caller)
        servers = self._begun()
        if servers is None:
            return now
        from rightcall.executor.servers import LISTING

        servers.source_of(caller).settle(LISTING)
        return self._now(caller)

    async def _join_to_call(self, caller: str) -> None:
        from rightcall.executor.servers import CALLING

        await self.join(CALLING, caller)

    def _now(self, caller: str = DEFAULT_CALLER) -> Toolbox:
        """The toolbox of the policy as its file is at this moment, with the servers' tools that are known."""
        own, servers = self._own_now(), self._servers
        if servers is None:
            return own
        return servers.over(own, lambda known: self._built(own.policy, self._tools, known), caller)

    def _own_now(self) -> Toolbox:
        """The same without any server's tools."""
        new = self._policy.changed()
        if new is None:
            return self._toolbox
        try:
            if isinstance(new, ConfigError):
                raise new
            toolbox = self._built(self._place(new), self._tools)
        except ConfigError as error:  # nothing of it is taken, and everything stays as it was
            if self._policy.keep(str(error)):
                self._note_policy("kept")
            return self._toolbox
        if new.cache != self._policy.current.cache:
            self._cache = Cache.of(new.cache)
        self._policy.take(new)
        self._toolbox, self._redactor = toolbox, self._new_redactor()
        self._note_policy("loaded")
        self._warn_of_notices()
        return toolbox

    def _place(self, policy: Policy) -> Policy:
        return place_policy(policy, self._policy_file, self.root)

    def _built(self, policy: Policy, tools: Mapping[str, LocalTool], known: Iterable[PackTool] = ()) -> Toolbox:
        premises = Premises(self.root, self._policy_file, store_path(policy, self._policy_file, self.root))
        packs = (*policy.packs, *self._setup.gate.get("packs", ()))
        shipped: Mapping[str, LocalTool] = {}
        if self._setup.code:
            shipped = shipped_tools(premises, policy, lambda: self.store, packs, self._hands)
        box = build_toolbox(
            policy, (shipped | dict(tools)).values(), known, protected=premises.protected, **self._setup.gate
        )
        return replace(box, packs=packs_digest(pack_digests(packs)), guarded=premises.guarded)

    def _new_redactor(self) -> Redactor | None:
        if self._store is None:
            return None
        return Redactor(self._store.key(), self._policy.current.settings.audit.redact)

    def _warn_of_notices(self) -> None:
        if self._policy.current.settings.approvals.notify:
            from rightcall.executor.notices import warn_of_notices  # late: few policies name anybody

            warn_of_notices(self._policy.current)

    def _note_policy(self, what: str) -> None:
        if self._store is None:
            return
        packs = pack_digests((*self._policy.current.packs, *self._setup.gate.get("packs", ())))
        note, digest = policy_note(what, self._policy.current, packs, self._policy.problem)
        decider = decider_of(self._policy.current, self._toolbox.protected, self._policy_file, self.root)
        self._store.later(lambda tables: note_policy(tables, note, digest, decider))


def _names_one(call: Any, toolbox: Toolbox) -> bool:
    """Whether a call names a tool that is known, without a guess: then no server has to be there first."""
    name = cast("Mapping[str, Any]", call).get("name") if isinstance(call, Mapping) else getattr(call, "name", None)
    return isinstance(name, str) and toolbox.gate.catalog.find(name).kind not in ("typo", "none")


def _by_name(functions: Iterable[Any]) -> dict[str, LocalTool]:
    """A later one may take the place of an earlier one; two at once are a mistake, and one of them would never run."""
    found: dict[str, LocalTool] = {}
    for one in map(local_tool, functions):
        if found.setdefault(one.name, one).function is not one.function:
            raise ToolError(f"two tools are named {one.name!r}: give one of them another name with `@tool(name=…)`")
    return found
