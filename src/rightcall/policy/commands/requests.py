"""What a command asks of a server: HTTP by `curl`, `wget` and `httpie`, calls by gRPC, messages to a broker.

To another machine everything counts that changes or sends something. On this one, where servers are tried out all day,
only what destroys: the method, the path, or what is sent says so."""

import re
from collections.abc import Iterator, Sequence

from rightcall.base.text import regex
from rightcall.policy.commands.network import METHODS, given, named_addresses, reaches_out, sends_credentials
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import RuleHit, Run
from rightcall.policy.commands.urls import Address, parsed
from rightcall.policy.commands.verbs import sql_rules
from rightcall.policy.commands.words import HOLE

_READS = ("", "GET", "HEAD", "OPTIONS", "SEARCH", "QUERY")
_REMOVES = ("DELETE", "PURGE", "BAN")
_SENDING = ("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form",
            "--form-string", "-T", "--upload-file", "--json")  # fmt: skip
_MEANS_ALL = regex(r"/(?:_all|\*|%2a)(?:[/?]|$)|_delete_by_query", re.IGNORECASE)
"""Of a store that is spoken to by its address: all that is in it."""
_ENDS = (
    r"delete|destroy|drop|purge|wipe|nuke|truncate|flush|erase|terminate|teardown|shutdown|remove|reset|revoke|leave"
    r"|factory|rollback"
)
_PATH_ENDS = regex(rf"(?:^|[/_.:-])(?:{_ENDS})(?=$|[/_.:?-])(?!-?password|[-_]?link|[-_]?token)", re.IGNORECASE)
_MUTATION = regex(rf"\bmutation\b[^{{]{{0,300}}\{{\s*(?:\w+\s*:\s*)?(?:{_ENDS})", re.IGNORECASE)
_OVERRIDES = regex(r"method-override\s*:\s*(?:delete|purge)", re.IGNORECASE)


def _asked_of_a_server(
    run: Run, method: str, sends: bool, addresses: Sequence[Address], texts: Sequence[str] = ()
) -> Iterator[RuleHit]:
    """What one request would do, to whichever server."""
    if method in _REMOVES or any(_OVERRIDES.search(one) for one in run.values):
        yield RuleHit("destroys", f"{run.program} {method or 'DELETE'}")
        return
    if method in _READS and not sends:
        return
    path = next((one.path for one in addresses if _MEANS_ALL.search(one.path) or _PATH_ENDS.search(one.path)), "")
    if path:
        yield RuleHit("destroys", f"{run.program} … {path[:60]}")
    said = "\n".join(texts)[:100_000]
    if _MUTATION.search(said):
        yield RuleHit("destroys", f"{run.program} … mutation")
    yield from sql_rules(run.program, said)


def _method_first(operands: Sequence[str]) -> str:
    return operands[0].upper() if operands and operands[0].upper() in METHODS else ""


def curl_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = run.option("-X", "--request")
    method = told.value.upper() if told is not None else ""
    if run.program == "curlie" and not method:
        method = next((one for one in run.values if one in METHODS), "")
    sends = list(given(run, *_SENDING, "--url-query"))
    files = [one for one, value in sends if re.match(r"[^=&]*@", value) and not one.endswith(("-raw", "-string"))]
    asks_only = not files and (run.has("-G", "--get") or all(one == "--url-query" for one, _ in sends))
    sent = bool(sends) and not (asks_only and not method)
    if (method not in _READS[:4] or sent) and reaches_out(run):
        yield RuleHit("publishes", f"curl {(files or [one for one, _ in sends] or [f'-X {method}'])[0]}")
    yield from _asked_of_a_server(
        run, method, sent, named_addresses(run), [*(value for _, value in sends), run.text or ""]
    )
    if any(given(run, "-K", "--config")):
        yield RuleHit("runs", "curl -K", ("-K",))
    if any(_is_away(value) for _, value in given(run, "-x", "--proxy", "--preproxy")):
        yield RuleHit("publishes", "curl --proxy")
    yield from sends_credentials(run)


def _is_away(host: str) -> bool:
    address = parsed(host, "http")
    return address is not None and not address.is_local


def wget_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = run.option("--method")
    method = told.value.upper() if told is not None else ""
    sends = [value for _, value in given(run, "--post-data", "--post-file", "--body-data", "--body-file")]
    if (sends or method not in _READS[:4]) and reaches_out(run):
        yield RuleHit("publishes", "wget --post-data")
    yield from _asked_of_a_server(run, method, bool(sends), named_addresses(run), sends)
    if "askpass" in "".join(value for _, value in given(run, "-e", "--execute")):
        yield RuleHit("runs", "wget -e use_askpass")
    yield from sends_credentials(run)


def httpie_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    operands = [
        word.value for word in run.operands("-a --auth -o --output --session --timeout --proxy -s --style -p --print")
    ]
    method = _method_first(operands)
    items = operands[2:] if method else operands[1:]
    sends = any(re.match(r"[\w.\[\]-]+(?::?=|@)", one) and "==" not in one for one in items)
    sends |= run.redirected or bool(run.fed and not run.has("--ignore-stdin", "-I"))
    if (method not in _READS or sends) and reaches_out(run):
        yield RuleHit("publishes", f"{run.program} {method or 'POST'}")
    yield from _asked_of_a_server(run, method, sends, named_addresses(run), [*items, run.text or ""])
    yield from sends_credentials(run)


def gh_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`gh api` changes what it is told to."""
    if run.values[:1] != ["api"]:
        return
    method = run.option("-X", "--method")
    sends = run.has("-f", "-F", "--field", "--raw-field", "--input")
    if (method is not None and method.value.upper() not in ("GET", "HEAD")) or (sends and method is None):
        yield RuleHit("publishes", f"gh api {'-X ' + method.value if method else '-f'}")


# ── gRPC ──

_GRPC_LOOKS = regex(
    r"(?i:(?:batch)?(?:get|list|describe|search|query|count|check|health|watch|find|read|look|fetch|ping|echo|stream"
    r"|show|view|status|server|has|is|exists|resolve|preview|validate|estimate|hello|say|version))(?![a-z])"
)
_GRPC_ENDS = regex(rf"(?:batch|force|bulk)?(?:{_ENDS})", re.IGNORECASE)
_METHOD = regex(r"[\w.]+[/.](\w+)")


def grpc_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """The name of a method says what it does."""
    words = [one for one in run.values if not one.startswith("-")]
    if any(one in ("list", "describe", "ls", "desc") for one in words):
        return
    names = [found[1] for one in words if (found := _METHOD.fullmatch(one)) and found[1][:1].isupper()]
    at = next((at for at, one in enumerate(words) if one == "call"), -1)
    names += [one.rpartition(".")[2] for one in words[at + 1 : at + 3] if at >= 0 and one[:1].isupper()]
    for name in names:
        if _GRPC_ENDS.match(name):
            yield RuleHit("destroys", f"{run.program} {name}")
            return
        if not _GRPC_LOOKS.match(name) and not _is_here(words):
            yield RuleHit("publishes", f"{run.program} {name}")
            return


def _is_here(words: Sequence[str]) -> bool:
    """Whether a host is named, and each is this machine."""
    hosts = [one for one in words if re.fullmatch(r"(?:\w+://)?(?:[\w.-]+|\[[\da-fA-F:]+\]):\d+(?:/.*)?", one)]
    hosts += [one for one in words if one == "localhost"]
    return bool(hosts) and not any(map(_is_away, hosts))


# ── brokers and sockets ──

_SAYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mosquitto_pub", "kafka-console-producer", "kafka-console-producer.sh", "amqp-publish"), ()),
    **dict.fromkeys(("wscat", "websocat"), ()),
    **dict.fromkeys(("kcat", "kafkacat"), ("-P",)),
    "nats": ("pub", "publish", "req", "request"),
    "mqtt": ("pub", "publish"),
    "rabbitmqadmin": ("publish",),
}  # fmt: skip
"""Programs that send messages, with the words that tell them so."""
_SERVER = ("-h", "--host", "-b", "--broker-list", "--bootstrap-server", "-s", "--server", "-c", "--connect", "-u",
           "--url", "-H")  # fmt: skip


def message_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = _SAYS[run.program]
    if told and set(told).isdisjoint(run.values):
        return
    hosts = [value for _, value in given(run, *_SERVER)] or [one for one in run.values if "://" in one]
    if any(HOLE in one or _is_away(one) for one in hosts):
        yield RuleHit("publishes", f"{run.program} {' '.join(run.values[:3])}".replace(HOLE, "…"))


MESSAGING = frozenset(_SAYS)
