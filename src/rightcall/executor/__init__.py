"""The one order of a call, for tools that run here (`Executor`) and for those that somebody else runs (`Door`).

    executor ─▶ calls (who, what was written) ─▶ pipeline ─▶ request ─▶ policy, record ─▶ tools ─▶ messages ─▶ Outcome
    door ─────▶ passage (checked, named) ────────────────────┘           the host runs it ─▶ Door records its end

`sync` is the executor for code without an event loop. `toolbox` and `shipped` are the tools of an executor, `rights`
those behind a door, `question` what a person sees who has to approve, `calls` also what model and host are told;
`guesses` finds command lines and paths in arguments. `messages` shapes results for a model (`views`: one form per tool,
`trimming`: cut where it hurts least), and `prompt` tells it beforehand which tools there are.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.executor.door import Door, DoorSettings, DoorSetup, host_result
    from rightcall.executor.executor import Executor, PolicySource
    from rightcall.executor.messages import Outcome, mark_as_data, shape, summarise, trim, view_of
    from rightcall.executor.passage import Passage
    from rightcall.executor.pipeline import Ask
    from rightcall.executor.prompt import system_prompt
    from rightcall.executor.question import View, question_lines, view
    from rightcall.executor.request import canonical
    from rightcall.executor.sync import SyncExecutor
    from rightcall.executor.toolbox import full_name
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "door": "Door DoorSettings DoorSetup host_result",
            "executor": "Executor PolicySource",
            "passage": "Passage",
            "pipeline": "Ask",
            "messages": "Outcome mark_as_data shape summarise trim view_of",
            "prompt": "system_prompt",
            "question": "View question_lines view",
            "request": "canonical",
            "sync": "SyncExecutor",
            "toolbox": "full_name",
        },
    )

__all__ = [
    "Ask", "Door", "DoorSettings", "DoorSetup", "Executor", "Outcome", "Passage", "PolicySource", "SyncExecutor",
    "View", "canonical", "full_name", "host_result", "mark_as_data", "question_lines", "shape", "summarise",
    "system_prompt", "trim", "view", "view_of",
]  # fmt: skip
