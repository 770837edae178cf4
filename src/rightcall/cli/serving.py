"""What `rightcall proxy` and `rightcall serve` share: their options, and the server these describe."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rightcall.cli.output import json_text
from rightcall.cli.store_options import POLICY_FILE, policy_file, policy_of
from rightcall.cli.terminal import Style, say, style_for
from rightcall.errors import ConfigError
from rightcall.proxy.report import word_for
from rightcall.text.escape import escaped, shown

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.serve.facts import Facts

PORT = 4141
TOKEN = "RIGHTCALL_TOKEN"
"""The environment variable with the token that clients must know."""

MOST_TRIES = 10
_SHOWN = ("repaired", "lifted", "left")


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


def serve_upstream(options: Namespace, url: str, tell: Callable[[str, str | None, Style], list[str]]) -> int:
    """Serves until it is stopped. `tell` makes the lines for people, of the address and the token."""
    try:
        from rightcall.serve.access import Access, new_token
        from rightcall.serve.addresses import address_of
        from rightcall.serve.assembly import assemble
        from rightcall.serve.recording import open_recording
        from rightcall.serve.running import serve
    except ImportError as missing:
        raise missing_package(missing) from missing
    from rightcall.proxy.options import Options

    policy = policy_of(options)
    options.observe = options.observe or _only_watches(policy)
    address_of(url)  # what is wrong is said before anything is opened
    token = None if options.open else os.environ.get(TOKEN) or new_token()
    access = Access(token, bound_to=options.host, host_names=options.host_name, origins=options.origin)
    treated = Options(options.retry, options.observe, options.teach, options.lift)
    recording = None if options.no_audit else open_recording(policy, policy_file(options), root=options.root)
    service = assemble(
        url, policy, treated, access, provider=options.provider, recording=recording,
        watcher=None if options.quiet else _teller(style_for(sys.stderr)),
    )  # fmt: skip

    def ready(host: str, port: int) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # every address is also this one
        base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if options.json:
            say(json_text({"url": base if token is None else f"{base}/{token}", "address": base, "token": token}))
        else:
            say(*tell(base, token, style_for(sys.stdout)))
        sys.stdout.flush()

    return serve(service.app, host=options.host, port=options.port, on_ready=ready, metrics=service.metrics)


def _only_watches(policy: Policy) -> bool:
    """Whether the policy says of this door what `--observe` says."""
    from rightcall.proxy.gates import HOST

    here = policy.hosts.get(HOST)
    return ((here.mode if here is not None else None) or policy.mode) == "observe"


def missing_package(missing: ImportError) -> Exception:
    """What to say where the extra is not installed; an error of our own stays what it is."""
    name = (missing.name or "").partition(".")[0]
    if name in ("", "rightcall"):
        return missing
    return ConfigError(f"the server needs {name}, which is not installed: pip install 'rightcall[serve]'")


def base_url(base: str, token: str | None) -> str:
    return base if token is None else f"{base}/{token}"


def _teller(style: Style) -> Callable[[Facts], None]:
    """Tells people what was done, one line a call. What a model wrote is escaped."""

    def tell(facts: Facts) -> None:
        lines = [_line(did, facts, style) for did in facts.did if did.fate in _SHOWN]
        if facts.fault and facts.fault != "gone":
            lines.append(f"  {style.tint('upstream', 'red')} {facts.fault}")
        if lines:
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()

    return tell


def _line(did: Any, facts: Facts, style: Style) -> str:
    verdict = did.verdict
    name = escaped(verdict.call.name if verdict.call is not None else did.written, 60)
    tint = "yellow" if did.fate == "left" else "green"
    word = word_for(did, observe=facts.observe)
    if did.fate == "left":
        why = "; ".join(escaped(problem.message, 100) for problem in verdict.problems[:2])
    else:
        why = ", ".join(
            f"{escaped(one.path, 40) or 'call'} {shown(one.before, 40)} → {shown(one.after, 40)}"
            for one in verdict.repairs[:3]
        )
    return f"  {style.tint(word, tint)} {name}  {style.tint(why, 'dim')}".rstrip()


def _tries(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_TRIES:
        raise ArgumentTypeError(f"a number from 0 to {MOST_TRIES}, not {escaped(text, 40)!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"a number from 0 to 65535, not {escaped(text, 40)!r}")
    return int(text)
