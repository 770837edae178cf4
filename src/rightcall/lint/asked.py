"""RC710: secrets that a model has to pass as arguments. A key that the server needs belongs into its settings, where no
conversation and no log holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rightcall.gate.repair.words import joined, singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, quote_name, word_set

_SECRETS: Final = word_set(
    "apikey apitoken apisecret accesstoken authtoken bearertoken bearer secretkey accesskey clientsecret privatekey "
    "secret password passphrase passwd otp"
)
_ABOUT: Final = word_set(
    "insert upload smime "
    "create register signup sign signin login log auth authenticate authorize authorise connect reconnect set reset "
    "change update edit rotate store save add put write password passwd user account member profile credential "
    "secret key token encrypt decrypt unlock lock protect unprotect zip unzip archive extract pdf wifi network wlan "
    "join configure config configuration setup init vault import export wallet ssh sftp ftp vpn verify validate "
    "test check otp mfa totp revoke hash generate database db session fill type enter paste open env settings "
    "setting start launch certificate cert provision install restore backup mount share link deploy server host"
)
"""What a tool says that works on secrets, or that opens something with one."""
_OPENS: Final = word_set("host hostname port dsn database db server endpoint url uri ssid path file archive keystore")


def check(tool: ToolView) -> Iterator[Hit]:
    named = {singular(word) for word in words_of(tool.name)}
    beside = {singular(word) for one in tool.top for word in words_of(one.name)}
    if named & _ABOUT or beside & _OPENS:
        return
    for one in tool.top:
        if _is_secret(one):
            yield Hit(
                "RC710",
                f"a model has to pass the secret {quote_name(one.name)}",
                "let the server read it from its own settings",
                one.path,
            )
            return


def _is_secret(argument: Argument) -> bool:
    words = words_of(argument.name)
    ends = {joined("_".join(words[-count:])) for count in (1, 2) if words}
    return (
        argument.kind == "string" and argument.required and bool(ends & _SECRETS) and words[0] not in ("new", "public")
    )
