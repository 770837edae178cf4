"""What the doctor asks: tool calls of rising difficulty, each with the one right answer.

Every question states the values it wants, so that an answer is right or wrong and nobody has to judge. There is no
system prompt: whatever it said, some models would do better or worse for it.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct


class Wanted(Struct, frozen=True):
    """One call that a right answer has. The values are those that the question states."""

    tool: str
    values: dict[str, Any]


class DoctorQuestion(Struct, frozen=True):
    """One request to the model."""

    id: str
    text: str
    tools: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    exact: bool = False
    """Whether texts must be the same to the letter; else case and blanks do not matter."""
    stream: bool = False


class Step(Struct, frozen=True):
    """Questions of the same difficulty."""

    name: str
    questions: tuple[DoctorQuestion, ...]


FIVE: Final = ("get_weather", "send_message", "set_timer", "search_files", "convert_money")

_SCRIPT = 'for n in range(3):\n    print(f"{n}: it\'s {{n}}")'
_LIST = '- buy "oat" milk\n- call Bob\n- clear C:\\temp\\new'
_LINE = 'print("it\'s me, \\"Bob\\"")'
_SHELL = 'grep -c "a b" \'notes.txt\'\necho "$HOME"'


def _one(
    id: str, text: str, tools: str | tuple[str, ...], tool: str, exact: bool = False, /, **values: Any
) -> DoctorQuestion:
    offered = (tools,) if isinstance(tools, str) else tools
    return DoctorQuestion(id, text, offered, (Wanted(tool, values),), exact=exact)


def _streamed(question: DoctorQuestion) -> DoctorQuestion:
    return DoctorQuestion(question.id, question.text, question.tools, question.wanted, question.exact, stream=True)


STEPS: Final = (
    Step(
        "one tool, one text",
        (
            _one("weather", "What is the weather in Paris right now?", "get_weather", "get_weather", city="Paris"),
            _one("word", "Look up the word serendipity.", "lookup_word", "lookup_word", word="serendipity"),
            _one("page", "Open https://example.com/docs/start", "open_page", "open_page",
                 url="https://example.com/docs/start"),
        ),
    ),
    Step(
        "numbers, yes or no, lists",
        (
            _one("timer", "Start a timer of 25 minutes.", "set_timer", "set_timer", minutes=25),
            _one("light", "Switch off the light in the kitchen.", "set_light", "set_light", room="kitchen", on=False),
            _one("average", "What is the average of 4, 8, 15 and 16.5?", "average", "average",
                 numbers=[4, 8, 15, 16.5]),
            _one("labels", "Put the labels work and urgent on note 17.", "tag_note", "tag_note",
                 note_id=17, labels=["work", "urgent"]),
        ),
    ),
    Step(
        "the right one of five tools",
        (
            _one("message", 'Send Anna the message "Dinner is at eight".', FIVE, "send_message",
                 to="Anna", text="Dinner is at eight"),
            _one("money", "Convert 250 from EUR to JPY.", FIVE, "convert_money",
                 amount=250, source="EUR", target="JPY"),
            _one("files", "Find the files that match *.toml in the folder config.", FIVE, "search_files",
                 pattern="*.toml", folder="config"),
            _one("warm", "How warm is it in Lisbon today?", FIVE, "get_weather", city="Lisbon"),
        ),
    ),
    Step(
        "objects in objects, fixed choices",
        (
            _one("event", "Put the event Review into the calendar: date 2026-03-14, time 09:30, priority high.",
                 "create_event", "create_event",
                 title="Review", start={"date": "2026-03-14", "time": "09:30"}, priority="high"),
            _one("order", "Order for the customer Mara Voss in Graz: 2 pieces of A-100 and 1 piece of B-7, by express.",
                 "create_order", "create_order",
                 customer={"name": "Mara Voss", "city": "Graz"},
                 items=[{"sku": "A-100", "quantity": 2}, {"sku": "B-7", "quantity": 1}], shipping="express"),
            _one("heating", "Set the heating upstairs to 20.5 degrees celsius.", ("set_thermostat", "set_light"),
                 "set_thermostat", zone="upstairs", target={"value": 20.5, "unit": "celsius"}),
        ),
    ),
    Step(
        "quotes, code and lines in a text",
        (
            _one("line", f"Save this line, exactly as it is, in the file me.py:\n\n{_LINE}", "save_text",
                 "save_text", True, file="me.py", content=_LINE),
            _one("lines", f"Save these three lines, exactly as they are, in the file todo.md:\n\n{_LIST}",
                 ("save_text", "search_files"), "save_text", True, file="todo.md", content=_LIST),
            _one("code", f"Run this python code, exactly as it is:\n\n{_SCRIPT}", ("run_snippet", "save_text"),
                 "run_snippet", True, language="python", code=_SCRIPT),
        ),
    ),
    Step(
        "several calls in one message",
        (
            DoctorQuestion("cities", "What is the weather in Oslo and in Rome? Call the tool once for each city.",
                     ("get_weather",), (Wanted("get_weather", {"city": "Oslo"}),
                                        Wanted("get_weather", {"city": "Rome"}))),
            DoctorQuestion("lights", "Switch on the light in the hall, and switch off the light in the office.",
                     ("set_light", "set_timer"), (Wanted("set_light", {"room": "hall", "on": True}),
                                                  Wanted("set_light", {"room": "office", "on": False}))),
            DoctorQuestion("both", 'Start a timer of 10 minutes, and send Ben the message "Start now".', FIVE,
                     (Wanted("set_timer", {"minutes": 10}),
                      Wanted("send_message", {"to": "Ben", "text": "Start now"}))),
        ),
    ),
    Step(
        "the same as a stream",
        (
            _streamed(_one("weather, streamed", "What is the weather in Tokyo right now?", FIVE, "get_weather",
                           city="Tokyo")),
            _streamed(_one("event, streamed",
                           "Put the event Standup into the calendar: date 2026-04-02, time 10:15, priority low.",
                           "create_event", "create_event",
                           title="Standup", start={"date": "2026-04-02", "time": "10:15"}, priority="low")),
            _streamed(_one("code, streamed", f"Run this shell code, exactly as it is:\n\n{_SHELL}",
                           ("run_snippet", "save_text"), "run_snippet", True, language="shell", code=_SHELL)),
        ),
    ),
)  # fmt: skip
"""From easy to hard."""

QUICK: Final = tuple(Step(step.name, step.questions[:1]) for step in STEPS)
