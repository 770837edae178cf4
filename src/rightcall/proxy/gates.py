"""A gate for the tools of each request, and what becomes of each call that it judges. Clients send the same tools again
and again, so a gate is built once for each set. And the options of the proxy.

What was done is told in a few words to the client, and as records to the audit:

    x-rightcall: repaired=1 lifted=1        under `observe`: would-repair=1 would-lift=1
    : rightcall repaired=1                  the same at the end of a stream

Nothing that a model or a client wrote is ever in those words: they are counts.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.json.strict import encode_sorted
from rightcall.base.secrets import LONGEST_VALUE, Redactor, make_storable, redact_text
from rightcall.base.text import render_json
from rightcall.errors import RightCallError
from rightcall.executor.calls import LONGEST_EMISSION, Written, kept_problems, kept_repairs
from rightcall.executor.request import canonical_json
from rightcall.gate.gate import (
    Counter,
    Gate,
    arguments_of,
    describe_fault,
    functions,
    name_of,
    readable,
    statistics,
    suited,
)
from rightcall.gate.last_resort import LastResort
from rightcall.gate.stream import CUT_OFF, NO_END, Stream, refuse_cut
from rightcall.policy.settings import HostSettings, Policy
from rightcall.proxy.teaching import is_copied
from rightcall.record.calls import FATES, LIFTED, WORDS, Fate, Fit, counted_as, rule_of, word_of
from rightcall.record.tables import NO_IDENTITY, CallBody
from rightcall.types import Call, ReasoningMode, Repair, Verdict

log = logging.getLogger("rightcall")

HOST = "proxy"
"""What the policy file calls this door: `[gate.hosts.proxy]`."""

MOST = 128
"""Gates that are kept."""
MOST_BYTES = 8_000_000
"""Of the definitions of their tools. What is compiled from them takes some thirty times as much."""
MOST_NAMES = 1000
"""Tools of gates that are gone, whose calls are still counted by name."""


class Offer(Struct, frozen=True):
    """The tools of a request, as they stood in it; one for all requests that have the same."""

    digest: str
    tools: bytes


NO_OFFER: Final = Offer("", b"")


class Gates:
    """The gates of one upstream."""

    def __init__(
        self, policy: Policy, provider: str, *, pass_unknown: bool = True, last_resort: LastResort | None = None
    ) -> None:
        self.watches = watches(policy)
        """Whether nothing may be changed, as the policy says of this door."""
        self.policy = _for_proxy(policy, pass_unknown=pass_unknown)
        self.provider = provider
        self._last_resort = last_resort if policy.llm is not None else None
        self._kept: OrderedDict[bytes, Gate | None] = OrderedDict()
        self._offers: dict[bytes, Offer] = {}
        self._bytes = 0
        self._past: dict[str, Counter] = {}
        self._lock = threading.Lock()

    def of(self, tools: bytes) -> Gate | None:
        """The gate for a list of tools, as it stood in a request; None where there is nothing to check against: no
        tools, or definitions that nobody can read, which are the client's and the server's affair."""
        with self._lock:
            if tools in self._kept:
                self._kept.move_to_end(tools)
                return self._kept[tools]
        gate, offer = self._build(tools), Offer(sha256(tools).hexdigest(), tools)
        with self._lock:
            if tools in self._kept:  # somebody else was faster
                return self._kept[tools]
            self._kept[tools], self._offers[tools] = gate, offer
            self._bytes += len(tools)
            while len(self._kept) > MOST or (self._bytes > MOST_BYTES and len(self._kept) > 1):
                oldest, gone = self._kept.popitem(last=False)
                self._offers.pop(oldest, None)
                self._bytes -= len(oldest)
                self._remember(gone)
        return gate

    def knows(self, tools: bytes) -> bool:
        """Whether the gate for these tools is at hand; else it has to be built."""
        return tools in self._kept

    def offer(self, tools: bytes) -> Offer:
        """What the record is told of a list of tools whose gate is kept."""
        return self._offers.get(tools, NO_OFFER)

    def recent(self, most: int) -> list[list[dict[str, Any]]]:
        """The tools of the last requests that had others than the one before, newest first."""
        with self._lock:
            kept = [tools for tools, gate in reversed(self._kept.items()) if gate is not None][:most]
        return [functions(msgspec.json.decode(tools)) for tools in kept]

    def stats(self) -> dict[str, Any]:
        """The counts of all gates together, those that are gone included."""
        with self._lock:
            total = {name: list(counter) for name, counter in self._past.items()}
            for gate in self._kept.values():
                _add(total, gate)
        return statistics(self.provider, total)

    def _remember(self, gate: Gate | None) -> None:
        _add(self._past, gate)
        for name in list(self._past)[MOST_NAMES:]:
            kept = self._past.setdefault("(other)", [0] * len(self._past[name]))
            if name != "(other)":
                gone = self._past.pop(name)
                self._past["(other)"] = [one + more for one, more in zip(kept, gone, strict=True)]

    def _build(self, tools: bytes) -> Gate | None:
        try:
            given = functions(msgspec.json.decode(tools)) if tools else []
            if not given:
                return None
            policy, packs = suited(self.policy, {name_of(tool): arguments_of(tool) for tool in given})
            more: dict[str, Any] = {"host": HOST, "last_resort": self._last_resort}
            try:
                return Gate(given, policy, packs, self.provider, **more)
            except RightCallError:
                some = readable(given)
                return Gate(some, policy, packs, self.provider, **more) if some else None
        except (RightCallError, msgspec.MsgspecError, UnicodeError, ValueError, TypeError, RecursionError) as fault:
            log.warning(
                "rightcall: the tools of a request cannot be read, so its calls pass unchecked: %s",
                describe_fault(fault),
            )
            return None


def watches(policy: Policy) -> bool:
    """Whether the policy says of the proxy what `--mode observe` says."""
    here = policy.hosts.get(HOST) or HostSettings()
    return (here.mode or policy.mode) == "observe"


def _for_proxy(policy: Policy, *, pass_unknown: bool) -> Policy:
    """The policy, with this door's default for tools that nobody knows: they pass, unless the file says otherwise.
    Where it only watches, calls are judged as if it did not: what would have been done is to be told."""
    here = policy.hosts.get(HOST) or HostSettings()
    if watches(policy):
        here = replace(here, mode="block")
    if here.unknown_tool is None and pass_unknown:
        here = replace(here, unknown_tool="pass")
    return replace(policy, hosts={**policy.hosts, HOST: here})


def _add(total: dict[str, Counter], gate: Gate | None) -> None:
    for name, counter in gate.counters.items() if gate is not None else ():
        kept = total.setdefault(name, [0] * len(counter))
        for at, number in enumerate(counter):
            kept[at] += number


# ── the decision about a call ──
# It stays as it is, is written anew, or is left alone since nobody can say what it means.


class Did(NamedTuple):
    """What was done about one call, for the header, the audit and the counts."""

    fate: Fate
    verdict: Verdict
    written: str
    """The tool's name as the model wrote it."""
    said: Any = None
    """The arguments as the model wrote them, or the text of a call in the text."""
    note: str = ""
    """What was done beside its repairs."""

    @property
    def fit(self) -> Fit:
        """How it came to fit, as its record tells it."""
        found = self.verdict.call or self.verdict.found
        origin = "text" if found is None or found.origin == "text" else "native"
        counted = counted_as(self.verdict.strategy, origin, rule_of(self.fate))
        plain: dict[str, Fit] = {"direct": "right", LIFTED: "lifted", "failed": "left"}
        return plain.get(counted, "repaired")

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Those that were made, or would have been where nothing may be changed. What was read into a call that was
        passed on as it was is none."""
        return self.verdict.repairs if self.fate in ("repaired", "lifted") else ()

    def why(self, *, observe: bool) -> str:
        """What there is to say of it, where its repairs and problems do not; nothing that a model wrote."""
        if self.fate == "repaired":
            return self.note
        if self.fate != "left":
            words = FATES[self.fate]
            return (is_observed(self.verdict, observe=observe) and words.would_why) or words.why
        call = self.verdict.call or self.verdict.found
        if self.verdict.truncated or call is None or call.origin != "text":
            return "the answer ends before the call does; passed on unchanged"
        what = "it repeats an example of the prompt" if is_copied(call.arguments) else "the request has no such tool"
        return f"{what}; left in the text"


End = Literal["own", "cut", "unknown"]
"""What ended a call. own: the model, which ended its turn or went on to something else · cut: the token limit ·
unknown: nobody said, or the server's word is not to be relied on."""


def settle_end(verdict: Verdict, end: End) -> Verdict:
    """The verdict on a call whose closing brackets are missing, now that its end is known. A model that ended its turn
    itself forgot them, and they are completed; otherwise more may have followed, and half a call is none."""
    if not verdict.truncated or not verdict.ok:
        return verdict
    return (
        replace(verdict, truncated=False) if end == "own" else refuse_cut(verdict, CUT_OFF if end == "cut" else NO_END)
    )


def is_wrong(verdict: Verdict) -> bool:
    """Whether a call is none that anybody should run. A policy that only warns or observes calls it ok all the same;
    but to pass a wrong call on is one thing, to make one is another."""
    return not verdict.ok or bool(verdict.problems) or verdict.call is None


def is_observed(verdict: Verdict, *, observe: bool) -> bool:
    """Whether a call is only looked at: all are (`observe`), or the policy says so of the tool or of this door."""
    return observe or verdict.mode == "observe"


def can_retry(verdict: Verdict) -> bool:
    """Whether the model could do better if it were told."""
    return is_wrong(verdict) and verdict.retry


NO_ID: Final = "the call had no id of its own, so no client could answer it; it was given one"
BOXED: Final = "the arguments were an object, which clients of this API cannot read; they are JSON text now"


class Settler:
    """Judges the calls of one answer. Under `observe` nothing changes, and what would have is told all the same."""

    def __init__(
        self, gate: Gate, *, observe: bool = False, taught: bool = False, new_id: Callable[[], str] | None = None
    ) -> None:
        self.gate = gate
        self.observe = observe
        self.taught = taught
        """Whether the model has seen examples of ours, which small ones repeat."""
        self.new_id = new_id
        """How the API names a call that has no name yet; None where calls have none."""
        self.reasoning: ReasoningMode = gate.reasoning
        """Whether an answer begins inside of reasoning."""
        self.closed_alone: Callable[[], None] | None = None
        """Hears of an answer with a tag that closes reasoning which none had opened."""
        self.text_arguments = False
        """Whether the API has arguments as JSON text, which its clients read."""
        self.own: frozenset[str] = frozenset()
        """Tools that are run here, so that their calls never reach the client."""

    def stream(self, *, first: bool = True) -> Stream:
        """What reads a text of an answer. Only its `first` can begin inside of reasoning."""
        return self.gate.stream(self.reasoning if first else "closed")

    def native(self, name: Any, arguments: Any, call_id: Any, end: End = "own") -> tuple[Call | None, Did]:
        """The call in place of the native one that came, or None where it stays; and what was done."""
        given = call_id if isinstance(call_id, str) and call_id else None
        verdict = settle_end(self.gate.check(name, arguments, call_id=given), end)
        if end == "cut" and not arguments and verdict.ok:  # an API that lost the arguments says that there are none
            verdict = refuse_cut(verdict)
        written = name if isinstance(name, str) else ""
        known = verdict.call is not None and verdict.call.name in self.gate.catalog.tools
        if not known and not verdict.problems:
            return self._named(given, Did("unknown", verdict, written, arguments))
        if is_wrong(verdict) or verdict.call is None:
            return None, Did("left", verdict, written, arguments)
        if not verdict.repairs:
            return self._named(given, Did("right", verdict, written, arguments))
        did = Did("repaired", verdict, written, arguments)
        if self.observes(verdict):
            return None, did
        return (replace(verdict.call, id=given or (self.new_id() if self.new_id else None)), did)

    def _named(self, given: str | None, did: Did) -> tuple[Call | None, Did]:
        """A right call that clients cannot read or answer all the same: without an id, where the API wants one, or with
        an object where it has a text."""
        call = did.verdict.call
        new = self.new_id() if given is None and self.new_id is not None else ""
        boxed = self.text_arguments and not isinstance(did.said, str)
        if not (new or boxed) or self.observes(did.verdict) or call is None or type(call.arguments) is not dict:
            return None, did
        notes = [NO_ID] if new else []
        note = "; ".join([*notes, BOXED] if boxed else notes)
        return replace(call, id=new or given), did._replace(fate="repaired", note=note)

    def observes(self, verdict: Verdict) -> bool:
        """Whether this call is only looked at."""
        return is_observed(verdict, observe=self.observe)

    def liftable(self, verdict: Verdict) -> bool:
        """Whether a call in the text is one that the client could have been sent natively. What was cut off, or names
        a tool that nobody offered, stays text."""
        call = verdict.call
        if is_wrong(verdict) or call is None or call.name not in self.gate.catalog.tools:
            return False
        return not (self.taught and is_copied(call.arguments))

    def is_own(self, verdict: Verdict) -> bool:
        """Whether this is a call of a tool that is run here."""
        call = verdict.call or verdict.found
        return call is not None and call.name in self.own

    def lifted(self, verdict: Verdict) -> Call:
        assert verdict.call is not None
        return replace(verdict.call, id=verdict.call.id or (self.new_id() if self.new_id else None))


# ── options ──
# What a user sets for the proxy, and what follows from the upstream's host.

Switch = Literal["auto", "on", "off"]

LOCAL: Final = "local"
"""The provider of every server on this machine, whatever it runs."""

HOSTED: Final = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.mistral.ai": "mistral",
    "api.cohere.com": "cohere",
    "api.x.ai": "xai",
    "api.deepseek.com": "deepseek",
}
"""Providers that serve their own models and emit native calls: what looks like a call in their text is talk of one."""


class Options(Struct, frozen=True):
    """How answers are treated."""

    retry: int = 0
    """How often a call that cannot be repaired goes back to the model."""
    observe: bool = False
    """Change nothing, and tell what would have been done."""
    teach: Switch = "auto"
    """Put the tools into the prompt: always, never, or where a server turns out to ignore them."""
    lift: Switch = "auto"
    """Turn calls in the text into native ones; `auto` means: except for hosted providers that emit native ones."""


def provider_of(host: str, *, is_local: bool) -> str:
    """The provider's name, by the upstream's host and never by the API it speaks.

    >>> provider_of("127.0.0.1", is_local=True), provider_of("api.openai.com", is_local=False)
    ('local', 'openai')
    """
    return LOCAL if is_local else HOSTED.get(host, host)


def lifts(options: Options, host: str) -> bool:
    """Whether calls in the text of this upstream are lifted."""
    return options.lift == "on" or (options.lift == "auto" and host not in HOSTED)


# ── what was done, for the client and for the audit ───────────────────────────────────────────────────────────────────

CALLER: Final = "proxy"
"""Who calls with the server's own token."""
CALLER_HEADER: Final = b"x-rightcall-caller"
"""May only repeat what the token says."""

LONGEST_NAME: Final = 200
"""Characters of a caller's and of a model's name."""

LOOKED_AT: Final = 16_000
"""Bytes of arguments that are searched for secrets as a whole."""
_DEEPEST, _MOST_ITEMS = 4, 100
MOST_TOLD: Final = 200
"""Repairs and problems of one call that a record names."""


def render_header(
    did: Iterable[Did], *, retries: int = 0, taught: bool = False, ran: int = 0, observe: bool = False
) -> str | None:
    """The value of `x-rightcall`; None when nothing was done.

    >>> from rightcall import Verdict
    >>> right = Verdict(True, None)
    >>> render_header([Did("repaired", right, "add"), Did("right", right, "add")], retries=1)
    'repaired=1 retried=1'
    """
    words = [word_for(one, observe=observe) for one in did if FATES[one.fate].is_told]
    counts = {word: words.count(word) for word in WORDS} | {"retried": retries, "taught": int(taught), "ran": ran}
    return " ".join(f"{word}={count}" for word, count in counts.items() if count) or None


def render_comment(words: str | None) -> bytes:
    """The same as a comment in a stream of server-sent events, which clients skip; empty when nothing was done. Lines
    of JSON know no comments: it has no place there."""
    return b"" if words is None else b": rightcall %s\n\n" % words.encode("ascii")


def word_for(did: Did, *, observe: bool) -> str:
    """What became of a call in one word; where it was only looked at, what would have.

    >>> from rightcall import Verdict
    >>> one = Did("lifted", Verdict(True, None), "add")
    >>> word_for(one, observe=False), word_for(one, observe=True), word_for(one._replace(fate="right"), observe=True)
    ('lifted', 'would-lift', 'right')
    """
    return word_of(did.fate, observed=is_observed(did.verdict, observe=observe))


class Provenance(NamedTuple):
    """How an answer came about."""

    wire: str
    model: str
    provider: str
    caller: str = CALLER
    policy: str = ""
    """Digest of the one in force."""
    retries: int = 0
    taught: bool = False
    observe: bool = False
    identity: tuple[str, str] = NO_IDENTITY
    offered: str = ""
    """Digest of the tools of the request, where the store keeps them."""


def notes(did: Iterable[Did], redactor: Redactor, came: Provenance) -> list[CallBody]:
    """One record for each call of an answer, also for those that were right, without their secrets."""
    exchange = {
        "caller": redactor.text(came.caller), "provider": redactor.text(came.provider), "policy": came.policy,
        "wire": came.wire, "model": redactor.text(came.model[: LONGEST_NAME * 4])[:LONGEST_NAME],
        "retries": int(came.retries), "taught": bool(came.taught), "identity": came.identity,
        "definition": came.offered[:16],
    }  # fmt: skip
    return [_body(one, redactor, came.observe, exchange) for one in did]


def _body(did: Did, redactor: Redactor, observe: bool, exchange: Mapping[str, Any]) -> CallBody:
    verdict = did.verdict
    call = verdict.call or verdict.found
    given = None if call is None else call.arguments
    small = shorten_value(given, redactor)
    params = redactor.beside(small, small)
    from_text = call is None or call.origin == "text"  # a native call always has a name, whatever its server wrote
    tool = redactor.beside(call.name if call is not None else did.written, small)[:LONGEST_VALUE]
    as_written = from_text or did.fate not in ("right", "unknown")
    return CallBody(
        tool=tool,
        params=make_storable(params),
        digest=_digest(did, given, None if params is given else redactor),
        decision="passed",
        rule=rule_of(word_for(did, observe=observe)),
        reason=_reason(did, small, redactor, observe),
        written="" if did.written == tool else redact_text(did.written, LONGEST_VALUE, small, redactor),
        emission=_emission(did, small, redactor) if as_written else None,
        repairs=_repairs(did.repairs, small, redactor) if did.repairs else (),
        problems=kept_problems(verdict.problems[:MOST_TOLD], small, redactor) if verdict.problems else (),
        strategy=verdict.strategy,
        confidence=verdict.confidence,
        truncated=verdict.truncated,
        origin="text" if from_text else "native",
        **exchange,
    )


def _emission(did: Did, given: Any, redactor: Redactor) -> Any:
    """What the model wrote: the text of a call in the text, or the arguments of a native one; `written` is its name."""
    if isinstance(did.said, str):
        return redact_text(did.said, LONGEST_EMISSION, given, redactor)
    return make_storable(redactor.beside(shorten_value(did.said, redactor), given))


def _repairs(repairs: tuple[Repair, ...], given: Any, redactor: Redactor) -> tuple[dict[str, Any], ...]:
    """All of them looked through at once, and only what a model wrote: that is most of what a record costs."""
    told, left_out = repairs[:MOST_TOLD], len(repairs) - MOST_TOLD
    written = [
        {"path": one.path, "before": shorten_value(one.before, redactor), "after": shorten_value(one.after, redactor)}
        for one in told
    ]
    hidden: Any = redactor.beside(written, given)
    if not isinstance(hidden, list):  # too many secrets to tell them apart
        return kept_repairs(told, given, redactor)
    found = tuple(
        {
            "path": one["path"], "before": make_storable(one["before"]), "after": make_storable(one["after"]),
            "strategy": repair.strategy, "rule": repair.rule, "confidence": repair.confidence,
            "note": repair.note,
        }
        for one, repair in zip(cast("list[dict[str, Any]]", hidden), told, strict=True)
    )  # fmt: skip
    return found if left_out <= 0 else (*found, {**found[-1], "path": "", "before": f"and {left_out} more"})


def _reason(did: Did, given: Any, redactor: Redactor, observe: bool) -> str:
    hint = did.verdict.hint
    if did.fate == "left" and hint:
        return redact_text(hint, LONGEST_VALUE, given, redactor)
    return did.why(observe=observe) or (redact_text(hint, LONGEST_VALUE, given, redactor) if hint else "")


def _digest(did: Did, given: Any, redactor: Redactor | None) -> str:
    """Of a call that fits, as an executor would know it, should one run it. Keyed (with a `redactor`) where something
    in it is not in the record: who knows all but one short secret must not be able to try values until it fits."""
    call = did.verdict.call
    digest = ""
    if did.verdict.ok and call is not None:
        with suppress(TypeError, ValueError, OverflowError, RecursionError):
            digest = sha256(canonical_json(call.name, given)).hexdigest()
    digest = digest or Written(did.verdict, did.written, did.said if isinstance(did.said, str) else None).digest
    return digest if redactor is None else redactor.keyed(digest.encode())


HEAVY: Final = 250_000
"""Characters of arguments with which a call does not wait for its record as it is: its values are cut there anyway."""


def lighten(did: Did, redactor: Redactor) -> Did:
    """The same with its long values cut, where it is so heavy that others would find no room beside it."""
    verdict = did.verdict
    call = verdict.call or verdict.found
    if max(_length(did.said), _length(call.arguments if call is not None else None)) < HEAVY:
        return did

    def light(one: Call | None) -> Call | None:
        return None if one is None else replace(one, arguments=shorten_value(one.arguments, redactor))

    repairs = tuple(
        replace(one, before=shorten_value(one.before, redactor), after=shorten_value(one.after, redactor))
        for one in verdict.repairs[: MOST_TOLD + 1]
    )
    verdict = replace(verdict, call=light(verdict.call), found=light(verdict.found), unread=None, repairs=repairs)
    return did._replace(said=shorten_value(did.said, redactor), verdict=verdict)


def _length(value: Any, depth: int = 0) -> int:
    """About how long it is: as long as its texts, and the number of everything else."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, (dict, list)) or depth > _DEEPEST:
        return 1
    holder = cast("dict[Any, Any] | list[Any]", value)
    items = holder.values() if isinstance(holder, dict) else holder
    return sum(_length(item, depth + 1) for item in items)


def shorten_value(value: Any, redactor: Redactor) -> Any:
    """The value, where it is much longer than a record keeps with its long texts cut: looking for secrets in a
    megabyte takes longer than an answer should wait. The same object where it is not."""
    if type(value) is str:
        return value if len(value) <= LOOKED_AT else _cut(value, redactor)
    if not isinstance(value, (dict, list)):
        return value
    try:
        size = len(encode_sorted(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return redact_text(render_json(value, LOOKED_AT), LONGEST_VALUE, None, redactor)
    if size <= LOOKED_AT:
        return cast("Any", value)
    smaller = _smaller(value, redactor, 0)
    return smaller if len(encode_sorted(smaller)) <= LOOKED_AT else _cut(encode_sorted(value).decode(), redactor)


def _smaller(value: Any, redactor: Redactor, depth: int) -> Any:
    if type(value) is str:
        return value if len(value) <= LONGEST_VALUE else _cut(value, redactor)
    if not isinstance(value, (dict, list)):
        return value
    holder = cast("dict[Any, Any] | list[Any]", value)
    if depth >= _DEEPEST or len(holder) > _MOST_ITEMS:
        return _cut(encode_sorted(holder).decode(), redactor)
    if isinstance(holder, dict):
        return {key: _smaller(item, redactor, depth + 1) for key, item in holder.items()}
    return [_smaller(item, redactor, depth + 1) for item in holder]


def _cut(text: str, redactor: Redactor) -> str:
    return f"{redact_text(text, LONGEST_VALUE, None, redactor)}… ({len(text)} characters)"
