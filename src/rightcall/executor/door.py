"""A door: judges calls that somebody else runs (a host, a framework, an MCP server), and records what came of them.

    name, arguments ─▶ check ─▶ authorise, record ─▶ Passage ─▶ the host runs it, or not ─▶ ended ─▶ record

The same gate, the same policies and the same record as the executor's; only the running is the host's. `strict` is for
the gateway, whose servers are the policy's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from hashlib import sha256
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.files.guarded import follow, guarded_files
from rightcall.base.globs import twins
from rightcall.base.secrets import Redactor
from rightcall.catalog.packs import pack_digests
from rightcall.errors import ConfigError, StoreError
from rightcall.executor.calls import (
    UNNAMED,
    Who,
    checked_caller,
    end_body,
    faulty,
    hush_reasons,
    identity_now,
    reason_told,
    record_later,
    tell_people,
    unrecorded,
)
from rightcall.executor.guesses import LOOP, LoopNews, answer_digest, decided
from rightcall.executor.passage import Asked, CallContext, Here, Passage, asked_of, dry_run_text, noted, passage
from rightcall.executor.rights import (
    NOT_TOLD,
    DoorRights,
    Place,
    box_of,
    door_policy,
    door_rights,
    hidden,
    known_tools,
    tool_name,
)
from rightcall.executor.toolbox import Way, full_name, origin_of
from rightcall.policy.decide import quarantine
from rightcall.policy.settings import HOST_NAMES, Policy
from rightcall.policy.trust import stops_of_folders
from rightcall.policy.types import PAUSED, Approval, Decision, Facts, Origin, Pause, Request, Result
from rightcall.policy.watch import PolicyInForce, place_policy
from rightcall.record.admission import (
    Admission,
    Reply,
    admit,
    answer,
    count_start,
    finish,
    finishing,
    needs_of,
    refusal_needs,
    refuse,
)
from rightcall.record.notes import decider_of, note_policy, note_seen, packs_digest, policy_note
from rightcall.record.premises import (
    Held,
    existing_folder,
    found_folder,
    guarded_paths,
    held_folders,
    is_moved,
    open_store,
    store_path,
    store_place,
)
from rightcall.record.tables import CallBody, EndBody, Needs, Planned, Store, Tables, encode

if TYPE_CHECKING:
    from typing import Unpack

    from rightcall.base.telemetry import Telemetry
    from rightcall.executor.executor import PolicySource, StoreSource
    from rightcall.executor.lookups import Lookup
    from rightcall.executor.toolbox import Toolbox
    from rightcall.gate.gate import Gate
    from rightcall.types import Mode, Reading


log = LateLog()

_LOOKS = 0.1
"""Seconds between two looks at the policy file."""
_MOST_SEEN = 10_000
_MOST_CALLERS = 1000
"""Callers whose rights are kept ready; beyond that they are worked out anew."""
_DONE = Result(True)
_DRY_RUN = EndBody("success", summary="Dry run: it was not made")


class _Undone(Exception):
    """Undoes the transaction that it is raised in, and carries what was decided there."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.rule)
        self.decision = decision


class DoorSettings(TypedDict, total=False):
    """What `Door.open` takes, for type checkers; `DoorSetup` says what each means."""

    tools: Iterable[Any]
    packs: Iterable[str]
    provider: str | None
    caller: str | None
    root: str | os.PathLike[str]
    store: StoreSource
    mode: Mode | None
    strict: bool
    fixed_names: bool
    elsewhere: bool
    pins: bool
    remote: bool


class DoorSetup(Struct, frozen=True, kw_only=True):
    """What a door is opened with besides its host and policy."""

    tools: Iterable[Any] = ()
    packs: Iterable[str] = ()
    provider: str | None = None
    caller: str | None = None
    """Who calls where a call does not say; None: the host."""
    root: str | os.PathLike[str] = "."
    store: StoreSource = None
    """None: a file where a policy file says, else memory."""
    mode: Mode | None = None
    """Holds where the policy says nothing of the host."""
    strict: bool = False
    """The servers behind it are the policy's own."""
    fixed_names: bool = False
    """The host has chosen the tool already, so that a name is only ever that very tool."""
    elsewhere: bool = False
    """Another process will say how a call ended."""
    pins: bool = True
    """False: the tools are the callers' own, so that two of one name may differ and none has changed."""
    remote: bool = False
    """Callers are on other machines, and are told no command or path of this one."""


class Around(TypedDict, total=False):
    """What `Door.judge` takes besides the call, for type checkers; `CallContext` says what each means."""

    caller: str | None
    context: str | None
    step: str | None
    call_id: str | None
    space: str
    approval: str | None
    cwd: str | None


class Door:
    """One host's way in. Thread-safe. `ajudge` is for event loops, and `ended` never waits; everything else that
    decides or records waits for the disk, and belongs in a thread there.

    >>> tools = [{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}},
    ...          "required": ["n"]}}]
    >>> with Door.open("my-agent", tools=tools) as door:
    ...     passage = door.judge("add", "{'n': '3'}")
    ...     refused = door.judge("add", {})
    >>> passage.action, passage.arguments, passage.changed
    ('allow', {'n': 3}, True)
    >>> refused.message
    '⚠️ Invalid add call. Missing required fields: n. Example: {"n": 1}'
    """

    def __init__(self, host: str, policy: PolicySource, setup: DoorSetup) -> None:
        self.host = HOST_NAMES.get(host, host)
        self.caller = setup.caller or self.host
        self.root = existing_folder(setup.root)
        self._held = held_folders((self.root,))
        self._setup = setup
        self._file = os.path.abspath(policy) if isinstance(policy, (str, os.PathLike)) else None
        self._policy = PolicyInForce(policy)
        self._packs = tuple(setup.packs)
        self._packs_digest = ""
        self._next_look = 0.0
        self._lock = threading.RLock()
        self._known: dict[str, list[Any]] = {"": known_tools(setup.tools)}
        self._ways: dict[str, Way] = {}
        self._origins: dict[str, Origin] = {}
        self._twins: dict[str, frozenset[str]] = {"": twins(map(tool_name, self._known[""]))}
        self._boxes: dict[tuple[str, tuple[str, ...]], Toolbox] = {}
        self._rights: dict[tuple[str, str], DoorRights] = {}
        self._heres: dict[tuple[str, str], Here] = {}
        """By caller and space; emptied with whatever a `Here` is made of: the policy, the tools, the servers' ways."""
        folder = os.path.dirname(self._file) if self._file is not None else self.root
        self._above = "" if folder == self.root else follow(folder)
        path = store_path(self._policy.current, self._file, self.root)
        self._protected = guarded_paths(self.root, self._file, path)
        self._current = self._under(self._policy.current)
        self.store: Store = open_store(
            "memory" if setup.store is None and self._file is None else setup.store,
            store_place(self._policy.current, self._file, self.root), None,
            found_folder(self._policy.current, self._file, self.root), self._policy.current.settings.audit.keep_days,
        )  # fmt: skip
        self._guarded = guarded_files(self._file, path, _path_of(self.store))
        self._desk = None if setup.remote else _desk(self._file, path, _path_of(self.store), self._policy.current)
        self._stops = None if self._file is not None else stops_of_folders(self.root)
        """Where it says that the folder is paused: its policy, and so its store, may be gone."""
        self._renew_redactor()
        self._loops = LoopNews()
        self._seen: set[tuple[str, str]] = set()
        self._asked: set[tuple[str, str]] = set()
        self._note_policy("loaded")

    @classmethod
    def open(cls, host: str, policy: PolicySource = None, **settings: Unpack[DoorSettings]) -> Self:
        """Raises PolicyError, ConfigError or StoreError; `DoorSetup` says what each setting means."""
        return cls(host, policy, DoorSetup(**settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        from asyncio import to_thread  # late: a hook has no event loop, and would pay for one with every call

        await to_thread(self.close)

    def close(self) -> None:
        """Everything that was recorded is on disk; a store that was handed in stays open."""
        if self.store is not self._setup.store:
            self.store.close()

    @property
    def policy(self) -> Policy:
        """The policy in force, with what this door adds to it; looks whether its file has changed."""
        self._look()
        return self._current

    @property
    def policy_as_seen(self) -> Policy:
        """The same as of the last look at its file, without another one: for who has just had one."""
        return self._current

    @cached_property
    def telemetry(self) -> Telemetry:
        """What follows its calls; as the policy and the environment said when it was first asked."""
        from rightcall.base.telemetry.spans import telemetry_for  # late: a hook follows nothing

        return telemetry_for(self._policy.current.telemetry.enabled)

    @property
    def redactor(self) -> Redactor:
        """What hides secrets in its records."""
        return self._redactor

    @property
    def policy_problem(self) -> str | None:
        """What is wrong with an edit of the policy file that was not taken; None when there is no such edit."""
        self._look()
        return self._policy.problem

    @property
    def is_moved(self) -> bool:
        """Whether its root is not the folder any more that it was when this was opened."""
        return is_moved(self._held[:1])

    def know(self, tools: Iterable[Any], space: str = "") -> None:
        """The tools behind this door, or those of one server; they take the place of what was known of it. A server's
        tool that was known and is not among them counts as changed, so that half a list hides nothing (P-08)."""
        known = known_tools(tools)
        with self._lock:
            self._known[space] = known
            self._twins[space] = twins(map(tool_name, known))
            self._boxes = {key: box for key, box in self._boxes.items() if key[0] != space}
            self._heres = {}

    def locate(self, space: str, way: Way) -> None:
        """How a server is reached. Where that changes, its tools count as changed (P-08)."""
        if self._ways.get(space) == way:
            return
        with self._lock:
            self._ways[space] = way
            self._origins.pop(space, None)
            self._heres = {}

    def offers(self, tool: str, space: str = "", caller: str | None = None) -> bool:
        """Whether a caller may know of a tool."""
        self._look()
        server = self._current.servers.get(space) if space else None
        alike = tool in self._twins.get(space, ())
        return not alike and not hidden(self._rights_of(caller or self.caller, space), space, tool, server)

    def here(self, caller: str, space: str) -> Here:
        """Where a call of a server's tool is judged, for whoever runs it himself."""
        self._look()
        return self._here(caller, space)

    def box(self, space: str) -> Toolbox:
        """All tools of a server, also those that not every caller may know of."""
        with self._lock:
            return self._box_of(space, ())

    def gate(self, caller: str | None = None, space: str = "") -> Gate:
        """What reads and checks for a caller here, also text that comes in pieces. It decides and records nothing."""
        return self._box(caller or self.caller, space).gate

    def read(self, message: Any, finish_reason: str | None = None, *, space: str = "") -> Reading:
        """Every call in a text or a native message, as `Gate.read` finds them. Nothing is decided or recorded yet."""
        return self._box(self.caller, space).gate.read(message, finish_reason)

    def judge(self, name: str, arguments: Any, **around: Unpack[Around]) -> Passage:
        """What is to be done with a call, recorded; `CallContext` says what is known around it. Never raises for what a
        model wrote; when the store cannot record it, it is no (unless the door only observes)."""
        asked = self._ask(name, arguments, CallContext(**around))
        try:
            admission = self.store.transact(self._work(asked))
        except StoreError as error:
            admission = unrecorded(error)
        except Exception as error:  # a policy raised: what it decided was undone, the refusal gets a record of its own
            log.exception("rightcall: deciding on a call failed")
            admission = self._admit_fault(asked, faulty(error))
        tell_people(admission, asked.request)
        return self._passage(asked, admission)

    async def ajudge(self, name: str, arguments: Any, **around: Unpack[Around]) -> Passage:
        """The same from an event loop."""
        asked = self._ask(name, arguments, CallContext(**around))
        try:
            admission = await self.store.atransact(self._work(asked))
        except StoreError as error:
            admission = unrecorded(error)
        except Exception as error:
            from asyncio import to_thread

            log.exception("rightcall: deciding on a call failed")
            admission = await to_thread(self._admit_fault, asked, faulty(error))
        tell_people(admission, asked.request)
        return self._passage(asked, admission)

    def preview(self, name: str, arguments: Any, **around: Unpack[Around]) -> Decision:
        """How a call would be judged now, by the same work as in `judge`. What it wrote is undone: nothing is
        recorded, and nobody is asked."""
        asked = self._ask(name, arguments, CallContext(**around))
        work = self._work(asked)

        def undone(tables: Tables) -> Never:
            raise _Undone(work(tables).decision)

        try:
            return self.store.transact(Planned(undone, partial(_needs, asked)))
        except _Undone as done:
            return done.decision
        except StoreError as error:
            return unrecorded(error).decision
        except Exception as error:
            log.exception("rightcall: deciding on a call failed")
            return faulty(error)

    def ended(
        self, passage: Passage, *, ok: bool = True, summary: str = "", error: str | None = None,
        seconds: float | None = None, answer: Any = None,
    ) -> None:  # fmt: skip
        """What came of a call that was let through. The host has run it, so nobody waits for the disk and nothing is
        raised; a second time changes nothing. `answer` is all that it gave, text, bytes or JSON, where that is known:
        as long as it differs, making the call again is no loop."""
        if passage.admission.call == 0 or passage.action != "allow":
            return
        request = passage.request
        compared = request is not None and request.rights.repeats and not request.repeatable
        digest = answer_digest(answer, self._redactor) if compared else ""
        record_later(self.store, self._ending(passage, host_result(ok, error, seconds), summary, digest))

    async def aended(
        self, passage: Passage, *, ok: bool = True, summary: str = "", error: str | None = None,
        seconds: float | None = None, answer: Any = None,
    ) -> None:  # fmt: skip
        """The same; it does not wait either."""
        self.ended(passage, ok=ok, summary=summary, error=error, seconds=seconds, answer=answer)

    def ended_elsewhere(
        self, context: str | None, step: str, result: Result = _DONE, *, summary: str = "", answer: Any = None
    ) -> bool:
        """The same where another process judged the call: it is known by the context and step it was judged under. One
        that waited for a person ran all the same: somebody said yes in the host. False when there is no such call."""
        redactor = self._redactor
        digest = answer_digest(answer, redactor)
        end = end_body(result, summary, None, redactor, answer=digest)
        return self.store.transact(partial(noted, context=context, step=step, end=end, host=self.host))

    def answer(self, passage: Passage, said: Literal["approved", "denied"], *, by: str) -> Approval:
        """A person has answered in the host. Raises AnswerError; after a yes the same call is let through, once."""
        if passage.approval is None or passage.request is None:
            raise ConfigError("this call does not wait for anybody")
        settings = self._policy.current.settings
        about, expires = passage.approval, settings.approval.expires
        found = self.store.look(lambda tables: tables.approval(about))
        digest = found.digest if found is not None else passage.request.digest
        return self.store.transact(
            lambda tables: answer(tables, about, Reply(said, by, digest), expires, tuple(settings.callers))
        )

    def pause(self, reason: str = "", *, by: str) -> Pause:
        """The emergency stop: every process on this store refuses every call, until `resume`. `by` is the person who
        says so. Raises AnswerError or StoreError."""
        from rightcall.record.admission import pause  # late: a hook judges one call

        told, callers = str(self._redactor.value(reason)), tuple(self._policy.current.settings.callers)
        return self.store.transact(lambda tables: pause(tables, by, told, callers))[0]

    def resume(self, reason: str = "", *, by: str) -> Pause | None:
        """Let calls run again; returns the pause that ends, None when there was none."""
        from rightcall.record.admission import resume  # late: as above

        told, callers = str(self._redactor.value(reason)), tuple(self._policy.current.settings.callers)
        return self.store.transact(lambda tables: resume(tables, by, told, callers))

    def is_paused(self) -> bool:
        """Whether the emergency stop holds, for a call that was let through and would go on. True also where the store
        cannot say: then the call is to be judged anew, which says what happens without a store."""
        try:
            return self.store.look(self._is_stopped)
        except StoreError:
            return True

    def _is_stopped(self, tables: Tables) -> bool:
        return tables.paused() is not None or self._is_folder_stopped()

    def _is_folder_stopped(self) -> bool:
        return self._stops is not None and self._stops.standing() is not None

    def refuses(self, lookup: Lookup) -> Decision | None:
        """Why a request for a resource, a prompt or a completion is refused, recorded; None where it passes."""
        from rightcall.executor.lookups import decide_lookup, lookup_request, make_refusal  # late: as above

        self._look()
        caller, now = lookup.caller or self.caller, self.store.clock.now()
        here = self._here(caller, lookup.space)
        request = lookup_request(here, map(tool_name, self._known.get(lookup.space, ())), lookup, now)
        try:
            request = PAUSED if self._is_folder_stopped() else request
            decision = self.store.look(partial(decide_lookup, request=request))
            if decision is None:
                return None
            decision = replace(decision, reason=reason_told(decision.reason, lookup.params, self._redactor))
            body = make_refusal(here, self._who(caller, lookup.context), lookup)
            return self.store.transact(
                lambda tables: refuse(tables, caller, body.digest, decision, body, tables.now())
            ).decision
        except StoreError as error:
            return unrecorded(error).decision

    def refuse_unjudged(
        self, name: str, why: str, *, space: str = "", caller: str | None = None, context: str | None = None
    ) -> int:
        """Record the refusal of a call that cannot be judged, since nobody can say what it is: under the tool's name
        where there is such a tool, without its arguments, of which there may be two. Returns the record's number, 0
        where the store could not take it."""
        caller = caller or self.caller
        tool = full_name(space, name if self.gate(caller, space).catalog.get(name) is not None else UNNAMED)
        digest = sha256(f"{tool}\0{why}".encode()).hexdigest()
        body = CallBody(
            caller=caller, tool=tool, params={}, digest=digest, decision="deny", rule="validation", context=context,
            policy=self.policy.digest, wire=self.host, identity=identity_now(),
        )  # fmt: skip
        decision = Decision("deny", "validation", f"Validation failed: {why}")
        try:
            return self.store.transact(lambda tables: refuse(tables, caller, digest, decision, body, tables.now())).call
        except StoreError as error:
            log.warning("rightcall: a refusal could not be recorded: %s", error)
            return 0

    def leaves_out(self, space: str, caller: str | None = None) -> bool:
        """Whether a caller may use nothing of a server."""
        from rightcall.executor.lookups import deny_server

        self._look()
        here = self._here(caller or self.caller, space)
        is_watched = here.policy.mode_for("", here.host) == "observe"
        return not is_watched and deny_server(here, map(tool_name, self._known.get(space, ()))) is not None

    def _who(self, caller: str, context: str | None, step: str | None = None) -> Who:
        return Who(
            caller, context, step, self._setup.provider or "", policy=self._current.digest, packs=self._packs_digest
        )

    def _ask(self, name: Any, arguments: Any, around: CallContext) -> Asked:
        self._look()
        setup, space, cwd = self._setup, around.space, around.cwd
        who = self._who(around.caller or self.caller, around.context, around.step)
        here = self._here(who.caller, space)
        if cwd:
            here = replace(here, folders=self._folders(space, cwd), cwd=self._elsewhere_than_root(cwd))
        asked = asked_of(here, who, name, arguments, around, self.store.clock.now())
        if setup.pins or isinstance(asked.request, Decision):
            return asked
        inputs = replace(asked.body.inputs, unpinned=True)
        return replace(asked, request=replace(asked.request, definition=""), body=replace(asked.body, inputs=inputs))

    def _admit_fault(self, asked: Asked, fault: Decision) -> Admission:
        try:
            return self.store.transact(self._work(replace(asked, request=fault)))
        except StoreError as error:
            return unrecorded(error)
        except Exception:
            log.exception("rightcall: a refusal could not be recorded")
            return Admission(fault, 0)

    def _elsewhere_than_root(self, cwd: str | None) -> str:
        """Where a host works, after every link; empty where that is the root, or nobody says."""
        if not cwd or cwd == self.root:
            return ""
        true = follow(cwd)
        return "" if true == follow(self.root) else true

    def _folders(self, space: str, cwd: str | None) -> tuple[str, ...]:
        server = self._current.servers.get(space) if space else None
        if server is None:
            return (cwd,) if cwd else ()
        return tuple(folder for folder in (cwd, server.cwd) if folder)

    def _held_of(self, space: str) -> tuple[Held, ...]:
        server = self._current.servers.get(space) if space else None
        folders = (self.root, "" if server is None else server.cwd)
        return tuple(one for one in self._held if one[0] in folders)

    def _work(self, asked: Asked) -> Callable[[Tables], Admission]:
        work = partial(self._observed if asked.observed else self._decided, asked=asked)
        return Planned(work, partial(_needs, asked))

    def _decided(self, tables: Tables, asked: Asked) -> Admission:
        now = self.store.clock.now()
        request = asked.request
        if self._is_folder_stopped():  # every other stop is looked for below
            return refuse(tables, asked.body.caller, asked.digest, PAUSED, asked.body, now)
        if isinstance(request, Decision):
            held = quarantine(tables, asked.body.caller, asked.digest, asked.rights.quarantine, now)
            return refuse(tables, asked.body.caller, asked.digest, held or request, asked.body, now)
        if request.definition == NOT_TOLD and tables.definition(request.tool) is None:
            request = replace(request, definition="")  # nothing was known, so nothing has changed, or will have
        admission = admit(tables, replace(request, at=now), self._decide, asked.body, asked.question)
        if admission.decision.kind == "dry_run":
            finish(tables, admission.call, _DRY_RUN)
            return replace(admission, decision=replace(admission.decision, reason=dry_run_text(request)))
        if admission.decision.kind == "allow" and self._setup.elsewhere:
            tables.begun(admission.call, elsewhere=True)
        return admission

    def _observed(self, tables: Tables, asked: Asked) -> Admission:
        """It runs, whatever would have been decided; the record says what."""
        request = asked.request
        if self._is_stopped(tables):  # an emergency stop stops, also where nothing else is refused
            return refuse(tables, asked.body.caller, asked.digest, PAUSED, asked.body, self.store.clock.now())
        if isinstance(request, Decision):
            decision = request
        else:
            request = replace(request, at=self.store.clock.now())
            decision = self._decide(request, tables)
        would = "" if decision.kind == "allow" else f"{decision.kind} by {decision.rule}: {decision.reason}"
        unjudged = isinstance(request, Decision)
        body = replace(
            asked.body, decision="allow", rule="observe", reason=would, changes=tables.changes(),
            now=self.store.clock.now() if unjudged else request.at,
            order={} if unjudged else count_start(tables, request, tables.head()[0] + 1),
        )  # fmt: skip
        seq = tables.append("begin", 0, encode(body))
        tables.begun(seq, elsewhere=self._setup.elsewhere)
        return Admission(decision, seq, hash=tables.head()[1])

    def _tell_seen(self, asked: Asked, admission: Admission) -> None:
        """A tool of the host's own that was called and did not run is noted, once. Those of servers are remembered as
        they were listed, and a hook's are known."""
        tool = asked.tool
        if tool is None or not tool.definition or tool.definition == NOT_TOLD or asked.body.inputs.space:
            return
        if asked.observed or admission.decision.rule == PAUSED.rule:
            return
        key = asked.body.tool, tool.definition
        if key in self._seen or self._setup.elsewhere or admission.call == 0 or len(self._seen) >= _MOST_SEEN:
            return
        if admission.decision.kind == "ask" and key not in self._asked:  # whoever is asked once is mostly answered
            self._asked.add(key)
            return
        self._seen.add(key)
        record_later(self.store, partial(note_seen, tool=key[0], digest=key[1], described=tool.described))

    def _passage(self, asked: Asked, admission: Admission) -> Passage:
        if admission.decision.kind != "allow":
            self._tell_seen(asked, admission)
        request = None if isinstance(asked.request, Decision) else asked.request
        observed = asked.observed and admission.decision.rule != PAUSED.rule
        if admission.decision.rule == LOOP and request is not None and not observed:
            self._loops.tell(request.tool)
        return passage(asked, admission, request, observed=observed, desk=self._desk)

    def _ending(self, passage: Passage, result: Result, summary: str, answer: str) -> Callable[[Tables], object]:
        request = passage.request
        end = end_body(result, summary, passage.arguments, self._redactor, answer=answer)
        changed = request.digest if request is not None and request.side_effects else None
        return finishing(passage.admission, end, changed)

    def _look(self) -> None:
        """Take a changed policy file; a wrong one leaves everything as it was. One look serves many calls."""
        now = monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOKS
        new = self._policy.changed()
        if new is None:
            return
        if isinstance(new, ConfigError):
            if self._policy.keep(str(new)):
                self._note_policy("kept")
            return
        self.take(new)
        self._note_policy("loaded")

    def take(self, policy: Policy) -> None:
        """Another policy is in force, from the next call on."""
        with self._lock:
            self._policy.take(policy)
            self._current = self._under(policy)
            self._boxes, self._rights, self._heres, self._origins = {}, {}, {}, {}
            self._renew_redactor()

    def _under(self, policy: Policy) -> Policy:
        known = {folder for folder, _, _ in self._held}
        self._held += held_folders({one.cwd for one in policy.servers.values() if one.cwd} - known)
        placed = place_policy(policy, self._file, self.root)
        return door_policy(placed, self.host, self._setup.mode, strict=self._setup.strict)

    def _rights_of(self, caller: str, space: str) -> DoorRights:
        key = caller, space
        with self._lock:
            known = self._rights.get(key)
            if known is None:
                if len(self._rights) >= _MOST_CALLERS:
                    self._rights.clear()
                server = self._current.servers.get(space) if space else None
                known = self._rights[key] = door_rights(
                    self._current, checked_caller(caller), host=self.host, server=server, strict=self._setup.strict,
                    protected=self._protected,
                )  # fmt: skip
            return known

    def _box(self, caller: str, space: str) -> Toolbox:
        return self._here(caller, space).box

    def _here(self, caller: str, space: str) -> Here:
        """Where a caller is judged who works in no folder of its own. Callers who may know of the same tools share a
        toolbox."""
        ready = self._heres.get((caller, space))
        if ready is not None:
            return ready
        with self._lock:
            rights = self._rights_of(caller, space)
            box = self._box_of(space, self._hidden(rights, space))
            if len(self._heres) >= _MOST_CALLERS:
                self._heres = {}
            here = self._heres[caller, space] = Here(
                self.host, space, self._current, box, rights, self.root, self._setup.fixed_names, self._redactor,
                bool(space) and space in self._known, self._guarded,
                self._origin(space) if space in self._ways else None, self._twins.get(space, frozenset()),
                self._folders(space, None), above=self._above, held=self._held_of(space),
            )  # fmt: skip
            return here

    def _box_of(self, space: str, hidden: tuple[str, ...]) -> Toolbox:
        box = self._boxes.get((space, hidden))
        if box is None:
            place = Place(self.host, space, self._setup.fixed_names, self._packs, self._setup.provider)
            box = self._boxes[space, hidden] = box_of(self._current, place, self._known.get(space, []), hidden)
        return box

    def _origin(self, space: str) -> Origin:
        known = self._origins.get(space)
        if known is None:
            with self._lock:
                known = self._origins[space] = origin_of(f"{self.host}:{space}", self._ways[space], self._redactor)
        return known

    def _hidden(self, rights: DoorRights, space: str) -> tuple[str, ...]:
        """Where tools that nobody knows pass, a denied one has to be known in every spelling, so none is hidden."""
        if not self._setup.strict:
            return ()
        server = self._current.servers.get(space) if space else None
        names = map(tool_name, self._known.get(space, ()))
        return tuple(name for name in names if hidden(rights, space, name, server))

    def _renew_redactor(self) -> None:
        self._redactor = Redactor(self.store.key(), self._policy.current.settings.audit.redact)
        self._decide = hush_reasons(_decide, self._redactor)

    def _note_policy(self, what: str) -> None:
        packs = pack_digests((*self._policy.current.packs, *self._packs))
        note, digest = policy_note(what, self._policy.current, packs, self._policy.problem)
        self._packs_digest = packs_digest(packs)
        decider = decider_of(self._policy.current, self._protected, self._file, self.root)
        record_later(self.store, lambda tables: note_policy(tables, note, digest, decider))


def _decide(request: Request, facts: Facts) -> Decision:
    """The facts are all of the tables: it is asked inside a transaction."""
    return decided(request, facts)  # pyright: ignore[reportArgumentType] - see above


def _needs(asked: Asked) -> Needs:
    request = asked.request
    return refusal_needs(asked.body.caller, asked.digest) if isinstance(request, Decision) else needs_of(request)


def _path_of(store: Store) -> str | None:
    """Where a store lies, for one that lies in a file."""
    return getattr(store, "path", None)


def _desk(file: str | None, named: str, store: str | None, policy: Policy) -> str:
    """Where a person answers, as options of the command that does it: the policy, where it names the store that is
    used, or the store itself. A policy that was found is found again: whoever names it gives it their full word."""
    if store is not None and (file is None or os.path.realpath(named) != os.path.realpath(store)):
        return f" --store {quote(store)}"
    if file is None:
        return ""
    return f" --policy {quote(file)}" if policy.standing == "given" else f" --root {quote(os.path.dirname(file))}"


def host_result(ok: bool, error: str | None = None, seconds: float | None = None) -> Result:
    """What came of a call, as a host tells it."""
    return Result(ok, error=error if error is not None or ok else "It failed.", seconds=seconds or 0.0)
