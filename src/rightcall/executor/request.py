"""From a checked call to the frozen request that the policies judge. What is shown, approved, executed and recorded
are the bytes made here."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import NOWHERE, Unjudged, destinations, follow, names_if_straight, spellings
from rightcall.base.files.rules import UNJUDGED
from rightcall.base.globs import folded
from rightcall.base.json.strict import encode_sorted, values_at
from rightcall.base.text import escaped, regex
from rightcall.catalog.tool import Tool
from rightcall.executor.guesses import judged_arguments, kind_of, may_hold
from rightcall.executor.toolbox import Equipped, Inner, Toolbox, effects_inside, inner_calls, names_judged
from rightcall.policy.decide import is_rehearsed, is_repeatable
from rightcall.policy.types import Decision, Finding, Request, Rights
from rightcall.record.premises import Held, is_moved
from rightcall.types import Effect, Verdict

if TYPE_CHECKING:
    from rightcall.executor.patterns import Ground as Patterned

_BLANK = sha256()
"""To be copied, which takes half as long as a new one."""

MOST_PATHS = 1000
"""In one call: each is resolved while others wait."""


TOO_MANY_PATHS = f"Validation failed: more than {MOST_PATHS} paths in one call"

_MOST_READINGS = 4 * MOST_PATHS
"""Of all its paths together."""


_SHOWN = 200
_DRIVE = regex(r"/*[A-Za-z]:")
_WILD = regex(r"[*?\[{]")
_HIDDEN = regex(r"(?:^|[/,{])\.[*?]")
"""In a pattern: hidden files, whichever are there."""
_MOST_FOLDERS = 64
"""Above a path that are looked at."""


UNREADABLE = Decision("deny", "validation", "Validation failed: the call cannot be read")


class TooManyPaths(ValueError):
    """A call names more paths than can be judged in good time."""


class Tighter(Struct, frozen=True):
    """What the maker of a call wants less of than the policy allows. It never gives more."""

    rehearse: frozenset[Effect] = frozenset()
    """Effects of which no more than a dry run is wanted."""
    ask: frozenset[Effect] = frozenset()
    """Effects for which a person is asked, unless one has said yes in advance."""
    seconds: float | None = None
    """That it may take, besides what a person takes to answer."""


_AS_THE_POLICY_SAYS = Tighter()


class Canonical(Struct, frozen=True):
    """A call as bytes: keys sorted, nothing else changed."""

    raw: bytes
    digest: str
    arguments: dict[str, Any]
    """Read back from the bytes: what runs is what was shown."""


_MOVED = (
    "The project's folder was renamed, removed or replaced while this ran, so no path can be judged. Restart it in the "
    "folder as it is now."
)


class Ground(Struct, frozen=True):
    """Where a call would run."""

    toolbox: Toolbox
    """Knows the tools that a batch would run."""
    root: str
    folders: tuple[str, ...] = ()
    """From which a relative path may count besides the root, for whoever runs the call."""
    above: str = ""
    """The true folder of the policy, where somebody else opens the file and that is not the root: what a link there is
    called counts as well."""
    held: tuple[Held, ...] = ()
    """Its folders as they were when it began: a path in another one of the same name means another file."""
    guesses: bool = False
    """Of a tool that nobody described, arguments that are named like paths count as paths."""
    called: str = ""
    """The tool's name, where nobody knows the tool."""


class Occasion(Struct, frozen=True):
    """When a call is made, within what, and what its maker wants besides."""

    at: int
    approval: str | None = None
    context: str | None = None
    tighter: Tighter = _AS_THE_POLICY_SAYS
    turn: str | None = None


class _Path(Struct, frozen=True):
    written: str
    resolved: str
    """Below the root after every link; outside it stays absolute."""
    linked: bool


def canonical(tool: str, arguments: Mapping[str, Any], folder: str = "") -> Canonical:
    """Raises ValueError or TypeError for what JSON cannot carry. `folder`: where it would run, if not in the root: the
    same words there are another call.

    >>> canonical("add", {"b": 1, "a": 2}).raw
    b'{"arguments":{"a":2,"b":1},"name":"add"}'
    """
    raw = canonical_json(tool, arguments, folder)
    digest = _BLANK.copy()
    digest.update(raw)
    return Canonical(raw, digest.hexdigest(), json.decode(raw)["arguments"])


def canonical_json(tool: str, arguments: Mapping[str, Any], folder: str = "") -> bytes:
    """`Canonical.raw`, whose SHA-256 is the digest of a call."""
    return encode_sorted({"name": tool, "arguments": arguments} | ({"folder": folder} if folder else {}))


def attempt_request(make: Callable[[], Request]) -> Request | Decision:
    """The request, or why there can be none."""
    try:
        return make()
    except TooManyPaths as fault:
        return Decision("deny", "validation", str(fault), "Make several calls instead.")
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        return Decision("deny", "validation", f"Validation failed: the arguments are not valid JSON ({fault})")


def build_request(
    equipped: Equipped, call: Canonical, rights: Rights, verdict: Verdict, ground: Ground, occasion: Occasion
) -> Request:
    """Everything that a decision is made of, apart from the shared tables."""
    toolbox, tighter = ground.toolbox, occasion.tighter
    tool = equipped.tool
    rules = tool.rules
    inner = tuple(inner_calls(toolbox, rules.batch, call.arguments)) if rules.batch is not None else ()
    effects = tool.effects | effects_inside(inner) if inner else tool.effects
    request = Request(
        caller=rights.caller,
        tool=tool.name,
        arguments=call.arguments,
        canonical=call.raw,
        digest=call.digest,
        definition=equipped.definition,
        effects=effects,
        rights=rights,
        at=occasion.at,
        scopes=toolbox.scopes_of(rights, tool.name),
        own=equipped.own is not None,
        called=rules.names,
        repeatable=rules.repeatable or is_repeatable(rights, tool.name),
        asks=tighter.ask,
        rehearse=tighter.rehearse,
        guesses=equipped.guesses,
        truncated=verdict.truncated,
        repaired=bool(verdict.repairs) and verdict.mode != "observe",
        confidence=verdict.confidence,
        outside=equipped.local.outside if equipped.local is not None else (),
        approval=occasion.approval,
        context=occasion.context,
        turn=occasion.turn or "",
    )
    foreign = equipped.local is None or not equipped.local.rooted
    named = rules.paths or rules.patches or inner or (ground.guesses and not tool.is_described)
    by_name = (
        foreign and not tool.is_described and may_hold(call.arguments, ground.called or tool.name)
    )  # ours declare what they take
    judged = inner or rules.commands or rules.urls or by_name
    if named or judged or rules.globs:
        request = _with_places(request, tool, ground, inner, _Sought(foreign, bool(named), bool(judged)))
    guessed = equipped.guesses and (by_name or _may_name_paths(tool))
    if guessed:
        request = _with_guesses(request, equipped, ground)
    if foreign and (guessed or request.paths or request.commanded or rules.globs) and is_moved(ground.held):
        request = replace(request, findings=(Finding("deny", UNJUDGED, _MOVED), *request.findings))
    return replace(request, dry_run=True) if is_rehearsed(request, tighter.rehearse) else request


@lru_cache(1024)
def _may_name_paths(tool: Tool) -> bool:
    """Whether an argument of a function is named like a path; what stands inside others is seen from what is given."""
    named = (kind_of(name) for name in tool.schema.get("properties", ()))
    return bool(tool.schema.get("additionalProperties")) or any(kind not in ("", "command", "code") for kind in named)


def _with_guesses(request: Request, equipped: Equipped, ground: Ground) -> Request:
    """With what the paths in the arguments of a function say that declares none, by the names of the arguments: as at
    a door, what is denied, secret or ours is refused, and all else is the function's affair. It opens them from the
    folder that this process works in."""
    with suppress(FileNotFoundError):
        ground = replace(ground, folders=(os.getcwd(),))
    folders = tuple(dict.fromkeys((ground.root, *ground.folders)))
    base, paths, alone = _paths(_guessed(request.arguments, folders), folders, _Reader(True))
    if not paths:
        return request
    from rightcall.executor.rights import judge_names  # late: most functions declare their paths, or have none

    seen = tuple([(path.written, path.resolved) for path in paths])
    guessed = replace(request, paths=seen, command_paths=(), root=base, alone=alone)
    box = ground.toolbox
    judged = judge_names(equipped, guessed, ground.root, box.guarded, box.policy.write.locked)
    if isinstance(judged, Decision):
        return replace(request, findings=(Finding("deny", judged.rule, judged.reason), *request.findings))
    return replace(
        request, paths=(*request.paths, *judged.paths), findings=judged.findings, root=request.root or base,
        linked=request.linked or any(path.linked for path in paths),
    )  # fmt: skip


class _Reader(Struct, frozen=True):
    """Who opens the files that paths lead to."""

    foreign: bool
    """Somebody else's code, in a host, in a server or in a function. Our own tools take a path as the system does."""
    drives: bool = False
    """A program that may take `C:/x` for a path on a drive; where that is no folder's name."""
    above: str = ""
    """The folder of the policy, in which the names of links count as well."""


class _Sought(Struct, frozen=True):
    """What the arguments of a tool are looked through for."""

    foreign: bool
    """It decides itself where its paths begin."""
    named: bool
    """For paths."""
    judged: bool
    """For commands and addresses."""


def _with_places(request: Request, tool: Tool, ground: Ground, inner: tuple[Inner, ...], sought: _Sought) -> Request:
    """With the paths, commands and addresses in its arguments."""
    toolbox, root, folders, guesses = ground.toolbox, ground.root, ground.folders, ground.guesses
    arguments, rights = request.arguments, request.rights
    base, alone = "", False
    paths: tuple[_Path, ...] = ()
    if sought.named:
        bases = (root, *(one for one in folders if one != root)) if folders else (root,)
        reader = _Reader(sought.foreign, guesses, ground.above)
        places = _places(tool, arguments, inner, bases if guesses else ())
        base, paths, alone = _paths(places, bases, reader, ground.held if sought.foreign else ())
    findings, commanded, visible = (), (), ()
    if sought.judged:
        judged = judged_arguments(tool, arguments, inner, rights, (root, *folders), ground.called)
        findings, commanded, visible = judged.findings, judged.arguments, judged.paths
    wild = {path.written for path in paths if _WILD.search(path.written)} if guesses else ()
    if tool.rules.globs or inner or wild:
        ground_of_patterns = _pattern_ground(root, base, folders, paths)
        findings = (*_globbed(tool, arguments, inner, rights, ground_of_patterns), *findings)
        findings = (*_refused_wildcards(wild, rights, ground_of_patterns), *findings)
    if visible:
        base = base or follow(root)
    return replace(
        request,
        paths=tuple([(path.written, path.resolved) for path in paths]),
        root=base,
        alone=alone,
        linked=any(path.linked for path in paths),
        findings=findings,
        commanded=commanded,
        command_paths=_command_paths(visible, base, ground.above) if visible else (),
        inner=names_judged(toolbox, inner) if inner else (),
    )


def _pattern_ground(root: str, base: str, folders: tuple[str, ...], paths: tuple[_Path, ...]) -> "Patterned":
    from rightcall.executor.patterns import Ground as Patterned  # late: few tools take patterns

    base = base or follow(root)
    starts = dict.fromkeys((".", *(path.resolved for path in paths), *(_below(follow(one), base) for one in folders)))
    return Patterned(root, base, tuple(starts))


def _guessed(arguments: Mapping[str, Any], folders: tuple[str, ...]) -> Iterator[str]:
    """The values that are likely to be paths. An address is one only where a folder is called like its scheme."""
    guess, folder_of = _guesses()

    def is_there(word: str) -> bool:
        with suppress(Unjudged):
            return any(os.path.isfile(os.path.join(folder, one)) for one in spellings(word) for folder in folders)
        return True

    for path in guess(arguments, is_there):
        scheme = folder_of(path)
        if not scheme or any(os.path.lexists(os.path.join(folder, scheme)) for folder in folders):
            yield path


@cache
def _guesses() -> "tuple[Callable[[Mapping[str, Any], Callable[[str], bool]], Iterator[str]], Callable[[str], str]]":
    from rightcall.executor.guesses import address_folder, guessed_paths  # late: as above

    return guessed_paths, address_folder


def _paths(
    written: Iterator[str], folders: tuple[str, ...], reader: _Reader, held: tuple[Held, ...] = ()
) -> tuple[str, tuple[_Path, ...], bool]:
    """Where they lead, after the folder that they are below; and whether no file was seen that has a second name.
    `held`: folders of which it is looked afterwards whether they have moved."""
    root, alone = "", True
    bases: tuple[str, ...] = ()
    found: dict[_Path, None] = {}
    for count, one in enumerate(written, 1):
        names = names_if_straight(folders[0], one, held) if len(folders) == 1 else 0
        alone = alone and names == 1
        if names:
            root = folders[0]
            found[_Path(one, one, False)] = None
        else:
            bases = bases or tuple(dict.fromkeys(map(follow, folders)))  # many calls have no path at all
            found.update(dict.fromkeys(_readings(bases, one, reader)))
        if count > MOST_PATHS or len(found) > _MOST_READINGS:
            raise TooManyPaths(TOO_MANY_PATHS)
    return bases[0] if bases else root, tuple(found), alone


def _command_paths(paths: Iterable[tuple[str, str, bool]], base: str, above: str) -> tuple[tuple[str, str, bool], ...]:
    """The same for those in a command, which stand there from the root of the file system on."""
    reader = _Reader(True, above=above)
    led = (
        (written, one.resolved, writes) for written, whole, writes in paths for one in _readings((base,), whole, reader)
    )
    return tuple(dict.fromkeys(led))


def _places(tool: Tool, arguments: dict[str, Any], inner: Iterable[Inner], folders: tuple[str, ...]) -> Iterator[str]:
    """The paths as they are written, in the call and in the calls within it. `folders`: where those count from that are
    guessed; none: nothing is."""
    for called, given in _calls(tool, arguments, inner) if inner else ((tool, arguments),):
        if folders and not called.rules.paths and not called.is_described:
            yield from _guessed(given, folders)
        for place in called.rules.paths:
            yield from values_at(given, place)
        for place in called.rules.patches:
            yield from _patched(values_at(given, place))


def _patched(texts: list[str]) -> Iterator[str]:
    """The paths in a patch. One that names none ends in a NUL character, so that nothing lets it pass."""
    from rightcall.policy.commands.git import paths_in_patch  # late: few tools take one

    found = [path for text in texts for path in paths_in_patch(text)]
    if found or not any(text.strip() for text in texts):
        yield from found
    else:
        yield f"{texts[-1][:_SHOWN]}\0"


def _globbed(
    tool: Tool, arguments: dict[str, Any], inner: Iterable[Inner], rights: Rights, ground: "Patterned"
) -> Iterator[Finding]:
    """Patterns that mean what the path rules refuse, wherever they may count from."""
    from rightcall.base.files.rules import path_rules  # late: few tools take one
    from rightcall.executor.patterns import pattern_rule

    said = rights.paths
    patterns: dict[tuple[str, bool], None] = {}
    for called, given in _calls(tool, arguments, inner):
        for place in called.rules.globs:  # what is a path as well is read, and not only found
            shown, named = place in called.rules.paths, place == "pattern"  # to look for names shows names alone
            patterns |= dict.fromkeys(
                (pattern, shown or (not named and _HIDDEN.search(pattern) is not None))
                for pattern in values_at(given, place)
            )
    if len(patterns) > MOST_PATHS:
        raise TooManyPaths(TOO_MANY_PATHS)
    rules = path_rules(said.deny, said.allow, said.dotfiles)
    for pattern, shown in patterns:
        rule = pattern_rule(pattern, said, rules, ground, shown=shown)
        if rule is not None:
            yield Finding("deny", rule, f"No such file or folder: {escaped(pattern, 200)}")


def _refused_wildcards(written: Iterable[str], rights: Rights, ground: "Patterned") -> Iterator[Finding]:
    """What is named like a path and has a wildcard, for a tool that takes it for a pattern: `.e*`. To any other it is a
    name, so what is no pattern is left to the rules for names."""
    from rightcall.base.files.rules import path_rules  # late: as above
    from rightcall.executor.patterns import pattern_rule

    said = rights.paths
    rules = path_rules(said.deny, said.allow, said.dotfiles)
    for pattern in written:
        rule = pattern_rule(pattern, said, rules, ground, shown=_NARROW.search(pattern) is not None)
        if rule is not None and rule != UNJUDGED:
            yield Finding("deny", rule, f"No such file or folder: {escaped(pattern, 200)}")


_NARROW = regex(r"(?:\A|[/\\])[^/\\.*?\[{]{3,}[^/\\]*\Z")
"""A pattern whose name begins with a word, so that it means few files: `server.k*`. Those on the disk are looked at."""


def _calls(tool: Tool, arguments: dict[str, Any], inner: Iterable[Inner]) -> Iterator[tuple[Tool, Mapping[str, Any]]]:
    """The call, and the calls within it."""
    yield tool, arguments
    yield from ((known, given) for one in inner for known in one.tools for given in one.arguments)


def _readings(bases: tuple[str, ...], written: str, reader: _Reader) -> Iterator[_Path]:
    """Where a path leads, by every reading of whoever opens it, and what it is called below the root: a link that is
    named like a secret is one. The first base is the root."""
    base, foreign, above = bases[0], reader.foreign, reader.above
    try:
        read = spellings(written) if foreign else (written,)
        if reader.drives and any(":" in one for one in read):
            bare = (one[found.end() :] for one in read if (found := _DRIVE.match(one)) is not None)
            read = dict.fromkeys((*read, *(spelt for one in bare for spelt in spellings(one))))
        if foreign:
            read = (*read, *_from_base(read, bases))
        led = [(one, start, to) for one in read for start in bases for to in destinations(start, one)]
    except Unjudged:
        yield _Path(written, NOWHERE, True)
        return
    top = os.path.join(base, "")
    for one, start, to in led:
        below = _below(to, base)
        whole = os.path.join(start, written)
        linked = to != whole and one == written and os.path.normpath(whole) != to
        yield _Path(written, below.replace(os.sep, "/"), linked)
        if foreign and to is below and folded(to).startswith(folded(top)):  # the root itself, where case says nothing
            yield _Path(written, to[len(top) :].replace(os.sep, "/"), linked)
        named = os.path.normpath(os.path.join(start, one))
        if named != to:
            yield from (_Path(written, name.replace(os.sep, "/"), linked) for name in _names_below(named, base))
            for name in _names_below(named, above) if above else ():
                yield _Path(written, os.path.join(above, name).replace(os.sep, "/"), linked)


def _from_base(read: Iterable[str], bases: tuple[str, ...]) -> Iterator[str]:
    """Whole paths as somebody reads them who joins them to a folder: `/state/x` is `state/x` to `path.join` of Node.
    Where nothing is called like its first name, nothing is there."""
    for one in read:
        if one[:1] == "/" and (bare := one.lstrip("/")):
            first = bare.partition("/")[0]
            if any(os.path.lexists(f"{base}/{first}") for base in bases):
                yield bare


def _names_below(whole: str, base: str) -> Iterator[str]:
    """What a path is called below the root, where links stand before a name, and after it."""
    above, rest = whole, ""
    for _ in range(_MOST_FOLDERS):
        above, last = os.path.split(above)
        rest = os.path.join(last, rest) if rest else last
        at = follow(above)
        if at == NOWHERE:
            yield NOWHERE
            return
        called = os.path.join(at, rest)
        if (name := _below(called, base)) is not called:
            yield name
        if at == above or not last:  # no link stands before this
            return


def _below(whole: str, base: str) -> str:
    """A whole path as seen from the root; as it is where it lies outside."""
    if whole == base:
        return "."
    top = base if base[-1:] == os.sep else base + os.sep
    if os.sep != "/":
        return whole[len(top) :] if os.path.normcase(whole).startswith(os.path.normcase(top)) else whole
    return whole[len(top) :] if whole.startswith(top) else whole
