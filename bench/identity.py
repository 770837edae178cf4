"""What tokens of an identity provider cost: CPU of checking one whose key is known, and of a call at the gateway with
such a token beside one with the server's own. The provider is a thread of this process, which only gives its keys.
"""

import asyncio
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from joserfc import jwk, jwt

from bench.mcp import POLICY, SERVER, gateway, over_http
from bench.proxy_contenders import cpu_of
from bench.table import Figure, micro
from bench.timing import all_cores, best, one_core
from rightcall import load_policy
from rightcall.identity.speakers import Speaker, Speakers
from rightcall.identity.tokens import Claims, Terms, Written, check_token, read_keys, read_token

MOST = 150e-6
MORE = 1.10
ROUNDS = 7
AUDIENCE = "https://gateway.example.org/mcp"
KINDS: dict[str, Callable[[], Any]] = {
    "RS256": lambda: jwk.RSAKey.generate_key(2048),
    "PS256": lambda: jwk.RSAKey.generate_key(2048),
    "ES256": lambda: jwk.ECKey.generate_key("P-256"),
    "Ed25519": lambda: jwk.OKPKey.generate_key("Ed25519"),
}


@contextmanager
def provider(documents: dict[str, Any]) -> Iterator[str]:
    """Its issuer; `documents` are what it publishes, by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(documents.get(self.path, {})).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        issuer = f"http://127.0.0.1:{server.server_address[1]}"
        documents["/.well-known/openid-configuration"] = {"issuer": issuer, "jwks_uri": f"{issuer}/jwks"}
        yield issuer
    finally:
        server.shutdown()


def token_of(kind: str, key: Any, issuer: str) -> str:
    """As large as those of large providers."""
    now = int(time.time())
    claims = {
        "iss": issuer, "aud": AUDIENCE, "sub": "248289761001", "iat": now, "nbf": now, "exp": now + 3600,
        "scope": "openid profile mcp", "email": "anna@example.org", "email_verified": True, "jti": "7f1c2b0e4d",
        "groups": [f"group-{number}" for number in range(20)], "name": "Anna Example", "client_id": "an-mcp-client",
    }  # fmt: skip
    return jwt.encode({"alg": kind, "kid": "key-1", "typ": "at+jwt"}, claims, key, algorithms=[kind])


def checked(kind: str) -> Callable[[], object]:
    """Reading and checking a token whose key is known, with nothing remembered of it."""
    issuer, key = "https://login.example.org", KINDS[kind]()
    token = token_of(kind, key, issuer).encode()
    known = read_keys({"keys": [{**key.as_dict(private=False), "kid": "key-1"}]})[0]
    terms = Terms(issuer, frozenset((AUDIENCE,)), frozenset(KINDS))

    def action() -> None:
        written = read_token(token, terms.algorithms)
        assert isinstance(written, Written)
        assert isinstance(check_token(written, known, terms, time.time()), Claims)

    return action


def remembered(issuer: str, token: str) -> Callable[[], object]:
    """The whole way of a token that a client sends again."""
    table = {"issuer": issuer, "audience": AUDIENCE, "map": {"group:group-7": {"caller": "staff/{email}"}}}
    policy = load_policy({"identity": table})
    speakers = Speakers(lambda: policy)
    assert isinstance(asyncio.run(speakers.of(token.encode())), Speaker)

    def action() -> None:
        assert isinstance(_driven(speakers.of(token.encode())), Speaker)

    return action


def _driven(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits for something")


def recognizing() -> Iterator[Figure]:
    one_core()
    for kind, taken in best({kind: checked(kind) for kind in KINDS}).items():
        yield Figure(f"checking a token, {kind}, key known", micro(taken), "", "", "150 µs", taken <= MOST)
    key = KINDS["RS256"]()
    documents = {"/jwks": {"keys": [{**key.as_dict(private=False), "kid": "key-1"}]}}
    with provider(documents) as issuer:
        token = token_of("RS256", key, issuer)
        taken = best({"again": remembered(issuer, token)})["again"]
        yield Figure("the same token again", micro(taken), "", "", "", None)
        yield _gateway(issuer, token)


def _gateway(issuer: str, token: str) -> Figure:
    """Calls of one client at two gateways, in turns: one that knows no provider, with its own token; and one that does,
    with a token of that."""
    all_cores()
    identity = (
        f'[identity]\nissuer = "{issuer}"\naudience = "{AUDIENCE}"\n[identity.map]\n"*" = {{ caller = "anna" }}\n'
    )
    with ExitStack() as stack:
        asking: list[Callable[[], float]] = []
        for more, key in (("", ""), (identity, token)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            (folder / "rightcall.toml").write_text(POLICY % json.dumps(SERVER) + more)
            pid, url = stack.enter_context(gateway(folder))
            at = f"{url.rsplit('/', 2)[0]}/mcp" if key else url
            asking.append(partial(_asked, partial(cpu_of, pid), at, key))
        pairs = [tuple(ask() for ask in asking) for _ in range(ROUNDS)]
    without, beside = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
    return Figure(
        "gateway with audit, each call, with such a token", micro(beside), f"{micro(without)} own token",
        f"{ratio:.2f} ×", f"{MORE:.2f} ×", ratio <= MORE,
    )  # fmt: skip


def _asked(spent: Callable[[], float], url: str, key: str) -> float:
    return asyncio.run(over_http(spent, url, "files_read_file", 1, key=key)).cpu


if __name__ == "__main__":
    from bench.table import render

    print(render(recognizing()))
