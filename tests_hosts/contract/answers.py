"""A case as the answer of a scripted model's server (`tests/support/scripted/server.py`)."""

from typing import Any

from contract.cases import Case
from support.scripted.server import Answer, NativeCall, Text, Usage

TOKENS = Usage(20_000, 13)
"""As many as hold the tools; with fewer the proxy would try whether the server ignores them."""


def answer(case: Case) -> Answer:
    said: Any = Text(case.text) if case.text else NativeCall(case.name, case.written, case.call_id)
    return Answer([said], finish=case.finish, usage=TOKENS)
