"""Which names say that their value is a secret, whatever their case and separators.

    >>> is_secret("DB-Password"), is_secret("max_tokens"), is_secret("nextPageToken")
    (True, False, False)

The tables here are the listed set of promise A-02; docs/reference/audit.md shows them, and a test keeps both the same.
"""

import re

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

MARK = re.compile(r"\[redacted [0-9a-f]{12}\]")
"""What stands for a value that is hidden."""

_NOISE = re.compile(r"[\W_]+")


def squashed(name: str) -> str:
    """A name without case, separators and the digits at its end: what is compared."""
    if not name.isascii():
        from unicodedata import normalize  # a lookup table, loaded only when a name needs it

        name = normalize("NFKD", name)  # and with it without accents
    return _NOISE.sub("", name.casefold()).rstrip("0123456789")


_WHOLE = frozenset(map(squashed, WHOLE))
_ENDINGS = tuple(map(squashed, ENDINGS))
_PLAIN = tuple(map(squashed, PLAIN))
_AFTER = re.compile("(?:" + "|".join(sorted(map(squashed, AFTER), key=len, reverse=True)) + r")\Z")


def is_secret(name: str) -> bool:
    """Whether the value of this name is hidden."""
    plain = squashed(name[-MOST:])
    if plain in _WHOLE:
        return True
    return _ends(plain) or _ends(_AFTER.sub("", plain, count=1))


def _ends(plain: str) -> bool:
    return plain.endswith(_ENDINGS) and not plain.endswith(_PLAIN)


def asks(name: str) -> bool:
    """Whether the name can be that of a yes or no."""
    return name[-MOST:].lower().startswith(QUESTIONS)
