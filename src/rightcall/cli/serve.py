"""Run RightCall's server: the proxy for models, /health and /metrics, in one process on this machine. Without
--upstream a practice model answers, which breaks its calls on purpose, to show how they are repaired. The MCP
servers of the policy file ([servers.NAME]) are served at /mcp, under the same policy.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.http.answers import HttpError, is_loopback
from rightcall.base.text import escaped
from rightcall.cli.options import (
    SHARED,
    follow_up,
    missing_package,
    number_within,
    policy_file,
    policy_path,
    workers_within,
)
from rightcall.cli.serve_log import Form, Lines, lines_and_log
from rightcall.cli.serving import (
    Assembled,
    Ready,
    Wanted,
    assembled,
    console_of,
    reachable,
    run_parent,
    run_worker,
    say_stopping,
    treatment,
)
from rightcall.cli.terminal import Style, program, say, style_for
from rightcall.errors import ConfigError
from rightcall.gate.records import json_text
from rightcall.policy.watch import PolicyInForce
from rightcall.record.premises import store_path

if TYPE_CHECKING:
    from concurrent.futures import Future


PORT = 4141
TOKEN = "RIGHTCALL_TOKEN"
"""The environment variable with the token that clients must know."""

MOST_TRIES = 10
MOST_WORKERS = 128


def serving_options(parser: ArgumentParser) -> None:
    """How answers are treated, who may ask, and where."""
    answers = parser.add_argument_group("Answers")
    answers.add_argument(
        "--retry", metavar="N", type=number_within(0, MOST_TRIES), default=0,
        help="Send an invalid call back, at most N times (default: 0, it passes)",
    )  # fmt: skip
    answers.add_argument(
        "--mode", choices=("block", "observe"),
        help="observe: only print what would change (default: the policy's, else block)",
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
    parser.add_argument(
        "--workers", metavar="N|auto", type=_workers, default=1,
        help=f"Serve with N processes, {MOST_WORKERS} at most; auto: one for each core (default: 1)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="Do not print calls")
    parser.add_argument("--json", action="store_true", help="Print address, token and each line of the log as JSON")
    parser.set_defaults(store=None)  # the server's is where policy and root say; other commands' code asks for it


def _workers(text: str) -> int:
    count = workers_within(MOST_WORKERS)(text)
    if count > 1 and os.name != "posix":
        if text == "auto":
            return 1
        raise ArgumentTypeError("this system has one worker only: processes cannot share a socket here")
    return count


def serve_upstream(
    options: Namespace, url: str, tell: Callable[[str, str | None, Style], list[str]], *, gateway: bool = False
) -> int:
    """Serves until it is stopped. `tell` makes the lines for people, of the address and the token; `gateway` also joins
    the MCP servers of the policy, where it has any. An upstream that the user named is asked whether it is there."""
    try:
        from rightcall.server.access import Access, new_token
        from rightcall.server.whereabouts import announced
        from rightcall.server.workers.seat import CHANNEL
    except ImportError as missing:
        raise missing_package(missing) from missing
    from rightcall.cli.trust import offer_trust

    form = Form(style_for(sys.stderr), timed=True, as_json=options.json)
    channel = os.environ.pop(CHANNEL, None)
    if channel is not None:
        with lines_and_log(sys.stderr, form) as lines:
            return run_worker(options, int(channel), lines, gateway=gateway)
    offer_trust(options)
    policy = PolicyInForce(policy_file(options), os.path.join(options.root, POLICY_FILE))
    _refuse_itself(options, url)  # what is wrong is said before anything is opened
    token = None if options.no_auth else os.environ.get(TOKEN) or new_token()
    access = Access(token, bound_to=options.host, host_names=options.allow_host, origins=options.allow_origin)
    treatment(options, policy.current)
    database = store_path(policy.current, policy_path(options), options.root)
    with lines_and_log(sys.stderr, form) as lines, announced(database) as announce:

        def ready(address: tuple[str, int], console: list[str], *, mcp: bool) -> None:
            announce(_base(*address))
            _ready(options, address, token, tell, console, mcp=mcp)
            if options.upstream is not None:
                check_upstream(url, lines, quiet=options.quiet)

        if options.workers > 1:
            return run_parent(options, (url, token), policy, lines, ready)
        with assembled(options, Wanted(url, gateway), policy, access, lines) as found:
            return _run_alone(options, found, policy, lines, ready)


def _run_alone(options: Namespace, found: Assembled, policy: PolicyInForce, lines: Lines, ready: Ready) -> int:
    """One process for everything."""
    from rightcall.server.app import Told, serve
    from rightcall.server.hooks import hooks_answered

    service, endpoint, _, client = found
    with hooks_answered(policy_file(options)), console_of(options, found, policy, None) as told:

        def begun(host: str, port: int) -> None:
            ready((host, port), told, mcp=endpoint is not None)
            if client is not None:
                client.start(reachable(host), port)

        def stopping(running: int) -> None:
            service.condition.draining = True
            if client is not None:
                client.ask_no_more()
            say_stopping(running, endpoint, lines.say)

        return serve(
            service.app, address=(options.host, options.port), metrics=service.metrics,
            told=Told(begun, stopping, None if endpoint is None else endpoint.drain, service.reload),
        )  # fmt: skip


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
        from rightcall.cli.trust import tell_store

        say(*tell(base, _shown(token), style_for(sys.stdout)))
        say(*tell_store(options))
        if mcp:
            say("MCP clients find the servers of your policy, joined, at the base URL with /mcp instead of /v1.")
        if mcp and options.providers:
            names = " or ".join(escaped(one, 60) for one in options.providers)
            say(f"MCP clients without a token log in with {names}: they use {base}/mcp.")
        say(*console)
    sys.stdout.flush()


def _base(host: str, port: int) -> str:
    host = reachable(host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def base_url(base: str, token: str | None) -> str:
    return base if token is None else f"{base}/{token}"


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
        help="Send requests to the practice model, so that the console has calls",
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
    counts = "They count a second after the file was saved."
    if options.policy is None:  # a file that was found, and not named
        file = "" if options.root == "." else f" {escaped(quote(os.path.join(options.root, POLICY_FILE)))}"
        counts = f"They count once you trust the file ({program()} trust{file}) and start again."
    first = ["1. The models behind it:", "   curl -s $BASE/models"]
    second = "2. A request of your client: the header x-rightcall of the answer says what was done to it"
    if practice:
        first = [
            "1. A request through the proxy; the header x-rightcall says what was done to the answer:",
            f"   curl -si $BASE/chat/completions -H 'content-type: application/json' -d '{_BODY}'",
        ]
        second = f"2. Your own model behind it: {own}"
    return [
        f"RightCall serves {style.tint(base, 'bold')} in front of {model}.",
        f"The base URL for your client{_keep_secret(token)}. Anthropic's and Ollama's clients leave out /v1:",
        f"  BASE={style.tint(f'{url}/v1', 'bold')}",
        "",
        "Three things to try, after pasting that line into a shell:",
        *first,
        second,
        "3. Two lines for your rightcall.toml, so that nothing is changed but everything told:",
        "   [gate.hosts.proxy]",
        '   mode = "observe"',
        f"   {counts}",
        f"What passed is in the audit log: {follow_up('audit tail', options, program())}",
        f"Health is at {base}/health, and metrics: curl ${{BASE%/v1}}/metrics",
        "",
        "Press Ctrl-C to stop.",
    ]


_GIVEN = f"${TOKEN}"


def _shown(token: str | None) -> str | None:
    """What people read of it: a token that was given is known to them, and what is printed may go into a log."""
    return token if token is None or token != os.environ.get(TOKEN) else _GIVEN


def _keep_secret(token: str | None) -> str:
    """The token is printed once, in the base URL: everything else refers to that."""
    if token is None:
        return " (no token is needed: `--no-auth`)"
    return f", with your `{TOKEN}`" if token == _GIVEN else ", with the token that lets it in"


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
