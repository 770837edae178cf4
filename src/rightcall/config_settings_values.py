"""Single values of the policy file's tables, each checked so that no rule can be there without effect:
a denial that could never match is a mistake, not a milder policy."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.globs import GlobFault, check_pattern
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source
from rightcall.text.escape import render_json
from rightcall.text.patterns import is_pattern

Reader = Callable[[Source, KeyPath, Any], Any]
Readers = Mapping[str, Reader]
Record = TypeVar("Record", bound=Struct)

_OTHER_WILDCARDS = re.compile(r"[][{}?]")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def laid_over(source: Source, path: KeyPath, value: Any, readers: Readers, base: Record) -> Record:
    """The record that a table describes: what it names, and `base` for the rest."""
    table = source.table(path, value)
    source.keys(path, table, readers)
    return replace(base, **{key: readers[key](source, (*path, key), item) for key, item in table.items()})


def word(words: Any) -> Reader:
    """One of the words of a Literal."""
    return lambda source, path, value: source.word(path, value, get_args(words))


def words(allowed: Any) -> Reader:
    def read(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
        found = [source.word((*path, at), item, get_args(allowed)) for at, item in enumerate(source.texts(path, value))]
        return tuple(dict.fromkeys(found))

    return read


def whole(least: int, most: int) -> Reader:
    return lambda source, path, value: source.count(path, value, least, most)


def whole_or_none(most: int, why_not_one: str) -> Reader:
    """0 for none, or at least 2, because 1 makes no sense."""

    def read(source: Source, path: KeyPath, value: Any) -> int:
        found = source.count(path, value, 0, most)
        if found == 1:
            raise source.wrong(path, f"1 {why_not_one}; must be 0 for none, or a whole number from 2 to {most}")
        return found

    return read


def number(least: float, most: float) -> Reader:
    def read(source: Source, path: KeyPath, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise source.wrong(path, f"must be a number from {least:g} to {most:g}, not {render_json(value)}")
        return float(value)

    return read


def name(source: Source, path: KeyPath, value: Any) -> str:
    """A name as something can really be called."""
    text = source.text_of(path, value)
    if not text.strip():
        raise source.wrong(path, "must be a name, not an empty text")
    if text != text.strip() or not text.isprintable():
        raise source.wrong(
            path,
            f"{render_json(text)} can match nothing: a name has no blanks around it and no characters "
            "that are not seen",
        )
    return text


def exact_name(source: Source, path: KeyPath, value: Any) -> str:
    """A name where a pattern has no meaning."""
    text = name(source, path, value)
    if is_pattern(text):
        raise source.wrong(path, f"{render_json(text)}: `*` has no meaning here; write one name, as it is")
    return text


def _each(read: Reader) -> Reader:
    """A list of these; one that stands twice counts once."""

    def read_all(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(read(source, (*path, at), item) for at, item in enumerate(source.texts(path, value)))
        )

    return read_all


def _tool_pattern(source: Source, path: KeyPath, value: Any) -> str:
    """The name of a tool, or a pattern with `*`. No tool's name holds a bracket, a brace or a question mark, so who
    writes one wants a pattern that there is not."""
    text = name(source, path, value)
    if _OTHER_WILDCARDS.search(text):
        raise source.wrong(
            path,
            f"{render_json(text)} can match nothing: `*` is the only wildcard in tool names; write each name by itself",
        )
    return text


def _path_pattern(source: Source, path: KeyPath, value: Any) -> str:
    """A pattern below the root, with `/` between its parts."""
    text = name(source, path, value)
    if text.startswith("!"):
        raise source.wrong(
            path, f"{render_json(text)}: there is no `!` here; what is excepted stands in a list of its own"
        )
    fault = _fault_of(text)
    drive = os.name == "nt" and text.partition("/")[0].endswith(":")  # elsewhere a folder may be called so
    if fault is not None or text.startswith("~") or drive:
        why = fault or "a path counts from the root, with `/`"
        raise source.wrong(
            path, f'{render_json(text)} can match nothing: {why}. Examples: "private/**", "**/*.{{pem,key}}"'
        )
    return text


def _fault_of(pattern: str) -> str | None:
    """Why a pattern matches no path at all."""
    if "\\" in pattern:
        return "a path counts from the root, with `/`"
    try:
        check_pattern(pattern)
    except GlobFault as fault:
        said, _, quoting = str(fault).partition("; for the character itself")
        return f"{said}; for the character itself write `[{quoting[-1]}]`" if quoting else said
    return None


def file_path(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if not text.strip() or text.endswith(("/", "\\")) or not text.isprintable():
        raise source.wrong(path, f'must be the path of a file, such as ".rightcall/audit.db", not {render_json(text)}')
    return text


def web_address(example: str) -> Reader:
    """A whole address, such as the example."""

    def read(source: Source, path: KeyPath, value: Any) -> str:
        from urllib.parse import urlsplit  # late: few policies name an address

        text = source.text_of(path, value)
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not text.isprintable() or " " in text:
            raise source.wrong(path, f'must be a whole address, such as "{example}"')
        return text

    return read


def header_values(source: Source, path: KeyPath, value: Any) -> dict[str, str]:
    """HTTP headers by name."""
    found = source.text_map(path, value)
    for key, text in found.items():
        if not _HEADER.fullmatch(key) or not text.isascii() or not text.isprintable():
            raise source.wrong((*path, key), "is no HTTP header: a name without blanks, and a value of one line")
    return found


def by_name(source: Source, path: KeyPath, value: Any) -> dict[str, Any]:
    """A table whose keys are names that somebody chose."""
    return {exact_name(source, (*path, key), key): item for key, item in source.table(path, value).items()}


def flag(source: Source, path: KeyPath, value: Any) -> bool:
    return source.flag(path, value)


patterns = _each(_tool_pattern)
"""Names of tools, or patterns with `*`."""

exact_names = _each(exact_name)
path_patterns = _each(_path_pattern)


def _command_pattern(source: Source, path: KeyPath, value: Any) -> str:
    """A pattern over the words of a command."""
    from rightcall.commands.patterns import compiled  # late: most policies have none

    text = name(source, path, value)
    try:
        compiled(text)
    except ValueError as fault:
        raise source.wrong(path, f"{render_json(text)} {fault}") from None
    return text


def _url_pattern(source: Source, path: KeyPath, value: Any) -> str:
    """An address, or a part of one, with `*`."""
    from rightcall.commands.urls import compiled_url  # late: as above

    text = name(source, path, value)
    try:
        compiled_url(text)
    except ValueError as fault:
        raise source.wrong(path, f"{render_json(text)} {fault}") from None
    return text


command_patterns = _each(_command_pattern)
url_patterns = _each(_url_pattern)
