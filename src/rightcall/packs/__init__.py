"""Rule packs: what is known about well-known tools, as data. One TOML file per pack, shipped here or a user's own.

>>> from rightcall.packs import available_packs, load_pack
>>> "agent-zero" in available_packs()
True
>>> load_pack("agent-zero").tools[0].rules.aliases["command"]
'code'
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from msgspec.structs import replace

from rightcall.errors import PackError
from rightcall.fs.whole import plain_file
from rightcall.packs.compiled import lookup
from rightcall.packs.pack import Pack

__all__ = ["Pack", "available_packs", "is_pack_path", "load_pack", "pack_digests", "read_pack_text"]

_HOME = os.path.dirname(__file__)


def available_packs() -> tuple[str, ...]:
    """The names of the packs that ship with RightCall, in order; nothing is read."""
    return tuple(sorted(name.removesuffix(".toml") for name in os.listdir(_HOME) if name.endswith(".toml")))


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
        from rightcall.packs.source import instead

        raise PackError(
            f"there is no pack {name!r}; {instead(name, available_packs())}. "
            "A pack of your own is given by its path, which ends in .toml"
        )
    file = os.path.join(_HOME, f"{name}.toml")
    return _shipped(name, _text(file), file)


def pack_digests(names: Iterable[object]) -> dict[str, str]:
    """Rule packs by name, each with the digest of its file, for the record."""
    return {
        name: _file_digest(name if is_pack_path(name) else os.path.join(_HOME, f"{name}.toml"))
        for name in dict.fromkeys(os.fspath(one) for one in names if isinstance(one, (str, os.PathLike)))
    }


def _file_digest(path: str) -> str:
    try:
        with open(path, "rb", opener=plain_file) as file:
            return sha256(file.read()).hexdigest()
    except OSError:  # it was there a moment ago
        return ""


def read_pack_text(text: str, source: str = "pack") -> Pack:
    """A pack from its TOML text. `source` is what errors call it."""
    from rightcall.packs.read import read_pack  # late: what ships is compiled, and needs no reader

    return read_pack(text, source)


def _text(file: str) -> str:
    from rightcall.packs.source import Source

    return Source.read(file, PackError, "pack").text or ""


@lru_cache(maxsize=16)
def _shipped(name: str, text: str, file: str) -> Pack:
    found = lookup(name, text)
    return read_pack_text(text, file) if found is None else replace(found, source=file)
