"""`rightcall proxy` between a client of OpenAI's API and a model's server, both real and on this machine."""

from collections.abc import Sequence

from contract.answers import answer
from contract.cases import Case, Definition
from contract.outcomes import PlainClient, Ran, Seen
from support.proxies import post, proxied


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    with proxied() as rig:
        rig.upstream.play([answer(case) for case in cases])
        return [_seen(rig.address if guarded else rig.direct, tools) for _ in cases]


def _seen(address: str, tools: tuple[Definition, ...]) -> Seen:
    ran = Ran()
    request = {
        "model": "small",
        "messages": [{"role": "user", "content": "go"}],
        "tools": [tool.openai for tool in tools],
    }
    got = post(address, "/v1/chat/completions", request).json
    return Seen(read=PlainClient(tools, ran).take(got["choices"][0]["message"]), ran=ran.taken())
