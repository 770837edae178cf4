"""A model for the doctor's tests: it knows every right answer, and breaks it as a test says."""

from collections.abc import Callable
from typing import Any

from rightcall.doctor.questions import STEPS, DoctorQuestion, Step
from support.scripted.parts import dumped
from support.scripted.server import Answer, NativeCall, Received, Scripted, Text

QUESTIONS = {question.text: question for step in STEPS for question in step.questions}
FEW = (Step("few", (STEPS[0].questions[0], STEPS[1].questions[1])), Step("streamed", (STEPS[6].questions[1],)))
"""Three questions are enough for most tests: one text, a boolean, and a stream with objects."""

Breaking = Callable[[DoctorQuestion, str, dict[str, Any]], NativeCall | Text]


def question_in(request: Received) -> DoctorQuestion:
    said = [message["content"] for message in request.json["messages"] if message["role"] == "user"]
    return next(QUESTIONS[text] for text in said if text in QUESTIONS)


def answering(breaking: Breaking) -> Callable[[Received], Scripted]:
    """A script: every wanted call of the question, each as `breaking` makes it."""

    def script(request: Received) -> Scripted:
        question = question_in(request)
        return Answer([breaking(question, wanted.tool, wanted.values) for wanted in question.wanted])

    return script


def right(_: DoctorQuestion, name: str, arguments: dict[str, Any]) -> NativeCall:
    return NativeCall(name, arguments)


def in_text(_: DoctorQuestion, name: str, arguments: dict[str, Any]) -> Text:
    return Text(f"<tool_call>{dumped({'name': name, 'arguments': arguments})}</tool_call>")


def python_like(_: DoctorQuestion, name: str, arguments: dict[str, Any]) -> NativeCall:
    return NativeCall(name, repr(arguments))


def misnamed(_: DoctorQuestion, name: str, arguments: dict[str, Any]) -> NativeCall:
    return NativeCall(f"functions.{name}", arguments)


def is_taught(request: Received) -> bool:
    return "tools" not in request.json
