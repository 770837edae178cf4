"""Run RightCall's server: the proxy for models, /health and /metrics, in one process on this machine. Without
--upstream a practice model answers, which breaks its calls on purpose, to show how they are repaired. The MCP
servers of the policy file ([servers.NAME]) are served at /mcp, under the same policy.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import SimpleQueue
from time import sleep
from typing import TYPE_CHECKING, Any, TextIO

from rightcall.base.http.answers import is_loopback
from rightcall.base.secrets import Redactor
from rightcall.base.text import REDACTED, escaped, render_json
from rightcall.cli.options import database_of, number_within, policy_file
from rightcall.cli.parser import SHARED
from rightcall.cli.terminal import Style, harmless_lines, json_text, say, style_for
from rightcall.errors import ConfigError, StoreError
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Did, Options, Provenance, notes, watches, word_for
from rightcall.record.tables import Store

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.policy.watch import PolicyInForce
    from rightcall.server.mcp import Endpoint
    from rightcall.server.own_tools import OwnTools
    from rightcall.server.recording import Facts, Recording

PORT = 4141
TOKEN = "RIGHTCALL_TOKEN"
"""The environment variable with the token that clients must know."""

MOST_TRIES = 10


def serving_options(parser: ArgumentParser) -> None:
    """How answers are treated, who may ask, and where."""
    answers = parser.add_argument_group("Answers")
    answers.add_argument(
        "--retry", metavar="N", type=number_within(0, MOST_TRIES), default=0,
        help="Send an invalid call back with a hint, at most N times (default: 0)",
    )  # fmt: skip
    answers.add_argument(
        "--mode", choices=("block", "observe"),
        help="observe: change nothing, print what would change (default: the policy's, else block)",
    )  # fmt: skip
    answers.add_argument(
        "--teach", choices=("auto", "on", "off"), default="auto",
        help="Describe tools in the prompt (auto: if the server ignores tools)",
    )  # fmt: skip
    answers.add_argument(
        "--lift", choices=("auto", "on", "off"), default="auto",
        help="Turn calls in text into native ones (auto: not for hosted providers)",
    )  # fmt: skip
    answers.add_argument(
        "--servers", action="store_true",
        help="Also offer and run the tools of the policy's MCP servers",
    )  # fmt: skip
    answers.add_argument("--provider", metavar="NAME", help=SHARED["--provider"])
    access = parser.add_argument_group("Access")
    access.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="Listen on this address (default: 127.0.0.1)"
    )
    access.add_argument(
        "--port",
        metavar="N",
        type=number_within(0, 65535),
        default=PORT,
        help=f"Listen on this port (default: {PORT}; 0: a free one)",
    )
    access.add_argument(
        "--no-auth", action="store_true", help="Accept requests without a token, from everybody on this machine"
    )
    access.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="Accept requests for this host name"
    )
    access.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="Allow browser requests from this origin"
    )
    record = parser.add_argument_group("Policy and audit log")
    record.add_argument("--policy", metavar="FILE", help=SHARED["--policy"])
    record.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    record.add_argument("--no-audit", action="store_true", help="Do not record calls")
    parser.add_argument("--quiet", action="store_true", help="Do not print calls")
    parser.add_argument("--json", action="store_true", help="Print address and token as one JSON object")


def serve_upstream(
    options: Namespace, url: str, tell: Callable[[str, str | None, Style], list[str]], *, gateway: bool = False
) -> int:
    """Serves until it is stopped. `tell` makes the lines for people, of the address and the token; `gateway` also joins
    the MCP servers of the policy, where it has any."""
    try:
        from rightcall.base.telemetry.sdk import start_exporting
        from rightcall.server.access import Access, Callers, new_token
        from rightcall.server.app import Parts, assemble, serve
        from rightcall.server.hooks import hooks_answered
    except ImportError as missing:
        raise missing_package(missing) from missing
    from rightcall.cli.trust import offer_trust
    from rightcall.policy.watch import PolicyInForce

    offer_trust(options)
    policy = PolicyInForce(policy_file(options))
    _check_upstream(options, url)  # what is wrong is said before anything is opened
    token = None if options.no_auth else os.environ.get(TOKEN) or new_token()
    access = Access(token, bound_to=options.host, host_names=options.allow_host, origins=options.allow_origin)
    treated = Options(options.retry, options.mode == "observe", options.teach, options.lift)
    options.observe = treated.observe or watches(policy.current)
    with lines_and_log(sys.stderr) as lines, hooks_answered(policy_file(options)):
        recording = _recording(options, policy.current)
        beside = tokens_alone(options) if recording is None else None
        callers = None if beside is None else Callers(beside)
        endpoint = None
        try:
            if gateway and policy.current.servers:
                endpoint = open_endpoint(options, lines.say)
            watcher = None if options.quiet else teller(lines, style_for(sys.stderr), _redactor(policy, recording))
            parts = Parts(recording, callers, watcher, endpoint, _own_tools(options, policy.current))
            service = assemble(url, policy, treated, access, parts, provider=options.provider)
            start_exporting(service.proxy.telemetry)
            return serve(
                service.app, address=(options.host, options.port), metrics=service.metrics,
                on_ready=lambda host, port: _ready(options, host, port, token, tell, mcp=endpoint is not None),
                on_stopping=lambda running: _stopping(running, endpoint, lines.say),
            )  # fmt: skip
        finally:
            if recording is not None:
                _stop(recording)
            if beside is not None:
                beside.close()


def _own_tools(options: Namespace, policy: Policy) -> OwnTools | None:
    if not options.servers:
        return None
    if not policy.servers:
        raise ConfigError("`--servers`: the policy has no MCP server; add one as [servers.NAME]")
    from rightcall.executor.executor import Executor
    from rightcall.server.own_tools import OwnTools

    store = "memory" if options.no_audit else None
    return OwnTools(Executor.open(options.root, policy_file(options), code=False, store=store))


def _check_upstream(options: Namespace, url: str) -> None:
    from rightcall.server.addresses import address_of

    upstream = address_of(url)
    here = options.host in ("0.0.0.0", "::") or is_loopback(options.host)
    same_host = upstream.host == options.host or (here and upstream.is_local)
    if same_host and upstream.port == options.port:
        raise ConfigError(
            f"`--upstream` is this server's own address ({upstream.authority}). "
            "Pass the address of the model server, or another `--port`"
        )


def _recording(options: Namespace, policy: Policy) -> Recording | None:
    if options.no_audit:
        return None
    from rightcall.server.recording import open_recording

    try:
        return open_recording(policy, policy_file(options), root=options.root)
    except StoreError as error:
        why = str(error).removesuffix(" Nothing was run.")
        raise StoreError(
            f"{why}\n`--root DIR` stores the audit log elsewhere, `--no-audit` records nothing", error.fault
        ) from None


def tokens_alone(options: Namespace) -> Store | None:
    """The store, for its tokens, where no audit is kept; None where there is none."""
    options.store = None
    path = database_of(options)
    if not os.path.exists(path):
        return None
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(path)


def _redactor(policy: PolicyInForce, recording: Recording | None) -> Callable[[], Redactor]:
    """The audit's own; without an audit one of the same rules."""

    if recording is not None:
        return lambda: recording.redactor
    key = os.urandom(32)
    return lambda: Redactor(key, policy.current.settings.audit.redact)


def _ready(
    options: Namespace, host: str, port: int, token: str | None, tell: Callable[[str, str | None, Style], list[str]],
    *, mcp: bool,
) -> None:  # fmt: skip
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # every address is also this one
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if options.json:
        joined = {"mcp": f"{base_url(base, token)}/mcp"} if mcp else {}
        say(json_text({"url": base_url(base, token), "address": base, "token": token, **joined}))
    else:
        say(*tell(base, token, style_for(sys.stdout)))
        if mcp:
            say(f"MCP clients find the servers of your policy, joined, at {base_url(base, token)}/mcp")
    sys.stdout.flush()


def _stopping(running: int, endpoint: Endpoint | None, tell: Callable[[str], None]) -> None:
    if endpoint is not None:
        endpoint.stop()  # its streams would never finish by themselves
    tell(f"finishing {running} request{'' if running == 1 else 's'}; Ctrl-C again ends at once")


def _stop(recording: Recording) -> None:
    """Where the server was ended at once, it has not been stopped yet; then little time is left."""
    recording.stop(timeout=1.0)
    if left := recording.state.waiting:
        logging.getLogger("rightcall").error("%d records of calls could not be written before the end", left)


def missing_package(missing: ImportError) -> Exception:
    """What to say where the extra is not installed; an error of our own stays what it is."""
    name = (missing.name or "").partition(".")[0]
    if name in ("", "rightcall"):
        return missing
    return ConfigError(f"the server needs {name}, which is not installed: pip install 'rightcall[serve]'")


def base_url(base: str, token: str | None) -> str:
    return base if token is None else f"{base}/{token}"


def program() -> str:
    """How this program was started, for commands that a user can copy: `rightcall`, where that is found."""
    from shutil import which

    started = sys.argv[0]
    if which("rightcall") is not None:
        return "rightcall"
    if os.path.basename(started).startswith("rightcall"):
        return started if os.path.dirname(started) else f"./{started}"
    return f"{sys.executable} -P -m rightcall"


# ── log lines ──
# The lines that a server writes for people, and its log, on standard error.
#
# say ─▶ queue, bounded ─▶ one thread ─▶ the terminal
#
# A terminal that was stopped, or a pipe that nobody reads any more, must hold up no answer: what finds no room is
# counted and left out, and once nobody is there any more nothing is written.

MOST_WAITING = 1000
MOST_BYTES = 16_000_000
"""Of what the lines that wait are made from."""
_ENDING = 1.0
"""Seconds in which what waits is still written at the end."""
_LONGEST_LOG = 80
"""Lines of one entry of the log, the way to an error included."""

Work = Callable[[], str]


class Lines:
    """`say` and `make` never wait and never raise."""

    def __init__(self, stream: TextIO, most: int = MOST_WAITING) -> None:
        self._stream = stream
        self._most = most
        self._queue: SimpleQueue[tuple[Work, int] | None] = SimpleQueue()
        self._bytes = self._left_out = 0
        self._lock = threading.Lock()
        self._gone = False
        self._thread = threading.Thread(target=self._write_all, name="rightcall lines", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        """Leave a line, or several, to be written."""
        self.make(lambda: text, len(text))

    def make(self, work: Work, weight: int) -> None:
        """Leave lines to be made in the thread, and written; `weight` is about how many bytes they are made from."""
        with self._lock:
            if self._gone:
                return
            if self._queue.qsize() >= self._most or self._bytes + weight > MOST_BYTES:
                self._left_out += 1
                return
            self._bytes += weight
        self._queue.put((work, weight))

    def close(self, timeout: float = _ENDING) -> None:
        """Write what waits, for as long as this at most."""
        self._queue.put(None)
        self._thread.join(timeout)

    def _write_all(self) -> None:
        while (found := self._queue.get()) is not None:
            work, weight = found
            self._write(_make_line(work))
            with self._lock:
                self._bytes -= weight
                left_out, self._left_out = self._left_out, 0
            if left_out:
                self._write(f"rightcall: nobody read these lines for a while: {left_out} were left out")

    def _write(self, text: str) -> None:
        if self._gone or not text:
            return
        try:
            self._put(f"{text}\n")
        except (OSError, ValueError):  # the other end, or the stream, is closed
            self._gone = True

    def _put(self, text: str) -> None:
        try:
            number = self._stream.fileno()
        except (OSError, ValueError, AttributeError):
            number = -1
        if number < 0:  # no file behind it, as in tests
            self._stream.write(text)
            self._stream.flush()
        else:  # past Python's own buffer, whose lock would be held, at the end of the program too, while this waits
            _write_to(number, text.encode(self._stream.encoding or "utf-8", "backslashreplace"))


def _make_line(work: Work) -> str:
    try:
        return work()
    except Exception as error:  # noqa: BLE001  a line that cannot be made must not end the others
        return f"rightcall: a line could not be made ({type(error).__name__})"


def _write_to(number: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(number, data) :]
        except BlockingIOError:  # somebody else who has this terminal does not want to wait for it
            sleep(0.05)


class _Log(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines
        self._format = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self._format.format(record).removeprefix("rightcall: ")
        except Exception as error:  # noqa: BLE001  what is wrong with an entry of the log is no reason to fail
            text = f"an entry of the log cannot be read ({type(error).__name__})"
        self._lines.say("\n".join(harmless_lines(f"rightcall: {text}", most=_LONGEST_LOG)))


@contextmanager
def lines_and_log(stream: TextIO) -> Generator[Lines]:
    """Lines to this stream, where the log goes as well for as long as the `with` lasts."""
    lines = Lines(stream)
    handler = _Log(lines)
    loggers = [logging.getLogger(name) for name in ("rightcall", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield lines
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        lines.close()


# ── the gateway ──
# The MCP gateway as the commands start it: the policy file's servers, its door, and what people are told.


def open_endpoint(options: Namespace, tell: Callable[[str], None]) -> Endpoint:
    """The gateway and its endpoint. Without an audit it remembers in memory only."""
    from rightcall.mcp.gateway.shared import SharedGateway
    from rightcall.mcp.upstream.links import open_link
    from rightcall.server.mcp import Endpoint

    return Endpoint(SharedGateway(open_door(options), open_link, news=tell))


def open_door(options: Namespace) -> Door:
    from rightcall.executor.door import Door

    store = "memory" if getattr(options, "no_audit", False) else None
    try:
        return Door.open("gateway", policy_file(options), strict=True, root=options.root, store=store, remote=True)
    except StoreError as error:
        why = str(error).removesuffix(" Nothing was run.")
        raise StoreError(f"{why}\n--root DIR keeps the audit elsewhere", error.fault) from None


# ── the report ──
# What the terminal is told of a request that has passed: one line for each call that something was done about.
#
# The values in it go the way of the audit's: what is secret by its name or its shape is not shown.

_SHOWN = ("repaired", "lifted", "left")
_MOST = 20
"""Calls of one answer that have a line."""

_FAULTS = {
    "internal": "failed in RightCall itself",
    "refused": "refused: it cannot be passed on",
    "paused": "refused: all calls are paused; `rightcall resume` lets them run again",
}
"""Faults that are none of the upstream's."""


def teller(lines: Lines, style: Style, redactor: Callable[[], Redactor]) -> Callable[[Facts], None]:
    """Tells people what was done. `redactor` gives the one of this moment."""
    from rightcall.server.recording import weight_of

    def tell(facts: Facts) -> None:
        did = [one for one in facts.did if one.fate in _SHOWN]
        fault = facts.fault if facts.fault != "gone" else ""
        if did or fault:
            weight = sum(weight_of(one) for one in did[:_MOST])
            first, more, observe = did[:_MOST], len(did) - _MOST, facts.observe
            lines.make(lambda: _render_request(first, more, fault, observe, style, redactor()), weight)

    return tell


def _render_request(did: list[Did], more: int, fault: str, observe: bool, style: Style, redactor: Redactor) -> str:
    told = [_line(one, observe, style, redactor) for one in did]
    if more > 0:
        told.append(f"  … and {more} more calls")
    if fault in _FAULTS:
        told.append(f"  {style.tint('request', 'red')} {_FAULTS[fault]}")
    elif fault:
        told.append(f"  {style.tint('upstream', 'red')} {fault}")
    return "\n".join(told)


def _line(did: Did, observe: bool, style: Style, redactor: Redactor) -> str:
    body = notes([did], redactor, Provenance("", "", ""))[0]
    tint = "yellow" if did.fate == "left" else "green"
    word = word_for(did, observe=observe)
    if did.fate == "left":
        why = "; ".join(escaped(_problem(one), 100) for one in body.problems[:2])
    else:
        why = ", ".join(_change(one) for one in body.repairs[:3])
    return f"  {style.tint(word, tint)} {escaped(body.tool, 60)}  {style.tint(why, 'dim')}".rstrip()


def _problem(problem: dict[str, str]) -> str:
    """Where all of the message is secret, what remains to be said."""
    message = problem["message"]
    return f"{problem['path']}: {problem['code']}" if REDACTED.fullmatch(message) else message


def _change(repair: dict[str, Any]) -> str:
    path = escaped(str(repair["path"]), 40) or "call"
    return f"{path} {render_json(repair['before'], 40)} → {render_json(repair['after'], 40)}"


EXAMPLES = """\
examples:
  rightcall serve
  rightcall serve --upstream http://localhost:11434
  rightcall serve --upstream http://localhost:8080 --policy rightcall.toml --port 0 --json
"""

_BODY = """{"model": "rightcall-practice", "messages": [{"role": "user", "content": "Weather in Bern, 3 days?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
          "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}}}]}"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", help="URL of the model server (default: the practice model)")
    serving_options(parser)


def run(options: Namespace) -> int:
    if options.upstream is not None:
        return serve_upstream(
            options,
            options.upstream,
            lambda base, token, style: _describe_start(base, token, style, False),
            gateway=True,
        )
    try:
        from rightcall.doctor.practice import practice_app
        from rightcall.server.app import running
    except ImportError as missing:
        raise missing_package(missing) from missing
    with running(practice_app()) as (host, port):
        upstream = f"http://{host}:{port}"
        return serve_upstream(
            options, upstream, lambda base, token, style: _describe_start(base, token, style, True), gateway=True
        )


def _describe_start(base: str, token: str | None, style: Style, practice: bool) -> list[str]:
    url = base_url(base, token)
    model = "the practice model, which breaks its calls on purpose" if practice else "your upstream"
    command = program()
    first = (
        f"   curl -si {url}/v1/chat/completions -H 'content-type: application/json' -d '{_BODY}'"
        if practice
        else f"   curl -s {url}/v1/models"
    )
    return [
        f"RightCall serves {style.tint(base, 'bold')} in front of {model}.",
        f"  health   {url}/health",
        f"  metrics  {url}/metrics",
        f"  token    {token or 'none is needed (--no-auth)'}",
        "",
        "Three things to try:",
        "1. A request through the proxy; the header x-rightcall says what was done to the answer:",
        first,
        f"2. The base URL for a client: {style.tint(f'{url}/v1', 'bold')} (Anthropic's and Ollama's: {url})",
        f"   In front of your own model: {command} serve --upstream http://localhost:11434",
        "3. Two lines for rightcall.toml here, so that nothing is changed but everything told:",
        "   [gate.hosts.proxy]",
        '   mode = "observe"',
        f"   They count once you trust the file ({command} trust) and start again.",
        f"   What passed is in the audit: {command} audit tail",
        "",
        "Press Ctrl-C to stop.",
    ]


HELP_PROXY = """\
Run a proxy that repairs a model's tool calls. Clients change one base URL. The proxy supports OpenAI's chat
completions and Responses, Anthropic's messages and Ollama's chat, with and without streaming; every other path
passes byte for byte. Keys of the upstream pass through and are never stored."""

EXAMPLES_PROXY = """\
examples:
  rightcall proxy --upstream http://localhost:11434
  rightcall proxy --upstream http://localhost:8080 --port 4242 --no-auth --retry 1
  rightcall proxy --upstream https://api.anthropic.com --mode observe
"""


def arguments_proxy(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", required=True, help="URL of the model server, with or without /v1")
    serving_options(parser)


def run_proxy(options: Namespace) -> int:
    return serve_upstream(
        options, options.upstream, lambda base, token, style: _describe_addresses(options, base, token, style)
    )


def _describe_addresses(options: Namespace, base: str, token: str | None, style: Style) -> list[str]:
    url = base_url(base, token)
    return [
        f"Proxy listening{' (mode observe: nothing is changed)' if options.observe else ''}. Base URLs:",
        f"  OpenAI and most clients  {style.tint(f'{url}/v1', 'bold')}",
        f"  Anthropic, Ollama        {style.tint(url, 'bold')}",
        "Leave everything else in your client as it is, also its key. Press Ctrl-C to stop.",
    ]
