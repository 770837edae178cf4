"""Reads and checks `[identity]`: whose tokens count, and whom `[identity.map]` makes of those they are about.

    [identity]
    issuer = "https://login.example.org"
    audience = "https://gateway.example.org/mcp"

    [identity.map]                                            # the first line that fits counts
    "group:platform" = { caller = "platform", stage = "limited-write" }
    "claim:email=*@example.org" = { caller = "staff/{email}", may = "look" }

Several providers are several tables `[[identity]]`, each with a map of its own: what one of them says of groups and
claims means nothing for the tokens of another.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.base.http.answers import is_loopback
from rightcall.base.text import regex, render_json
from rightcall.catalog.toml import KeyPath, Source, Table, word
from rightcall.policy.settings import (
    HOSTS,
    Algorithm,
    CallerSettings,
    IdentityRule,
    IdentitySettings,
    Settings,
    StageName,
)
from rightcall.policy.values import Readers, bare_address, each, laid_over, name, number, text_that, whole, words

MOST_PROVIDERS: Final = 8
MOST_RULES: Final = 500
_KINDS: Final = ("group", "scope", "subject", "claim")
_RESERVED: Final = frozenset((*HOSTS, "default"))
"""Callers of ours: whoever came by a token must not be taken for one of them."""
_SCOPE: Final = regex(r"[\x21\x23-\x5B\x5D-\x7E]{1,200}")
_CLAIM: Final = regex(r"[^={}\s\x00-\x1f]{1,200}")
_PER_VALUE: Final = regex(r"([^/{}*]{1,60})/\{([^={}\s]{1,200})\}")
_ONE_CLAIM: Final = regex(r"\{([^={}\s]{1,200})\}")
_VARIABLE: Final = regex(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_EXAMPLE: Final = '"group:platform" = { caller = "platform" }'


def read_identity(source: Source, document: Table) -> tuple[IdentitySettings, ...]:
    """The providers, in the order of the file."""
    value: Any = document.get("identity", ())
    if isinstance(value, Mapping):
        return (_provider(source, ("identity",), source.table(("identity",), value)),)
    if not isinstance(value, list | tuple) or len(value) > MOST_PROVIDERS:  # pyright: ignore[reportUnknownArgumentType]
        raise source.wrong(
            ("identity",), f"must be one table `[identity]`, or up to {MOST_PROVIDERS} tables `[[identity]]`"
        )
    tables: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    found = [_provider(source, ("identity", at), source.table(("identity", at), one)) for at, one in enumerate(tables)]
    for at, one in enumerate(found):
        if any(one.issuer == other.issuer for other in found[:at]):
            raise source.wrong(
                ("identity", at, "issuer"), "is named by another table already: write one table for each issuer"
            )
        if one.resource and one.resource != next(other.resource for other in found if other.resource):
            raise source.wrong(("identity", at, "resource"), "differs from that of another table: the gateway has one")
    return tuple(found)


def with_stages(source: Source, providers: tuple[IdentitySettings, ...], settings: Settings) -> Settings:
    """The settings with the stages that `[identity.map]` gives to its callers: the same as `[callers.NAME]` says it."""
    given: dict[str, StageName] = {}
    for rule in (one for provider in providers for one in provider.map):
        if rule.stage is None:
            continue
        caller = rule.caller.partition("/")[0]
        own = settings.callers.get(caller)
        if given.setdefault(caller, rule.stage) != rule.stage:
            raise source.wrong(("identity",), f"the map gives the caller {render_json(caller)} two stages")
        if own is not None and (own.only is not None or own.stage not in (None, rule.stage)):
            raise source.wrong(
                ("identity",), f"the map gives the caller {render_json(caller)} another stage than [callers.{caller}]"
            )
    own = {name: replace(settings.callers.get(name) or CallerSettings(), stage=one) for name, one in given.items()}
    return replace(settings, callers=MappingProxyType({**settings.callers, **own})) if own else settings


def _provider(source: Source, path: KeyPath, table: Table) -> IdentitySettings:
    for key in ("issuer", "audience"):
        if key not in table:
            raise source.wrong(path, f"needs `{key}`: {_NEEDED[key]}")
    found = laid_over(source, path, table, _IDENTITY, IdentitySettings("", ()))
    if found.client_id and found.client_id in found.audience:
        raise source.wrong(
            (*path, "client_id"),
            "is also the audience: whoever has the ID token of a login could call with it. Give the gateway an "
            "audience of its own at the provider",
        )
    if found.client_secret_env and not found.client_id:
        raise source.wrong((*path, "client_secret_env"), "has no meaning without `client_id`")
    if not found.map:
        raise source.wrong(path, f"needs `[identity.map]`: without it every token is refused. Example: {_EXAMPLE}")
    return found if found.name else replace(found, name=urlsplit(found.issuer).netloc)


def _issuer(source: Source, path: KeyPath, value: Any) -> str:
    """As the provider writes it, to the last slash: it is compared as it is."""
    text: str = bare_address("https://login.example.org")(source, path, value)
    parts = urlsplit(text)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise source.wrong(path, "must begin with https://: whoever can change the keys on their way can be anybody")
    return text


_resource = text_that(
    lambda text: urlsplit(text).path.endswith("/mcp"),
    'must be the address of `/mcp`, such as "https://gateway.example.org/mcp"',
    _issuer,
)


def _texts(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    """One text, or a list of them."""
    given: Any = [value] if isinstance(value, str) else value
    found = tuple(name(source, (*path, at), one) for at, one in enumerate(source.texts(path, given)))
    if not found or any(len(one) > 500 for one in found):
        raise source.wrong(path, 'must be what tokens for this gateway name, such as "https://gateway.example.org/mcp"')
    return tuple(dict.fromkeys(found))


_scopes = each(text_that(_SCOPE.fullmatch, "must be the name of one scope, without blanks, not {}"))


def _login_scopes(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    found = _scopes(source, path, value)
    if "openid" not in found:
        raise source.wrong(path, 'must hold "openid": without it the provider does not say who logged in')
    return found


def _algorithms(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    found = words(Algorithm)(source, path, value)
    if not found:
        raise source.wrong(path, 'must name at least one, such as "RS256"')
    return found


_claim = text_that(_CLAIM.fullmatch, 'must be the name of a claim, such as "groups", not {}')
_variable = text_that(  # the text is not shown: it may be the secret
    _VARIABLE.fullmatch, "must be the name of an environment variable, not the secret itself"
)


# ── the map ──


def _map(source: Source, path: KeyPath, value: Any) -> tuple[IdentityRule, ...]:
    table = source.table(path, value)
    if len(table) > MOST_RULES:
        raise source.wrong(path, f"has more than {MOST_RULES} lines: use groups of the provider")
    found = [_rule(source, (*path, key), key, entry) for key, entry in table.items()]
    anybody = next((at for at, rule in enumerate(found) if rule.match == "any"), len(found) - 1)
    if anybody < len(found) - 1:
        raise source.wrong((*path, "*"), 'must be the last line: the first that fits counts, and "*" fits everybody')
    return tuple(found)


def _rule(source: Source, path: KeyPath, key: str, value: Any) -> IdentityRule:
    kind, colon, rest = key.partition(":")
    if key == "*":
        rule = IdentityRule("any")
    elif kind not in _KINDS or not colon or not rest:
        raise source.wrong(
            path,
            'must begin with "group:", "claim:", "scope:" or "subject:", such as "group:platform" or '
            '"claim:email=*@example.org"; "*" is everybody with a valid token',
        )
    else:
        rule = _matching(source, path, kind, rest)
    rule = laid_over(source, path, value, _RULE, rule)
    entry = source.table(path, value)
    if not rule.caller and not rule.may:
        raise source.wrong(
            path, "needs `caller` (who such tokens call as) or `may` (what such people do in the console)"
        )
    for key_of, needed in (("stage", "caller"), ("person", "may")):
        if key_of in entry and needed not in entry:
            raise source.wrong((*path, key_of), f"has no meaning without `{needed}`")
    return rule


def _matching(source: Source, path: KeyPath, kind: Any, rest: str) -> IdentityRule:
    if rest != rest.strip() or not rest.isprintable() or len(rest) > 500:
        raise source.wrong(path, "can match nothing: it has blanks around it, or characters that cannot be seen")
    if kind != "claim":
        if "*" in rest:
            raise source.wrong(path, f"`*` has no meaning in a {kind}: write each one by itself, or use a claim")
        return IdentityRule(kind, rest)
    claim, equals, value = rest.partition("=")
    if not equals or not value or not _CLAIM.fullmatch(claim):
        raise source.wrong(path, 'must be "claim:NAME=VALUE", such as "claim:department=research"')
    if not value.strip("*"):
        raise source.wrong(path, 'fits everybody who has that claim: write "*" for everybody, or more of the value')
    return IdentityRule("claim", value, claim)


def _called(source: Source, path: KeyPath, value: Any) -> str:
    """A caller's name, or one for each value of a claim behind a name of its own: no claim makes a caller whose name
    is written elsewhere."""
    text = name(source, path, value)
    if "{" in text or "}" in text:
        if not _PER_VALUE.fullmatch(text):
            raise source.wrong(
                path, f'must be "NAME/{{claim}}" for a caller each, such as "staff/{{email}}", not {render_json(text)}'
            )
        text_before = text.partition("/")[0]
    else:
        text_before = text
    if "*" in text or len(text) > 100 or text_before in _RESERVED:
        raise source.wrong(path, f"{render_json(text)} cannot be a caller of tokens: choose another name, without `*`")
    return text


_person = text_that(_ONE_CLAIM.fullmatch, 'must be one claim, such as "{email}" or "{sub}", not {}', name)
_NEEDED: Final = {
    "issuer": 'the provider, as its tokens name it, such as "https://login.example.org"',
    "audience": 'whom tokens for this gateway name, such as "https://gateway.example.org/mcp"',
}
_RULE: Readers = {
    "caller": _called,
    "stage": word(StageName),
    "may": word(Literal["look", "approve"]),
    "person": _person,
}
_IDENTITY: Readers = {
    "issuer": _issuer,
    "audience": _texts,
    "name": name,
    "algorithms": _algorithms,
    "leeway": number(0, 300),
    "scopes": _scopes,
    "groups": _claim,
    "resource": _resource,
    "client_id": name,
    "client_secret_env": _variable,
    "login_scopes": _login_scopes,
    "session": whole(300, 7 * 86_400),
    "map": _map,
}
