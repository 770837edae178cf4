"""The router (design 004): does this request need a tool, which one, and is it sure enough?

    request ─▶ intent ─▶ candidates ─▶ select ─▶ review ─▶ execute ─▶ inject ─▶ respond
              `router`   `toolset`    `choose`   `review`   `trip`     `packet`  `respond`
                         `ranking`   light model prime model executor   packet   prime model

A packet (`packet`, `packets` on the disk) carries the request through all of it. What needs no model (intent,
candidates, confidence) is measured and fast; what a model decides is read by the gate, weighed with that evidence, and
runs only under the executor's policy. `lexical`, `vectors` and `slots` are what the ranking goes by,
`toolset` the tools there are and finding them, `cleaning` what makes an answer fit for people.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.router.lexical import ToolText, tool_texts
    from rightcall.router.packet import Candidate, Intent, Packet, ReflectionLog, SelectedTool, ToolRouting
    from rightcall.router.packets import PacketStore, is_packet_id, story_of
    from rightcall.router.ranking import Ranker
    from rightcall.router.review import Evidence, weigh
    from rightcall.router.router import AnswerStream, Router, judge_intent
    from rightcall.router.toolset import FollowingIndex, Hit, Offering, ToolIndex, search_tool
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "lexical": "ToolText tool_texts",
            "packet": "Candidate Intent Packet ReflectionLog SelectedTool ToolRouting",
            "packets": "PacketStore is_packet_id story_of",
            "ranking": "Ranker",
            "review": "Evidence weigh",
            "router": "AnswerStream Router judge_intent",
            "toolset": "FollowingIndex Hit Offering ToolIndex search_tool",
        },
    )

__all__ = [
    "AnswerStream", "Candidate", "Evidence", "FollowingIndex", "Hit", "Intent", "Offering", "Packet", "PacketStore",
    "Ranker", "ReflectionLog", "Router", "SelectedTool", "ToolIndex", "ToolRouting", "ToolText", "is_packet_id",
    "judge_intent", "search_tool", "story_of", "tool_texts", "weigh",
]  # fmt: skip
