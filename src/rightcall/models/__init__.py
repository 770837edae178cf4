"""Clients of models, and the tool loop. A model is any callable from messages to a reply.

    loop ─▶ endpoint, or a function ─▶ answers (what it said) ─▶ replies (the turn) ─▶ executor ─▶ loop

`endpoint` is any OpenAI-compatible server; a scripted model, which says what it was told to, stands beside the loop.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.models.answers import names_in
    from rightcall.models.endpoint import Endpoint
    from rightcall.models.loop import (
        AsyncScriptedModel,
        LoopOptions,
        LoopResult,
        OutOfReplies,
        ScriptedModel,
        run_loop,
        run_loop_sync,
    )
    from rightcall.models.repair import RepairModel
    from rightcall.models.replies import Model, Turn, answer_of, turn_of
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "answers": "names_in",
            "endpoint": "Endpoint",
            "loop": "AsyncScriptedModel LoopOptions LoopResult OutOfReplies ScriptedModel run_loop run_loop_sync",
            "repair": "RepairModel",
            "replies": "Model Turn answer_of turn_of",
        },
    )

__all__ = [
    "AsyncScriptedModel", "Endpoint", "LoopOptions", "LoopResult", "Model", "OutOfReplies", "RepairModel",
    "ScriptedModel", "Turn", "answer_of", "names_in", "run_loop", "run_loop_sync", "turn_of",
]  # fmt: skip
