"""Rule packs: what is known about well-known tools, as data. One TOML file per pack, shipped here or a user's own.

>>> from rightcall.catalog import available_packs, load_pack
>>> "agent-zero" in available_packs()
True
>>> load_pack("agent-zero").tools[0].rules.aliases["command"]
'code'
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from zlib import crc32

from msgspec import MsgspecError, Raw, Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import plain_file
from rightcall.catalog.tool import Pack
from rightcall.errors import PackError

# ── compiled ──
# The shipped packs once more, as JSON that needs no TOML parser: ten times quicker to load, and never trusted alone.
#
# Each entry carries the checksum of the TOML text it was made from; where that differs, the TOML is read. After
# editing a shipped pack, run `python -m rightcall.catalog.packs`.

FILE = os.path.join(os.path.dirname(__file__), "shipped", "compiled.json")


class PackEntry(Struct, frozen=True):
    checksum: str
    pack: Raw
    """Decoded only for the pack that is asked for."""


def lookup(name: str, text: str, file: str | os.PathLike[str] = FILE) -> Pack | None:
    """The pack made from exactly this text; None when there is none, or none that can be read."""
    try:
        with open(file, "rb") as opened:
            entry = json.decode(opened.read(), type=dict[str, PackEntry]).get(name)
        if entry is not None and entry.checksum == checksum_of(text):
            return json.decode(entry.pack, type=Pack)
    except (OSError, MsgspecError):
        return None  # only a quicker way to the same thing
    return None


def checksum_of(text: str) -> str:
    """Tells an edited text from the one that was compiled; nothing here guards against malice, so it may be cheap."""
    raw = text.encode()
    return f"{len(raw)}:{crc32(raw):08x}"


_HOME = os.path.join(os.path.dirname(__file__), "shipped")


def available_packs() -> tuple[str, ...]:
    """The names of the packs that ship with RightCall, in order; nothing is read."""
    return tuple(sorted(name.removesuffix(".toml") for name in os.listdir(_HOME) if name.endswith(".toml")))


_FEW = 20
"""Tools whose names are looked for in a pack's text."""


def packs_about(tools: Collection[str]) -> Iterator[str]:
    """The names of shipped packs that may say something of these tools. Of a few tools only those packs whose text has
    one of the names: to look for a name is quicker than to read a pack."""
    for name in available_packs():
        text: str | None = None
        if len(tools) <= _FEW:
            with (
                suppress(OSError, UnicodeDecodeError),
                open(os.path.join(_HOME, f"{name}.toml"), encoding="utf-8") as file,
            ):
                text = file.read()
        if text is None or any(tool in text for tool in tools):
            yield name


def is_pack_path(name: str) -> bool:
    """Whether `name` is the path of a user's own pack rather than the name of a shipped one."""
    return name.endswith(".toml") or "/" in name or os.sep in name


def load_pack(name_or_path: str | os.PathLike[str]) -> Pack:
    """A shipped pack by name, or a user's own by the path of its TOML file.

    Raises PackError with file and line when there is no such pack or something in it is wrong.
    """
    name = os.fspath(name_or_path)
    if is_pack_path(name):
        return read_pack_text(_text(name), name)
    if name not in available_packs():
        from rightcall.catalog.toml import instead

        raise PackError(
            f"unknown pack {name!r}; {instead(name, available_packs())}. "
            "A pack of your own is given by its path, which ends in .toml"
        )
    file = os.path.join(_HOME, f"{name}.toml")
    try:
        with open(file, encoding="utf-8") as opened:
            return _shipped(name, opened.read(), file)
    except (OSError, UnicodeDecodeError):  # read again, for an error that says what is wrong
        return _shipped(name, _text(file), file)


def pack_digests(names: Iterable[object]) -> dict[str, str]:
    """Rule packs by name, each with the digest of its file, for the record."""
    return {
        name: _file_digest(name if is_pack_path(name) else os.path.join(_HOME, f"{name}.toml"))
        for name in dict.fromkeys(os.fspath(one) for one in names if isinstance(one, (str, os.PathLike)))
    }


def _file_digest(path: str) -> str:
    from hashlib import sha256  # late: it loads a cryptographic library

    try:
        with open(path, "rb", opener=plain_file) as file:
            return sha256(file.read()).hexdigest()
    except OSError:  # it was there a moment ago
        return ""


def read_pack_text(text: str, source: str = "pack") -> Pack:
    """A pack from its TOML text. `source` is what errors call it."""
    from rightcall.catalog.rules import read_pack  # late: what ships is compiled, and needs no reader

    return read_pack(text, source)


def _text(file: str) -> str:
    from rightcall.catalog.toml import Source

    return Source.read(file, PackError, "pack").text or ""


@lru_cache(maxsize=16)
def _shipped(name: str, text: str, file: str) -> Pack:
    found = lookup(name, text)
    return read_pack_text(text, file) if found is None else replace(found, source=file)


# ── build ──
# Write `compiled.json` from the shipped packs: `python -m rightcall.catalog.packs`, after each edit of one.


def compiled_packs() -> bytes:
    """What `compiled.json` must hold: one line per pack, so that a change shows as one line."""
    lines: list[bytes] = []
    for name in available_packs():
        with open(os.path.join(_HOME, f"{name}.toml"), encoding="utf-8") as file:
            text = file.read()
        pack = json.encode(read_pack_text(text, f"{name}.toml"))
        lines.append(json.encode(name) + b":" + json.encode(PackEntry(checksum_of(text), Raw(pack))))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    with open(FILE, "wb") as compiled:
        compiled.write(compiled_packs())
