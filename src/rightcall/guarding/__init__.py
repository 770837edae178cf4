"""Three lines around a function (`guard`) or around one turn of an agent loop (`run_calls`, `arun_calls`)."""

from rightcall.guarding.calls import arun_calls, run_calls
from rightcall.guarding.function import Refused, guard

__all__ = ["Refused", "arun_calls", "guard", "run_calls"]
