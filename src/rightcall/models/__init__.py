"""Clients of models, and the tool loop. A model is any callable from messages to a reply.

    loop ─▶ endpoint, scripted, or a function ─▶ answers (what it said) ─▶ replies (the turn) ─▶ executor ─▶ loop

`endpoint` is any OpenAI-compatible server; `scripted` says what it was told to, for tests and examples.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.models.answers import names_in
    from rightcall.models.endpoint import Endpoint
    from rightcall.models.loop import LoopOptions, LoopResult, run_loop, run_loop_sync
    from rightcall.models.replies import Model, Turn, answer_of, turn_of
    from rightcall.models.scripted import AsyncScriptedModel, OutOfReplies, ScriptedModel
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "answers": "names_in",
            "endpoint": "Endpoint",
            "loop": "LoopOptions LoopResult run_loop run_loop_sync",
            "replies": "Model Turn answer_of turn_of",
            "scripted": "AsyncScriptedModel OutOfReplies ScriptedModel",
        },
    )

__all__ = [
    "AsyncScriptedModel", "Endpoint", "LoopOptions", "LoopResult", "Model", "OutOfReplies", "ScriptedModel", "Turn",
    "answer_of", "names_in", "run_loop", "run_loop_sync", "turn_of",
]  # fmt: skip
