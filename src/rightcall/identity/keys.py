"""The public keys of one identity provider: read from its key set, kept, and looked for again when it has new ones.

    find(kid, algorithm) ─▶ kept? ─▶ the key
                              └ no ─▶ ask the provider, once for all who wait, and not again for a while

A key set is a stranger's document. Only keys that can check a signature are taken, each for the algorithms that its
kind is made for; a secret among them, or a key that is weak or costs too much to use, is left out. A key that is not
in the set any more has been taken back, be it the last one. While the provider cannot be reached, what is known of its
keys counts for a day.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, Final, NamedTuple

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import escaped
from rightcall.errors import IdentityError

log = logging.getLogger("rightcall")

MOST_KEYS: Final = 100
"""Of one provider. The largest ones have about ten."""
LONGEST_ID: Final = 300
FRESH: Final = 600.0
"""Seconds after which the provider is asked again, while what is known still counts: so long a key may count that it
has taken back."""
KEPT: Final = 86_400.0
"""Seconds for which keys count while the provider cannot be reached."""
PAUSE: Final = 30.0
"""Seconds between two questions to the provider: whoever sends tokens with invented keys causes no more than that."""
_LEAST_BITS, _MOST_BITS, _MOST_EXPONENT = 2048, 8192, 1 << 32

Jose = RSAKey | ECKey | OKPKey
_RSA: Final = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
_CURVES: Final = {"P-256": frozenset(("ES256",)), "P-384": frozenset(("ES384",)), "P-521": frozenset(("ES512",))}
_EDWARDS: Final = {"Ed25519": frozenset(("EdDSA", "Ed25519"))}
_PARTS: Final = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
"""What is read of a key, by its kind. Certificates and addresses beside it are not looked at."""
_SECRETS: Final = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


class Key(NamedTuple):
    """One key, and what it may check: a token cannot choose another way to use it."""

    id: str
    algorithms: frozenset[str]
    jose: Jose


class Unreachable(IdentityError):
    """The provider's keys are not known, and it cannot be asked for them."""


class Keys:
    """Used within one event loop. `load` asks the provider, and raises IdentityError."""

    def __init__(self, load: Callable[[], Awaitable[Mapping[str, Any]]], now: Callable[[], float] = monotonic) -> None:
        self._load = load
        self.now = now
        self._keys: tuple[Key, ...] = ()
        self._loaded: float | None = None
        self._asked: float | None = None
        self._asking: asyncio.Task[None] | None = None
        self.generation = 0
        """Grows whenever other keys are found: what was decided by the old ones is decided again."""

    @property
    def is_fresh(self) -> bool:
        """Whether the provider was asked lately: what was decided by its keys need not be decided again."""
        return self._loaded is not None and self.now() - self._loaded < FRESH

    @property
    def is_asking(self) -> bool:
        return self._asking is not None and not self._asking.done()

    async def find(self, id: str | None, algorithm: str) -> Key | None:
        """The key that a token names, for the algorithm that it names; None where the provider has no such key. Raises
        Unreachable."""
        age = None if self._loaded is None else self.now() - self._loaded
        if age is None or age >= KEPT:
            await self._ask()
            if self._loaded is None or self.now() - self._loaded >= KEPT:
                raise Unreachable("the identity provider cannot be reached, and its keys are not known")
        elif age >= FRESH:
            self._ask_soon()
        found = choose_key(self._keys, id, algorithm)
        if found is None and await self._ask():
            found = choose_key(self._keys, id, algorithm)
        return found

    async def _ask(self) -> bool:
        """Whether the provider was asked just now; whoever comes meanwhile waits for the same answer."""
        asking = self._ask_soon()
        if asking is None:
            return False
        await asyncio.shield(asking)
        return True

    def _ask_soon(self) -> asyncio.Task[None] | None:
        if self.is_asking:
            return self._asking
        if self._asked is not None and self.now() - self._asked < PAUSE:
            return None
        self._asked = self.now()
        self._asking = asyncio.get_running_loop().create_task(self._take())
        return self._asking

    async def _take(self) -> None:
        try:
            keys = read_keys(await self._load())
        except IdentityError as error:
            log.warning("identity: the keys of the provider could not be read: %s", escaped(str(error), 300))
            return
        if not keys:
            log.warning("identity: the provider publishes no key that can check a signature, so no token of it counts")
        self._loaded = self.now()
        if [(one.id, one.algorithms, one.jose.as_dict()) for one in keys] != [
            (one.id, one.algorithms, one.jose.as_dict()) for one in self._keys
        ]:
            self._keys = keys
            self.generation += 1


def choose_key(keys: tuple[Key, ...], id: str | None, algorithm: str) -> Key | None:
    """The one key of this id that may be used so. A token without an id has a key only where there is no choice."""
    fitting = [one for one in keys if algorithm in one.algorithms and (id is None or one.id == id)]
    return fitting[0] if len(fitting) == 1 else None


def read_keys(document: Mapping[str, Any]) -> tuple[Key, ...]:
    """The keys of a key set that can check a signature, if any. Raises IdentityError for what is no key set."""
    listed: Any = document.get("keys")
    if not is_list(listed) or len(listed) > MOST_KEYS:
        raise IdentityError(f"the key set needs a list of at most {MOST_KEYS} keys")
    return tuple(key for one in listed if is_object(one) and (key := _read_key(one)) is not None)


def _read_key(one: Mapping[str, Any]) -> Key | None:
    kind, use, operations, name = one.get("kty"), one.get("use"), one.get("key_ops"), one.get("kid", "")
    if not isinstance(kind, str) or kind not in _PARTS or any(part in one for part in _SECRETS):
        return None
    if use not in (None, "sig") or not (operations is None or (is_list(operations) and "verify" in operations)):
        return None
    parts = {part: one.get(part) for part in _PARTS[kind]}
    if not isinstance(name, str) or len(name) > LONGEST_ID or not all(_is_short(part) for part in parts.values()):
        return None
    try:
        jose, algorithms = _imported(kind, parts)
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        return None
    own = one.get("alg")
    algorithms = algorithms if own is None else algorithms & {own if isinstance(own, str) else ""}
    return Key(name, algorithms, jose) if algorithms else None


def _imported(kind: str, parts: Mapping[str, Any]) -> tuple[Jose, frozenset[str]]:
    made: Any = {"kty": kind, **parts}
    if kind == "RSA":
        if len(parts["n"]) * 6 < _LEAST_BITS:
            raise ValueError("the modulus is too short")
        rsa = RSAKey.import_key(made)
        numbers = rsa.public_key.public_numbers()
        fits = _LEAST_BITS <= rsa.public_key.key_size <= _MOST_BITS and numbers.e <= _MOST_EXPONENT
        return rsa, _RSA if fits else frozenset()
    if kind == "EC":
        return ECKey.import_key(made), _CURVES.get(parts["crv"], frozenset())
    return OKPKey.import_key(made), _EDWARDS.get(parts["crv"], frozenset())


def _is_short(part: object) -> bool:
    return isinstance(part, str) and 0 < len(part) <= _MOST_BITS // 4
