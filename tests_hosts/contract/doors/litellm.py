"""`litellm.completion` in front of a model's server, in a Python of its own (see `tests_hosts/conftest.py`)."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import json

from contract.answers import answer
from contract.cases import Case, Definition, policy_for
from contract.outcomes import PlainClient, Ran, Seen
from contract.places import environment
from support.scripted.server import ScriptedUpstream


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    alone, with_us = _measured(json.encode([cases, tools]))
    return with_us if guarded else alone


@lru_cache(maxsize=1)
def _measured(work: bytes) -> tuple[list[Seen | None], list[Seen | None]]:
    """Both at once: LiteLLM takes some seconds to import."""
    python = os.environ.get("RIGHTCALL_LITELLM_PYTHON") or sys.executable
    command = [python, "-m", "contract.doors.litellm"]
    done = subprocess.run(command, input=work, capture_output=True, env=environment(), timeout=200, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    return json.decode(done.stdout.splitlines()[-1], type=tuple[list[Seen | None], list[Seen | None]])


def _drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    import litellm

    from rightcall.hosts.litellm import RightCall

    guard = RightCall(policy_for(tools))
    completion = guard.wrap(litellm.completion) if guarded else litellm.completion
    with ScriptedUpstream([answer(case) for case in cases]) as upstream:
        seen = [_seen(completion, f"{upstream.address}/v1", tools, case) for case in cases]
    guard.close()
    return list(seen)


def _seen(completion: Any, address: str, tools: tuple[Definition, ...], case: Case) -> Seen:
    ran = Ran()
    got = completion(
        model="openai/small", api_base=address, api_key="none", messages=[{"role": "user", "content": "go"}],
        tools=[tool.openai for tool in tools],
    )  # fmt: skip
    message = got.choices[0].message.model_dump()
    told = message["content"] if message["content"] not in (None, case.text) else ""
    read = PlainClient(tools, ran).take(message) or told
    return Seen(ran.taken(), read, "approvals approve" in read)


if __name__ == "__main__":
    given, definitions = json.decode(sys.stdin.buffer.read(), type=tuple[tuple[Case, ...], tuple[Definition, ...]])
    seen_by = [_drive(given, definitions, guarded) for guarded in (False, True)]
    print(json.encode(seen_by).decode())  # noqa: T201 - the answer
