"""What `rightcall proxy` and `rightcall serve` share: their options, and the server these describe."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from rightcall.cli.output import json_text
from rightcall.cli.store_options import database_of, policy_file
from rightcall.cli.terminal import Style, say, style_for
from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import ConfigError, StoreError
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.executor_policy import PolicyInForce
    from rightcall.record.tables import Store
    from rightcall.serve.mcp import Endpoint
    from rightcall.serve.recording import Recording
    from rightcall.text.redact import Redactor

PORT = 4141
TOKEN = "RIGHTCALL_TOKEN"
"""The environment variable with the token that clients must know."""

MOST_TRIES = 10


def serving_options(parser: ArgumentParser) -> None:
    """How answers are treated, who may ask, and where."""
    answers = parser.add_argument_group("what happens to answers")
    answers.add_argument(
        "--retry", metavar="N", type=_tries, default=0,
        help="send a call that cannot be repaired back to the model with a hint, at most N times (default: 0)",
    )  # fmt: skip
    answers.add_argument(
        "--observe", action="store_true", help="change nothing, and tell what would have been done"
    )  # fmt: skip
    answers.add_argument(
        "--teach", choices=("auto", "on", "off"), default="auto",
        help="put the tools into the prompt and read the calls from the text; auto: where a server ignores tools",
    )  # fmt: skip
    answers.add_argument(
        "--lift", choices=("auto", "on", "off"), default="auto",
        help="make native calls of those in the text; auto: except for hosted providers that emit native ones",
    )  # fmt: skip
    answers.add_argument("--provider", metavar="NAME", help="whose repair settings apply (default: by the host)")
    access = parser.add_argument_group("who may ask")
    access.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    access.add_argument("--port", metavar="N", type=_port, default=PORT, help=f"default: {PORT}; 0 takes a free one")
    access.add_argument("--open", action="store_true", help="without a token, for everybody on this machine")
    access.add_argument("--host-name", action="append", default=[], metavar="NAME", help="a further name of this host")
    access.add_argument("--origin", action="append", default=[], metavar="URL", help="a web page that may ask")
    record = parser.add_argument_group("policy and record")
    record.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    record.add_argument("--root", metavar="DIR", default=".", help="where policy and audit are (default: here)")
    record.add_argument("--no-audit", action="store_true", help="keep no record of the calls that pass")
    parser.add_argument("--quiet", action="store_true", help="say nothing of the calls that pass")
    parser.add_argument("--json", action="store_true", help="print address and token as one JSON object")


def serve_upstream(
    options: Namespace, url: str, tell: Callable[[str, str | None, Style], list[str]], *, gateway: bool = False
) -> int:
    """Serves until it is stopped. `tell` makes the lines for people, of the address and the token; `gateway` also joins
    the MCP servers of the policy, where it has any."""
    try:
        from rightcall.serve.access import Access, new_token
        from rightcall.serve.assembly import Parts, assemble
        from rightcall.serve.callers import Callers
        from rightcall.serve.hooks import hooks_answered
        from rightcall.serve.running import serve
    except ImportError as missing:
        raise missing_package(missing) from missing
    from rightcall.cli.serving_lines import lines_and_log
    from rightcall.cli.serving_report import teller
    from rightcall.cli.trust import offer_trust
    from rightcall.executor_policy import PolicyInForce
    from rightcall.proxy.gates import watches
    from rightcall.proxy.options import Options

    offer_trust(options)
    policy = PolicyInForce(policy_file(options))
    _check_upstream(options, url)  # what is wrong is said before anything is opened
    token = None if options.open else os.environ.get(TOKEN) or new_token()
    access = Access(token, bound_to=options.host, host_names=options.host_name, origins=options.origin)
    treated = Options(options.retry, options.observe, options.teach, options.lift)
    options.observe = options.observe or watches(policy.current)
    with lines_and_log(sys.stderr) as lines, hooks_answered(policy_file(options)):
        recording = _recording(options, policy.current)
        beside = tokens_alone(options) if recording is None else None
        callers = None if beside is None else Callers(beside)
        endpoint = None
        try:
            if gateway and policy.current.servers:
                from rightcall.cli.serving_mcp import open_endpoint

                endpoint = open_endpoint(options, lines.say)
            watcher = None if options.quiet else teller(lines, style_for(sys.stderr), _redactor(policy, recording))
            parts = Parts(recording, callers, watcher, endpoint)
            service = assemble(url, policy, treated, access, parts, provider=options.provider)
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


def _check_upstream(options: Namespace, url: str) -> None:
    from rightcall.base.http.addresses import is_loopback
    from rightcall.serve.addresses import address_of

    upstream = address_of(url)
    here = options.host in ("0.0.0.0", "::") or is_loopback(options.host)
    same_host = upstream.host == options.host or (here and upstream.is_local)
    if same_host and upstream.port == options.port:
        raise ConfigError(
            f"--upstream: {upstream.authority} is where this server itself listens, so that it would ask itself; "
            "give the model's server's address, or another --port"
        )


def _recording(options: Namespace, policy: Policy) -> Recording | None:
    if options.no_audit:
        return None
    from rightcall.serve.recording import open_recording

    try:
        return open_recording(policy, policy_file(options), root=options.root)
    except StoreError as error:
        why = str(error).removesuffix(" Nothing was run.")
        raise StoreError(f"{why}\n--root DIR keeps the audit elsewhere, --no-audit keeps none", error.fault) from None


def tokens_alone(options: Namespace) -> Store | None:
    """The store, for its tokens, where no audit is kept; None where there is none."""
    options.db = None
    path = database_of(options)
    if not os.path.exists(path):
        return None
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(path)


def _redactor(policy: PolicyInForce, recording: Recording | None) -> Callable[[], Redactor]:
    """The audit's own; without an audit one of the same rules."""
    from rightcall.text.redact import Redactor

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
    tell(_finishing(running))


def _finishing(running: int) -> str:
    return f"finishing {running} request{'' if running == 1 else 's'}; Ctrl-C again ends at once"


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


def _tries(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_TRIES:
        raise ArgumentTypeError(f"a number from 0 to {MOST_TRIES}, not {escaped(text, 40)!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"a number from 0 to 65535, not {escaped(text, 40)!r}")
    return int(text)
