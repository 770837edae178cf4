"""How an MCP server is reached, as far as a door can know: what a person accepted is that server and no other (P-08).

The command or URL, the folder and the names of variables and headers count. Their values do not: a token that is
renewed makes no other server. What people are shown holds no secret; the digest covers everything that counts, under
the key of the store, so that nothing can be guessed from it.
"""

from collections.abc import Iterable, Mapping
from shlex import join

from msgspec import Struct
from msgspec.json import encode

from rightcall.text.redact import Redactor
from rightcall.types_running import Origin


class Way(Struct, frozen=True, omit_defaults=True):
    """What is configured of a server, by whoever starts it or connects to it."""

    command: tuple[str, ...] = ()
    url: str = ""
    cwd: str = ""
    env: tuple[str, ...] = ()
    """Names alone, sorted."""
    headers: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.command or self.url)


def way_of(
    command: Iterable[str] = (), url: str = "", cwd: str = "", env: Iterable[str] = (), headers: Iterable[str] = ()
) -> Way:
    """
    >>> way_of(["npx", "server"], env={"TOKEN": "secret", "HOST": "a"})
    Way(command=('npx', 'server'), url='', cwd='', env=('HOST', 'TOKEN'), headers=())
    """
    return Way(tuple(command), url, cwd, tuple(sorted(env)), tuple(sorted(name.lower() for name in headers)))


def origin_of(server: str, way: Way, redactor: Redactor) -> Origin:
    """`server` is its name, with the door that knows of it: what one door sees of a server is not what another does."""
    return Origin(server, redactor.keyed(encode(way)), encode(_described(way, redactor)).decode())


def _described(way: Way, redactor: Redactor) -> dict[str, object]:
    """As people read it. A secret is replaced by a mark, another one for another secret, so that a change shows."""
    told: dict[str, object] = {}
    if way.command:  # in one piece: whether a word is a secret is told by the word before it
        told["command"] = redactor.text(join(way.command))
    if way.url:
        told["url"] = _shown_url(way.url, redactor)
    if way.cwd:
        told["cwd"] = redactor.text(way.cwd)
    for name, names in (("env", way.env), ("headers", way.headers)):
        if names:
            told[name] = list(names)
    return told


def _shown_url(url: str, redactor: Redactor) -> str:
    """Without the password, and without what the query says: keys are kept there."""
    from urllib.parse import parse_qsl, urlsplit, urlunsplit  # late: `wrap` starts without it

    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        said = parse_qsl(parts.query, keep_blank_values=True) or ([("query", parts.query)] if parts.query else [])
        query = "&".join(f"{name}={redactor.mark(value)}" for name, value in said)
        return redactor.text(urlunsplit((parts.scheme, host, parts.path, "", ""))) + "".join(
            (f" as {redactor.mark(user)}" if at else "", f" with {query}" if query else "")
        )
    except ValueError:  # no address, whatever it is
        return redactor.mark(url)


def way_told(told: Mapping[str, object]) -> Way:
    """What a host says of a server, in a table with `command`, `args`, `url`, `cwd`, as most hosts write it. What is
    not said, or is something else, does not count."""

    def text(name: str) -> str:
        found = told.get(name)
        return found if isinstance(found, str) else ""

    arguments = told.get("args")
    words = [str(one) for one in arguments] if isinstance(arguments, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - a host wrote it
    command = (text("command"), *words) if text("command") else ()
    return Way(command, text("url") or text("httpUrl") or text("tcp"), text("cwd"))
