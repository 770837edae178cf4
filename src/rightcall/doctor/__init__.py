"""How good a model's tool calling is, without and with us; and the practice model, which breaks its calls on purpose.

    questions ─▶ the model ─▶ judgement (usable? right? what is wrong?) ─▶ doctor (shares, advice)

`practice` is a server that answers like a model, for trying RightCall without one.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.doctor.doctor import Advice, Examination, Findings, Progress, Row, Settings, Share, advice, findings
    from rightcall.doctor.judgement import Emission
    from rightcall.doctor.practice import practice_app
    from rightcall.doctor.questions import QUICK, STEPS, DoctorQuestion, Patient
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "doctor": "Advice Examination Findings Progress Row Settings Share advice findings",
            "judgement": "Emission",
            "practice": "practice_app",
            "questions": "DoctorQuestion Patient QUICK STEPS",
        },
    )

__all__ = [
    "QUICK", "STEPS", "Advice", "DoctorQuestion", "Emission", "Examination", "Findings", "Patient", "Progress",
    "Row", "Settings", "Share", "advice", "findings", "practice_app",
]  # fmt: skip
