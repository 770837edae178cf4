"""Run RightCall's server: the proxy for models, /health and /metrics, in one process on this machine. Without
--upstream a practice model answers, which breaks its calls on purpose, to show how they are repaired. The MCP
servers of the policy file ([servers.NAME]) are served at /mcp, under the same policy.
"""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.http.answers import HttpError, is_loopback
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped
from rightcall.cli.options import (
    SHARED,
    database_of,
    follow_up,
    missing_package,
    number_within,
    places,
    policy_file,
    policy_path,
)
from rightcall.cli.serve_log import Form, Lines, lines_and_log, teller
from rightcall.cli.terminal import Style, say, style_for
from rightcall.errors import ConfigError, StoreError
from rightcall.gate.records import json_text
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Options, watches
from rightcall.record.tables import Store

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rightcall.doctor.traffic import PracticeClient
    from rightcall.executor.door import Door
    from rightcall.policy.watch import PolicyInForce
    from rightcall.server.app import Service
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
        help="Send an invalid call back, at most N times (default: 0, it passes)",
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
    console = parser.add_argument_group("Console")
    console.add_argument("--no-console", action="store_true", help="Do not start the console in the browser")
    parser.add_argument("--quiet", action="store_true", help="Do not print calls")
    parser.add_argument("--json", action="store_true", help="Print address, token and each line of the log as JSON")
    parser.set_defaults(store=None)  # the server's is where policy and root say; other commands' code asks for it


def serve_upstream(
    options: Namespace, url: str, tell: Callable[[str, str | None, Style], list[str]], *, gateway: bool = False
) -> int:
    """Serves until it is stopped. `tell` makes the lines for people, of the address and the token; `gateway` also joins
    the MCP servers of the policy, where it has any. An upstream that the user named is asked whether it is there."""
    try:
        from rightcall.base.telemetry.sdk import start_exporting
        from rightcall.server.access import Access, Callers, new_token
        from rightcall.server.app import Parts, assemble, serve
        from rightcall.server.hooks import hooks_answered
        from rightcall.server.whereabouts import announced
    except ImportError as missing:
        raise missing_package(missing) from missing
    from rightcall.cli.trust import offer_trust
    from rightcall.executor.notices import warn_of_notices
    from rightcall.policy.watch import PolicyInForce
    from rightcall.record.memory import store_path

    offer_trust(options)
    policy = PolicyInForce(policy_file(options))
    _refuse_itself(options, url)  # what is wrong is said before anything is opened
    token = None if options.no_auth else os.environ.get(TOKEN) or new_token()
    access = Access(token, bound_to=options.host, host_names=options.allow_host, origins=options.allow_origin)
    treated = Options(options.retry, options.mode == "observe", options.teach, options.lift)
    options.observe = treated.observe or watches(policy.current)
    form = Form(style_for(sys.stderr), timed=True, as_json=options.json)
    with lines_and_log(sys.stderr, form) as lines, hooks_answered(policy_file(options)):
        recording = _recording(options, policy.current)
        beside = tokens_alone(options) if recording is None else None
        callers = None if beside is None else Callers(beside)
        endpoint = None
        try:
            if gateway and policy.current.servers:
                endpoint = open_endpoint(options, lines.say)
            client = _practice_client(options, recording)
            parts = Parts(
                recording, callers, _watcher(options, lines, _redactor(policy, recording), client), endpoint,
                _own_tools(options, policy.current), ending=None if client is None else client.stop,
            )  # fmt: skip
            service = assemble(url, policy, treated, access, parts, provider=options.provider)
            start_exporting(service.proxy.telemetry)
            if parts.own is None:  # the executor of the others says it by itself
                warn_of_notices(policy.current)
            database = store_path(policy.current, policy_path(options), options.root)
            with _console(options, recording, policy, service) as told, announced(database) as announce:

                def ready(host: str, port: int) -> None:
                    announce(_base(host, port))
                    _ready(options, (host, port), token, tell, told, mcp=endpoint is not None)
                    if client is not None:
                        client.start(_reachable(host), port)
                    if options.upstream is not None:
                        check_upstream(url, lines, quiet=options.quiet)

                return serve(
                    service.app, address=(options.host, options.port), metrics=service.metrics, on_ready=ready,
                    on_stopping=lambda running: _stopping(running, endpoint, lines.say),
                )  # fmt: skip
        finally:
            if recording is not None:
                _stop(recording)
            if beside is not None:
                beside.close()


def _watcher(
    options: Namespace, lines: Lines, redactor: Callable[[], Redactor], client: PracticeClient | None
) -> Callable[[Facts], None] | None:
    """Prints what was done; nothing of the practice client's requests."""
    if options.quiet:
        return None
    watcher = teller(lines, redactor, places(options))
    return watcher if client is None else _without_practice(watcher)


def _own_tools(options: Namespace, policy: Policy) -> OwnTools | None:
    if not options.servers:
        return None
    if not policy.servers:
        raise ConfigError("`--servers`: the policy has no MCP server; add one as [servers.NAME]")
    from rightcall.executor.executor import Executor
    from rightcall.server.own_tools import OwnTools

    store = "memory" if options.no_audit else None
    return OwnTools(Executor.open(options.root, policy_file(options), code=False, store=store))


def _refuse_itself(options: Namespace, url: str) -> None:
    from rightcall.server.addresses import address_of

    upstream = address_of(url)
    here = options.host in ("0.0.0.0", "::") or is_loopback(options.host)
    same_host = upstream.host == options.host or (here and upstream.is_local)
    if same_host and upstream.port == options.port:
        raise ConfigError(
            f"`--upstream` is this server's own address ({upstream.authority}). "
            "Pass the address of the model server, or another `--port`"
        )


def check_upstream(url: str, lines: Lines, *, quiet: bool = False) -> Future[None]:
    """Says whether the upstream answers, as soon as that is known; nothing waits for it."""
    import asyncio

    from rightcall.base.http.client import in_own_thread
    from rightcall.server.addresses import address_of, probe

    def ask() -> None:
        began = monotonic()
        shown = address_of(url).authority
        try:
            status = asyncio.run(probe(url))
        except HttpError as error:
            lines.say(
                f"{shown} {error.fault.describe()}. Start it, or pass another address as `--upstream`; requests fail "
                "until it answers",
                "upstream",
            )
            return
        if status >= 500:
            lines.say(f"{shown} answers with status {status}: it may still be starting", "upstream")
        elif not quiet:
            lines.say(f"{shown} answers ({(monotonic() - began) * 1000:.0f} ms)", "upstream")

    return in_own_thread(ask, "rightcall upstream check")


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


@contextmanager
def _console(
    options: Namespace, recording: Recording | None, policy: PolicyInForce, service: Service
) -> Generator[list[str]]:
    """The console beside the server, on the same store; without an audit there is nothing to show."""
    if recording is None:
        yield []
        return
    from rightcall.cli.console import console_beside

    with console_beside(options, recording.store, policy, service) as told:
        yield told


def _ready(
    options: Namespace, address: tuple[str, int], token: str | None,
    tell: Callable[[str, str | None, Style], list[str]], console: list[str], *, mcp: bool,
) -> None:  # fmt: skip
    base = _base(*address)
    if options.json:
        joined = {"mcp": f"{base_url(base, token)}/mcp"} if mcp else {}
        if console:
            joined["console"] = options.console_address
        say(json_text({"url": base_url(base, token), "address": base, "token": token, **joined}))
    else:
        say(*tell(base, token, style_for(sys.stdout)))
        if mcp:
            say("MCP clients find the servers of your policy, joined, at the base URL with /mcp instead of /v1.")
        say(*console)
    sys.stdout.flush()


def _base(host: str, port: int) -> str:
    host = _reachable(host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # every address is also this one


def _practice_client(options: Namespace, recording: Recording | None) -> PracticeClient | None:
    if recording is None or not getattr(options, "practice", False):
        return None
    from rightcall.doctor.traffic import PracticeClient

    return PracticeClient(recording.store, options.root)


def _without_practice(tell: Callable[[Facts], None]) -> Callable[[Facts], None]:
    """The calls of the practice client are in the console: here they would push its link off the screen."""
    from rightcall.doctor.traffic import CALLER

    return lambda facts: None if facts.caller == CALLER else tell(facts)


def _stopping(running: int, endpoint: Endpoint | None, tell: Callable[[str], None]) -> None:
    if endpoint is not None:
        endpoint.stop()  # its streams would never finish by themselves
    tell(f"finishing {running} request{'' if running == 1 else 's'}; Ctrl-C again ends at once")


def _stop(recording: Recording) -> None:
    """Where the server was ended at once, it has not been stopped yet; then little time is left."""
    recording.stop(timeout=1.0)
    if left := recording.state.waiting:
        logging.getLogger("rightcall").error("%d records of calls could not be written before the end", left)


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


# ── the gateway ──
# The MCP gateway as the commands start it: the policy file's servers, its door, and what people are told.


def open_endpoint(options: Namespace, tell: Callable[[str], None]) -> Endpoint:
    """The gateway and its endpoint. Without an audit it remembers in memory only."""
    from rightcall.mcp.gateway.shared import SharedGateway
    from rightcall.mcp.links import open_link
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


EXAMPLES = """\
examples:
  rightcall serve
  rightcall serve --upstream http://localhost:11434
"""

_BODY = """{"model": "rightcall-practice", "messages": [{"role": "user", "content": "Weather in Bern, 3 days?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
          "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}}}]}"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", help="URL of the model server (default: the practice model)")
    parser.add_argument(
        "--practice", action="store_true",
        help="Send requests to the practice model, as caller practice, so that the console has calls to show",
    )  # fmt: skip
    serving_options(parser)


def run(options: Namespace) -> int:
    if options.practice and (options.upstream is not None or options.no_audit):
        other = "--no-audit" if options.upstream is None else "--upstream"
        raise ConfigError(f"`--practice` fills the audit log with calls of the practice model: leave out `{other}`")
    if options.upstream is not None:
        return serve_upstream(
            options,
            options.upstream,
            lambda base, token, style: _describe_start(options, base, token, style),
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
            options, upstream, lambda base, token, style: _describe_start(options, base, token, style), gateway=True
        )


def _describe_start(options: Namespace, base: str, token: str | None, style: Style) -> list[str]:
    practice = options.upstream is None
    url = base_url(base, token)
    model = "the practice model, which breaks its calls on purpose" if practice else "your upstream"
    own = follow_up("serve --upstream http://localhost:11434", options, program())
    if options.practice:
        from rightcall.doctor.traffic import MOST

        return [
            f"RightCall serves {style.tint(base, 'bold')} in front of {model}.",
            f"A practice client sends it requests: 1 in 2 seconds for a minute, then 3 a minute, {MOST} at most.",
            f"  for your client      {style.tint(f'{url}/v1', 'bold')}",
            f"  your own model       {own}",
            f"  what passed          {follow_up('audit tail', options, program())}",
            "Press Ctrl-C to stop.",
            "",
        ]
    file = "" if options.root == "." else f" {escaped(quote(os.path.join(options.root, POLICY_FILE)))}"
    first = (
        f"   curl -si $BASE/chat/completions -H 'content-type: application/json' -d '{_BODY}'"
        if practice
        else "   curl -s $BASE/models"
    )
    return [
        f"RightCall serves {style.tint(base, 'bold')} in front of {model}.",
        f"The base URL for your client{_keep_secret(token)}. Anthropic's and Ollama's clients leave out /v1:",
        f"  BASE={style.tint(f'{url}/v1', 'bold')}",
        "",
        "Three things to try, after pasting that line into a shell:",
        "1. A request through the proxy; the header x-rightcall says what was done to the answer:",
        first,
        f"2. Your own model behind it: {own}",
        "3. Two lines for your rightcall.toml, so that nothing is changed but everything told:",
        "   [gate.hosts.proxy]",
        '   mode = "observe"',
        f"   They count once you trust the file ({program()} trust{file}) and start again.",
        f"What passed is in the audit log: {follow_up('audit tail', options, program())}",
        f"Health is at {base}/health, and metrics: curl ${{BASE%/v1}}/metrics",
        "",
        "Press Ctrl-C to stop.",
    ]


def _keep_secret(token: str | None) -> str:
    """The token is printed once, in the base URL: everything else refers to that."""
    return " (no token is needed: `--no-auth`)" if token is None else ", with the token that lets it in"


HELP_PROXY = """\
Run a proxy that repairs a model's tool calls. Clients change one base URL. The proxy supports OpenAI's chat
completions and Responses, Anthropic's messages and Ollama's chat, with and without streaming; every other path
passes byte for byte. A call that cannot be repaired passes unchanged (`x-rightcall: left=1`), unless `--retry 1`
asks the model again. Keys of the upstream pass through and are never stored."""

EXAMPLES_PROXY = """\
examples:
  rightcall proxy --upstream http://localhost:11434
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
        f"  Anthropic, Ollama        {style.tint(url, 'bold') if token is None else 'the same without /v1'}",
        "Leave everything else in your client as it is, also its key. Press Ctrl-C to stop.",
    ]
