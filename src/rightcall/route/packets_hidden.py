"""What of a packet is saved without its secrets.

A packet that is still on its way is continued from what users, models and tools said, so that is kept as it is: the
request, the arguments, the results. What only tells its story, the log and the reasons, never holds a secret: neither
one that is known by its shape nor one that an argument with a secret name has. Once a packet is answered nothing is
continued from it any more; then all of it is only a story, and very long texts in it are cut. One that failed begins
anew when its user says more, with the request and the results that are there; the rest of it is a story too.
"""

from typing import Any, cast

from msgspec.structs import replace

from rightcall.route.types import DataField, Packet, Reasoning, SelectedTool, Sketchpad, ToolExecutionResult
from rightcall.text.redact import Redactor


def without_secrets(packet: Packet, redactor: Redactor) -> Packet:
    """The packet as it is saved."""
    match packet.status.state:
        case "answered":
            return story_of(packet, redactor)
        case "failed":
            told = story_of(packet, redactor)
            return replace(told, content=replace(packet.content, answer=told.content.answer))
        case _:
            return _Hiding(packet, redactor).story(packet)


def story_of(packet: Packet, redactor: Redactor) -> Packet:
    """The packet as a story that is only looked at."""
    hide = _Hiding(packet, redactor)
    return hide.words(hide.story(packet))


def arguments_of(packet: Packet) -> list[Any]:
    """What any of its tools was to be given, or was given before."""
    routing = packet.tool_routing
    chosen = (routing.selected_tool, *routing.alternative_tools)
    arguments: list[Any] = [tool.params for tool in chosen if tool is not None]
    return arguments + [_arguments_in(one.value) for one in packet.content.data_fields]


class _Hiding:
    """Hides the secrets of one packet. What the arguments of any of its tools name as secret is hidden everywhere."""

    def __init__(self, packet: Packet, redactor: Redactor) -> None:
        self._arguments = arguments_of(packet)
        self._redactor = redactor

    def _hidden(self, thing: Any) -> Any:
        return self._redactor.beside(thing, self._arguments)

    def _text(self, text: str) -> str:
        return str(self._hidden(text))

    def story(self, packet: Packet) -> Packet:
        """Without secrets in the log and in the reasons that were given."""
        routing = packet.tool_routing
        log = tuple(replace(line, summary=self._text(line.summary)) for line in packet.reasoning.reflection_log)
        return replace(
            packet,
            reasoning=replace(packet.reasoning, reflection_log=log),
            status=replace(packet.status, why=self._text(packet.status.why)),
            tool_routing=replace(
                routing,
                review_reasoning=self._text(routing.review_reasoning),
                selected_tool=self._reason(routing.selected_tool) if routing.selected_tool else None,
                alternative_tools=tuple(self._reason(one) for one in routing.alternative_tools),
            ),
        )

    def _reason(self, tool: SelectedTool) -> SelectedTool:
        return replace(tool, selection_reasoning=self._text(tool.selection_reasoning))

    def words(self, packet: Packet) -> Packet:
        """Without secrets in what was said, either."""
        content, routing = packet.content, packet.tool_routing
        return replace(
            packet,
            content=replace(
                content,
                original_prompt=self._text(content.original_prompt),
                data_fields=tuple(self._data(one) for one in content.data_fields),
                answer=None if content.answer is None else self._text(content.answer),
            ),
            reasoning=Reasoning(
                packet.reasoning.reflection_log, tuple(self._note(one) for one in packet.reasoning.sketchpad)
            ),
            tool_routing=replace(
                routing,
                selected_tool=self._call(routing.selected_tool) if routing.selected_tool else None,
                alternative_tools=tuple(self._call(one) for one in routing.alternative_tools),
                execution_result=self._result(routing.execution_result) if routing.execution_result else None,
            ),
        )

    def _data(self, field: DataField) -> DataField:
        secret = self._redactor.is_secret(field.key)
        return replace(field, value=self._redactor.whole(field.value) if secret else self._hidden(field.value))

    def _note(self, note: Sketchpad) -> Sketchpad:
        return replace(note, content=self._hidden(note.content))

    def _call(self, tool: SelectedTool) -> SelectedTool:
        params = self._hidden(tool.params)
        return replace(tool, params=params if isinstance(params, dict) else {})

    def _result(self, result: ToolExecutionResult) -> ToolExecutionResult:
        return replace(
            result,
            output=self._hidden(result.output),
            error=None if result.error is None else self._text(result.error),
        )


def _arguments_in(value: Any) -> Any:
    """Of the result of an earlier call, the arguments it was called with."""
    return cast("dict[str, Any]", value).get("params") if isinstance(value, dict) else None
