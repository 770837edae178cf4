"""What calls that do more than read may do: one word for each effect, for everybody, for one caller, for one tool.

    [policy]
    write = "ask"                       # "deny" | "dry-run" | "ask" | "allow"
    [policy.tools."notes/add"]
    write = "allow"

The word of a caller or of a tool takes the place of everybody's, unless that is `deny`: a denial beats every permission
(P-01). Where both have one, the stricter counts. A tool with several effects has the strictest of their words.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.globs import hits, matches
from rightcall.base.text import regex
from rightcall.types import Effect

EffectWord = Literal["allow", "ask", "dry-run", "deny"]
"""`ask`: a person approves each call. `dry-run`: the call is shown and not made."""

EFFECT_WORDS: Final[tuple[EffectWord, ...]] = get_args(EffectWord)
"""From the mildest to the strictest."""

WORDED: Final[tuple[Effect, ...]] = ("write", "execute", "network")
"""The effects that have a word, in the order in which they are told."""

EFFECT_DOES: Final[Mapping[Effect, str]] = MappingProxyType(
    {"read": "read", "write": "write", "execute": "execute", "network": "use the network"}
)
"""As a verb, for sentences."""

_ALWAYS_ASKS = "code/merge"
"""What it changes is everybody's, so that no policy runs it unasked (W-01)."""

_TURNED_ON: Final[Mapping[Effect, frozenset[str]]] = MappingProxyType(
    {
        "write": frozenset(("file/save", "code/create-branch", "code/create-test")),
        "execute": frozenset(("code/execute/python", "code/execute/javascript")),
    }
)
"""Tools that ship with us and that a word turns on by itself. Whoever wants the others names a stage."""


class EffectWords(Struct, frozen=True):
    """What a table of the policy file says; None: nothing."""

    write: EffectWord | None = None
    execute: EffectWord | None = None
    network: EffectWord | None = None


class ToolWord(Struct, frozen=True):
    """One word of `[policy.tools.NAME]`; `tightens`: it counts only where it is the stricter one."""

    pattern: str
    effect: Effect
    word: EffectWord
    tightens: bool = False


class Words(Struct, frozen=True):
    """What holds for one caller."""

    usual: Mapping[Effect, EffectWord]
    """For tools of which nothing else is said."""
    on: frozenset[Effect] = frozenset()
    """Effects that somebody gave a word that turns tools on."""
    tools: tuple[ToolWord, ...] = ()
    naming: bool = True
    """Whether a word for one tool turns that tool on."""


NO_WORDS = EffectWords()


def strictest(*words: EffectWord | None) -> EffectWord | None:
    """
    >>> strictest("ask", None, "allow"), strictest(None)
    ('ask', None)
    """
    stated: list[EffectWord] = [word for word in words if word is not None]
    return max(stated, key=EFFECT_WORDS.index, default=None)


def words_of(
    everybody: EffectWords,
    caller: EffectWords,
    tools: Mapping[str, EffectWords],
    *,
    unset: EffectWord | None,
    least: EffectWords = NO_WORDS,
    least_of_tools: Mapping[str, EffectWords] = MappingProxyType({}),
) -> Words:
    """The words of one caller. `unset` counts for writing and executing where nobody has said anything; `least` only
    makes things stricter."""
    usual: dict[Effect, EffectWord] = {}
    on: set[Effect] = set()
    denied = _denials(everybody)
    for effect in WORDED:
        said = _word(denied, effect) or _word(caller, effect) or _word(everybody, effect)
        word = strictest(said or (unset if effect != "network" else None), _word(least, effect))
        if word is not None:
            usual[effect] = word
        if said not in (None, "deny"):
            on.add(effect)
    return Words(
        MappingProxyType(usual),
        frozenset(on),
        (
            *_tool_words(tools, (denied, caller, least)),
            *_tool_words(least_of_tools, (), tightens=True),
        ),
    )


def _denials(said: EffectWords) -> EffectWords:
    """Only what is denied."""

    def denial(word: EffectWord | None) -> EffectWord | None:
        return word if word == "deny" else None

    return EffectWords(denial(said.write), denial(said.execute), denial(said.network))


def narrow_to(caller: EffectWords, words: Words) -> Words:
    """For a caller with a stage of its own: only its own words turn tools on."""
    own = frozenset[Effect](effect for effect in WORDED if _word(caller, effect) not in (None, "deny"))
    return replace(words, on=own & words.on, naming=False)


def _tool_words(
    tools: Mapping[str, EffectWords], stricter: tuple[EffectWords, ...], *, tightens: bool = False
) -> Iterator[ToolWord]:
    for pattern, words in tools.items():
        for effect in WORDED:
            said = _word(words, effect)
            others: list[EffectWord | None] = [_word(one, effect) for one in stricter]
            word = said and strictest(said, *others)
            if word:
                yield ToolWord(pattern, effect, word, tightens)


def _word(words: EffectWords, effect: Effect) -> EffectWord | None:
    found: EffectWord | None = getattr(words, effect)
    return found


def word_for(
    words: Words, effects: frozenset[Effect], names: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[Effect, EffectWord] | None:
    """The strictest word on a call, and the effect that it is about. `names` are the tool and all that a batch would
    run; `others` are other spellings of them, under which a word can only make it stricter."""
    found: tuple[Effect, EffectWord] | None = None
    for effect in WORDED:
        if effect not in effects:
            continue
        word = words.usual.get(effect)
        if words.tools:
            word = _of_tools(words, effect, names, others)
        if word is not None and (found is None or EFFECT_WORDS.index(word) > EFFECT_WORDS.index(found[1])):
            found = effect, word
    if found is not None and found[1] == "allow" and _ALWAYS_ASKS in names:
        return found[0], "ask"
    return found


def _of_tools(words: Words, effect: Effect, names: tuple[str, ...], others: tuple[str, ...]) -> EffectWord | None:
    """A word replaces the usual one only for exactly the names that it is written for."""
    about = [one for one in words.tools if one.effect == effect]
    each: list[EffectWord | None] = []
    for name in names:
        own: list[EffectWord] = [one.word for one in about if not one.tightens and matches(one.pattern, name)]
        each.append(strictest(*own) or words.usual.get(effect))
    near: list[EffectWord] = [one.word for one in about if any(hits(one.pattern, name) for name in (*names, *others))]
    return strictest(*each, *near)


def turned_on(words: Words, tool: str, effects: frozenset[Effect]) -> Effect | None:
    """The effect whose word permits a tool without any list: everything that the tool does beyond reading has one. What
    executes may use the network as well. None where something has none, or it only reads."""
    wanted: list[Effect] = [effect for effect in WORDED if effect in effects]
    on: list[Effect] = [effect for effect in wanted if effect in words.on or _is_named(words, tool, effect)]
    missing = set(wanted) - set(on) - ({"network"} if "execute" in on else set())
    return on[0] if on and not missing else None


def _is_named(words: Words, tool: str, effect: Effect) -> bool:
    return words.naming and any(
        one.effect == effect and not one.tightens and one.word != "deny" and matches(one.pattern, tool)
        for one in words.tools
    )


def shipped_on(words: Words) -> Mapping[str, str]:
    """Our own tools that the words turn on, each with the rule that permits it."""
    found = {tool: f"allow:{effect}" for effect in WORDED if effect in words.on for tool in _TURNED_ON.get(effect, ())}
    for one in words.tools if words.naming else ():
        if not one.tightens and one.word != "deny" and "*" not in one.pattern:
            found.setdefault(one.pattern, f"allow:{one.effect}")
    return found


# ── the line to add ──
# What a person adds to the policy file so that a call runs. Models are never told: they cannot use it.

_NAME = regex(r"[A-Za-z0-9_./:-]{1,200}")
"""Of a tool, where it can be copied into a policy as it is: no pattern, no quotes."""
_BY_EFFECT = regex(r"(?:approval|deny):(write|execute|network)")


_ASK_OR_ALLOW: Final = '"ask" (a person approves each call) or "allow" (nobody is asked)'
_DENIED: Final = {
    "policy:deny": "take it out of [policy] deny; a denial beats every permission",
    "caller:deny": "take it out of `deny` in the table of its caller, [callers.NAME]; a denial beats every permission",
    "caller:only": "add it to `only` in the table of its caller, [callers.NAME]",
}


def line_to_add(rule: str, tool: str, effects: Iterable[str]) -> str:
    """The words for a person whose call was refused, rehearsed or made to wait by this rule: what to add to the policy,
    or to do; empty where nothing of that is missing.

    >>> line_to_add("dry_run", "save_note", ["write"])
    'add to the policy: [policy] write = "ask" (a person approves each call) or "allow" (nobody is asked)'
    >>> line_to_add("approval:write", "notes/add", ["write"])
    'to run it without asking, add to the policy: [policy.tools."notes/add"] write = "allow"'
    >>> line_to_add("paused", "notes/add", ["write"])
    '`rightcall pause --status` says who paused calls, why, and what ends it'
    >>> line_to_add("policy:deny", "notes/add", ["write"])
    'take it out of [policy] deny; a denial beats every permission'
    >>> line_to_add("approval:full", "notes/add", ["write"])
    'answer what waits (`rightcall approvals list`), or let more wait: [policy.approval] waiting = 50'
    >>> line_to_add("deny:execute", "run_command", [])
    'change what denies it: [policy] execute = "ask" (a person approves each call) or "allow" (nobody is asked)'
    """
    if rule == "definition:changed" and "/" not in tool:  # a function of the program, and no tool of a server
        return "not to be asked when a definition changes, add to the policy: [policy.approval] definitions = false"
    if rule == "paused":
        return "`rightcall pause --status` says who paused calls, why, and what ends it"
    if rule in _DENIED:
        return _DENIED[rule]
    if rule == "approval:full":
        return "answer what waits (`rightcall approvals list`), or let more wait: [policy.approval] waiting = 50"
    named = _BY_EFFECT.fullmatch(rule)
    if named and rule.startswith("deny:"):  # "add" would write the key twice
        return f"change what denies it: [policy] {named[1]} = {_ASK_OR_ALLOW}"
    about: list[str] = [effect for effect in WORDED if effect in effects]
    if not about or not (named or rule in ("dry_run", "allowlist")):
        return ""
    if rule.startswith("approval:"):
        if tool == _ALWAYS_ASKS or not _NAME.fullmatch(tool):
            return ""
        return f"to run it without asking, add to the policy: {_of_tool(tool, about, 'allow')}"
    if rule == "allowlist" and "/" in tool and not any(tool in tools for tools in _TURNED_ON.values()):
        if not _NAME.fullmatch(tool):
            return ""
        line = _of_tool(tool, about, "ask")  # the word for everybody turns on only some tools of ours, and no server's
    else:
        about = [effect for effect in about if effect != "network" or "execute" not in about]
        line = "[policy] " + ", ".join(f'{effect} = "ask"' for effect in about)
    return f'add to the policy: {line} (a person approves each call) or "allow" (nobody is asked)'


def _of_tool(tool: str, effects: list[str], word: EffectWord) -> str:
    return f'[policy.tools."{tool}"] ' + ", ".join(f'{effect} = "{word}"' for effect in effects)
