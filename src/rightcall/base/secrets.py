"""Which names say that their value is a secret, whatever their case and separators.

    >>> is_secret("DB-Password"), is_secret("max_tokens"), is_secret("nextPageToken")
    (True, False, False)

The tables here are the listed set of promise A-02; docs/reference/audit.md shows them, and a test keeps both the same.

What must not stand in a record is replaced by `[redacted 12hexdigits]`: a digest under the store's own key, so that
equal secrets can be recognised and none can be guessed back.

    >>> hide = Redactor(b"key of the store")
    >>> hide.value({"user": "ann", "password": "hunter2", "days": 3})
    {'user': 'ann', 'password': '[redacted ...]', 'days': 3}
    >>> hide.text("curl -H 'X-Api-Key: hunter2' https://ann:hunter2@example.org")
    "curl -H 'X-Api-Key: [redacted ...]' https://ann:[redacted ...]@example.org"
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, cast

from msgspec.json import encode

from rightcall.base.text import REDACTED, cut_counted, regex, render_json

WHOLE = ("auth", "bearer", "pin", "cvc", "cvv", "x_auth", "basic_auth", "http_auth", "proxy_auth")
"""Secret as a whole name only: `auth` is, `use_auth` and `gpio_pin` are not."""

ENDINGS = (
    "password", "passwords", "passwd", "pwd", "passphrase", "passcode", "pass_phrase", "pass_code",
    "passwort", "kennwort", "contrasena", "senha", "mot_de_passe",
    "db_pass", "database_pass", "user_pass", "smtp_pass", "mail_pass", "email_pass", "ftp_pass", "mysql_pass",
    "postgres_pass", "pg_pass", "redis_pass", "admin_pass", "root_pass", "proxy_pass", "http_pass", "login_pass",
    "store_pass", "key_pass",
    "secret", "secrets", "token", "access_tokens", "refresh_tokens", "auth_tokens", "api_tokens", "bearer_tokens",
    "api_key", "api_keys", "secret_key", "secret_keys", "private_key", "private_keys", "access_key", "access_keys",
    "auth_key", "account_key", "encryption_key", "master_key", "session_key", "shared_key", "signing_key", "ssh_key",
    "storage_key", "subscription_key",
    "authorization", "authorisation", "auth_header", "cookie", "cookies", "credential", "credentials", "creds",
    "jwt", "otp", "one_time_code", "otp_code", "mfa_code", "pin_code", "security_code",
    "recovery_code", "recovery_codes", "backup_code", "backup_codes", "recovery_phrase", "seed_phrase",
)  # fmt: skip
"""Secret at the end of a name, so that `github_token` and `newPassword` are."""

AFTER = (
    "value", "string", "binary", "plain", "plaintext", "hash", "digest", "hex", "base64", "b64", "encoded", "pem",
    "base", "header", "confirm", "confirmation", "repeat", "again",
)  # fmt: skip
"""Words that may follow: `password_confirmation`. Digits may too."""

PLAIN = (
    "page_token", "next_token", "continuation_token", "pagination_token", "paging_token", "cursor_token", "sync_token",
    "skip_token", "resume_token", "max_token", "stop_token", "first_token", "last_token",
    "bos_token", "eos_token", "pad_token", "unk_token", "mask_token", "sep_token", "cls_token", "special_token",
)  # fmt: skip
"""Endings that are no secret all the same: places in a list, and the tokens of a tokenizer."""

QUESTIONS = (
    "is", "has", "use", "uses", "need", "needs", "require", "requires", "want", "wants", "with", "without", "no",
    "show", "hide", "allow", "enable", "disable", "skip", "reset", "change", "generate", "remember", "save", "ask",
)  # fmt: skip
"""A name that begins so may hold a yes or no: `has_password = true` tells nothing. Any other value is hidden."""

MOST = 80
"""Characters of a name that are looked at, from its end."""

_NOISE = regex(r"[\W_]+")


def squashed(name: str) -> str:
    """A name without case, separators and the digits at its end: what is compared."""
    if not name.isascii():
        from unicodedata import normalize  # a lookup table, loaded only when a name needs it

        name = normalize("NFKD", name)  # and with it without accents
    return _NOISE.sub("", name.casefold()).rstrip("0123456789")


_WHOLE = frozenset(map(squashed, WHOLE))
_ENDINGS = tuple(map(squashed, ENDINGS))
_PLAIN = tuple(map(squashed, PLAIN))
_AFTER = tuple(sorted(map(squashed, AFTER), key=len, reverse=True))


def is_secret(name: str) -> bool:
    """Whether the value of this name is hidden."""
    plain = squashed(name[-MOST:])
    if plain in _WHOLE:
        return True
    if _ends(plain):
        return True
    after = next(filter(plain.endswith, _AFTER), "")
    return bool(after) and _ends(plain.removesuffix(after))


def _ends(plain: str) -> bool:
    return plain.endswith(_ENDINGS) and not plain.endswith(_PLAIN)


# ── redaction ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_MOST_NAMES, _LONGEST_NAME = 4096, 100
"""Of names whose answer is remembered."""

_SHORTEST_REPEATED, _MOST_REPEATED = 4, 64
"""Of secrets that are looked for beside the arguments: characters, and how many; with more, all of it is hidden."""

_QUIET = re.compile(r"(?:[A-Za-z0-9_-]{0,14}+[^A-Za-z0-9_=:<-]++)*+[A-Za-z0-9_-]{0,14}+\Z").match
"""Texts without a sign that could give a name a value, and without a word as long as a token: with no option either,
most arguments are so."""

COMMANDS = ("sshpass", "curl", "mysql")
"""Commands that take a password in a short option."""
_OPTION = regex(r"(?<![\w.\-])--?[A-Za-z][\w.\-]*+")

_MOST_LOOKED = 20_000
"""Values in one call that are looked at; of a larger one nothing is shown, since nobody knows what it holds."""
_LONGEST_TEXT, _LOOKED_AT, _MARGIN = 64_000, 24_000, 8_000
"""Characters of a text that is looked at as a whole; of a longer one only the beginning, and what was looked at last
does not count: it may end with half a secret."""

_BARE: frozenset[type] = frozenset((int, bool, float, type(None)))
_FLAT = _BARE | {str}
_MOST_HOLDERS = 200
"""Objects and lists in one value that are looked at in the fast way."""
_TELLING = frozenset(("value", "before", "after", "message"))
"""Fields that can be secret because of what a field beside them says."""


class Redactor:
    """Hides secrets in values and texts. `names` are secret besides the built-in ones. Never raises."""

    def __init__(self, key: bytes, names: Iterable[str] = ()) -> None:
        if not key:
            raise ValueError("key is empty: without one a short secret could be guessed from its digest")
        self._key = key[:64]
        self._own = frozenset(map(squashed, names))
        self._secret: dict[str, bool] = {}
        self._plain: set[Any] = set()
        self._labels: dict[str, str] = {}

    def value(self, thing: Any) -> Any:
        """A copy of a JSON-like value without its secrets; the very same object when there are none."""
        try:
            if type(thing) is str:
                return self.text(thing)
            return thing if self._is_quiet(thing) else self._walked(thing, {})
        except Exception:  # noqa: BLE001  (what is no JSON may do anything when it is touched; then it is not recorded)
            return self._hidden(thing)

    def label(self, text: str) -> str:
        """As `value`, for a text that comes again and again, such as the name of a session: looked at once."""
        known = self._labels.get(text) if type(text) is str else self.value(text)
        if known is None:
            known = self.value(text)
            if len(text) <= _LONGEST_NAME and len(self._labels) < _MOST_NAMES:
                self._labels[text] = known
        return known

    def text(self, text: str) -> str:
        """A text without its secrets; a very long one is cut."""
        if len(text) > _LONGEST_TEXT:
            return f"{self.text(text[:_LOOKED_AT])[:-_MARGIN]}… ({len(text):,} characters)"
        if _QUIET(text) and not self._has_telling_options(text):
            return text
        from rightcall.base.scan import without_secrets  # late: dozens of patterns, which most calls never need

        return without_secrets(text, self.is_secret, self.mark)

    def beside(self, thing: Any, arguments: Any) -> Any:
        """As `value`; and what is secret by its name in a call's arguments is hidden wherever `thing` repeats it: the
        text around the call, the error of a tool that quotes what it was given."""
        try:
            found = self._named(arguments)
            if not found:
                return self.value(thing)
            secrets = sorted(found, key=len, reverse=True)
            if len(secrets) <= _MOST_REPEATED:
                return self._walked(thing, {secret: self.mark(secret) for secret in secrets})
        except Exception:  # noqa: BLE001  (as above)
            pass
        return self._hidden(thing)

    def _hidden(self, thing: Any) -> Any:
        """What is left of a value of which nobody can tell what in it is secret."""
        if type(thing) is dict and len(fields := cast("dict[Any, Any]", thing)) <= _MOST_HOLDERS:
            return {key: self.whole(item) for key, item in fields.items()}
        return self.mark(_type_of(thing))

    def is_secret(self, name: str) -> bool:
        """Whether values of this name are hidden."""
        known = self._secret.get(name)
        if known is None:
            known = is_secret(name) or (bool(self._own) and squashed(name) in self._own)
            if len(name) <= _LONGEST_NAME:
                if len(self._secret) >= _MOST_NAMES:
                    self._secret.clear()
                self._secret[name] = known
        return known

    @staticmethod
    def is_answer(name: str, item: Any) -> bool:
        """A yes or no to a question: `has_password` tells nothing."""
        return isinstance(item, bool) and name[-MOST:].lower().startswith(QUESTIONS)

    def mark(self, secret: str) -> str:
        """What stands for a secret."""
        data = secret.encode("utf-8", "surrogatepass")
        return f"[redacted {blake2b(data, digest_size=6, key=self._key).hexdigest()}]"

    def keyed(self, data: bytes) -> str:
        """A digest that says whether two things are the same, and that nobody can guess back without the key."""
        return f"keyed:{blake2b(data, digest_size=16, key=self._key).hexdigest()}"

    def whole(self, thing: Any) -> str:
        """What stands for a value that is hidden as it is; of one that is no text, for its JSON."""
        if isinstance(thing, str):
            return thing if REDACTED.fullmatch(thing) else self.mark(thing)
        try:
            return self.mark(encode(thing, order="deterministic").decode())
        except Exception:  # noqa: BLE001  (no JSON, or too deep: the digest then only says of what type it was)
            return self.mark(_type_of(thing))

    def _walked(self, thing: Any, repeated: Mapping[str, str]) -> Any:
        from rightcall.base.scan import Walk  # late: as above

        return Walk(self, repeated).clean(thing)

    def _is_quiet(self, thing: Any) -> bool:
        """Whether it is an object that plainly holds no secret; looked at as one text, which is much faster."""
        if type(thing) is not dict:
            return False
        whole = cast("dict[Any, Any]", thing)
        if not self._plain.issuperset(whole) and not self._are_plain(whole):
            return False
        texts: list[str] = []
        inner: list[Any] = []
        for item in whole.values():
            if type(item) is str:
                texts.append(item)
            elif type(item) not in _BARE:
                inner.append(item)
        if inner and not self._are_quiet(inner, texts):
            return False
        joined = "\n".join(texts)
        return _QUIET(joined) is not None and not self._has_telling_options(joined)

    def _has_telling_options(self, text: str) -> bool:
        """Whether a text without signs and long words may hold a secret all the same: behind an option named so, or in
        a command that takes one in a short option."""
        if not _has_options(text):
            return False
        if ">" in text or any(command in text for command in COMMANDS):
            return True
        return any(self.is_secret(option) for option in _OPTION.findall(text))

    def _are_quiet(self, inner: list[Any], texts: list[str]) -> bool:
        """The same for what an object holds; its texts are added to `texts`."""
        for holder in inner:  # which grows meanwhile
            items = self._items(holder)
            if items is None or len(inner) > _MOST_HOLDERS:
                return False
            for item in items:
                if type(item) is str:
                    texts.append(item)
                elif type(item) not in _BARE:
                    inner.append(item)
        return True

    def _items(self, holder: Any) -> Iterable[Any] | None:
        """What a list or an object with plain names holds; None for anything else."""
        if type(holder) is dict:
            names = cast("dict[Any, Any]", holder)
            return names.values() if self._are_plain(names) else None
        if type(holder) is list:
            items = cast("list[Any]", holder)
            is_pair = len(items) == 2 and isinstance(items[0], str) and self.is_secret(items[0])
            return None if is_pair else items
        return None

    def _are_plain(self, holder: dict[Any, Any]) -> bool:
        return all(key in self._plain or self._is_plain(key) for key in holder)

    def _is_plain(self, key: Any) -> bool:
        if type(key) is not str or key in _TELLING or self.is_secret(key) or self.text(key) is not key:
            return False
        if len(key) <= _LONGEST_NAME and len(self._plain) < _MOST_NAMES:
            self._plain.add(key)
        return True

    def _is_flat(self, arguments: dict[Any, Any]) -> bool:
        """Whether no name is secret and no value holds others; the usual case."""
        return self._plain.issuperset(arguments) and _FLAT.issuperset(map(type, arguments.values()))

    def _named(self, arguments: Any) -> set[str]:
        """Every text and number below a name that is secret."""
        found: set[str] = set()
        if type(arguments) is dict and self._is_flat(cast("dict[Any, Any]", arguments)):
            return found
        seen: set[tuple[int, bool]] = set()
        waiting: list[tuple[Any, bool]] = [(arguments, False)]
        looked = 1
        while waiting:
            thing, hidden = waiting.pop()
            if isinstance(thing, (Mapping, list, tuple)):
                if (id(thing), hidden) in seen:  # pyright: ignore[reportUnknownArgumentType] - any object has one
                    continue
                seen.add((id(thing), hidden))  # pyright: ignore[reportUnknownArgumentType] - as above
                looked += len(thing)  # pyright: ignore[reportUnknownArgumentType] - as above
                if looked > _MOST_LOOKED:
                    raise ValueError("too large to be looked through")
            if isinstance(thing, Mapping):
                items = cast("Mapping[Any, Any]", thing).items()
                waiting += [(item, hidden or (isinstance(key, str) and self.is_secret(key))) for key, item in items]
            elif isinstance(thing, (list, tuple)):
                waiting += [(item, hidden) for item in cast("list[Any]", thing)]
            elif hidden and isinstance(thing, (str, int, float)) and not isinstance(thing, bool):
                text = str(thing)
                if len(text) >= _SHORTEST_REPEATED and not REDACTED.fullmatch(text):
                    found.add(text)
        return found


def _has_options(text: str) -> bool:
    return "-" in text and (" -" in text or "--" in text or "\n-" in text or text[0] == "-")


def _type_of(thing: Any) -> str:
    return type(cast("object", thing)).__name__


# ── what was sent ──

_HIDDEN = b"[redacted]"
_SHORTEST_SENT = 8
"""Shorter ones are no secrets, and may be in any text."""
_MOST_SENT = 40


class Sent:
    """The secrets that were sent to one server. It knows them; whoever reads its answers (a model, a client, a record)
    must not, and some servers show the headers of a request.

    >>> sent = Sent()
    >>> sent.note([(b"authorization", b"Bearer s3cret-token"), (b"accept", b"application/json")])
    >>> sent.hide(b'{"headers": ["Bearer s3cret-token", "application/json"]}')
    b'{"headers": ["Bearer [redacted]", "application/json"]}'
    """

    def __init__(self) -> None:
        self._forms: dict[bytes, None] = {}

    def note(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            secret = value.rpartition(b" ")[2] if name == b"authorization" else value
            if secret in self._forms or len(secret) < _SHORTEST_SENT or not is_secret(name.decode("latin-1")):
                continue
            from urllib.parse import quote_from_bytes  # late: once for each token

            written = encode(secret.decode("latin-1"))[1:-1]  # as a message holds it
            quoted = quote_from_bytes(secret, safe="").encode("ascii")
            self._forms |= dict.fromkeys((secret, written, written.replace(b"/", b"\\/"), quoted))
        while len(self._forms) > _MOST_SENT:
            del self._forms[next(iter(self._forms))]

    def hide(self, data: bytes) -> bytes:
        """What a server says, without them."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, _HIDDEN)
        return data


# ── what a record holds ──

LONGEST_VALUE = 2000
"""Characters of a text that a record keeps; its digest covers the whole."""
LONGEST_SUMMARY = 200
"""Characters of the line that a result is summed up in."""


def redact_text(text: str, most: int, arguments: Any, redactor: Redactor) -> str:
    """A text without secrets, and only then cut: half a secret is not known for one. Of a text too long to be looked
    at as a whole, what was looked at last does not count: it may end with such a half."""
    clean: str = redactor.beside(text[: most * 4], arguments)
    return clean[:most] if len(text) <= most * 4 else clean[: -most * 2][:most]


def make_storable(value: Any, *, is_short: bool = False) -> Any:
    """A value that a record can hold: plain JSON, long texts cut. `is_short`: it is known to be JSON, and not long."""
    if is_short:
        return value
    try:
        if len(encode(value)) <= LONGEST_VALUE:
            return value
    except (TypeError, ValueError, OverflowError, RecursionError):
        return render_json(value, LONGEST_VALUE)
    return _cut(value, 0)


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return cut_counted(value, LONGEST_VALUE, "d")
    if isinstance(value, (dict, list)):
        if depth >= 4 or len(value) > 100:  # pyright: ignore[reportUnknownArgumentType] - a model wrote it
            return render_json(value, LONGEST_VALUE)
        if isinstance(value, dict):
            return {key: _cut(item, depth + 1) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        return [_cut(item, depth + 1) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
