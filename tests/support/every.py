"""Many small cases in one test: what surrounds a test costs a few milliseconds, and most cases cost none."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, cast

import pytest

MARKS = {"promise", "xfail"}
"""What a case may be marked with: the first only says what it proves, and tests/test_promises.py reads it itself."""

PART = Parameter("part_of_cases", Parameter.KEYWORD_ONLY)

Ids = Callable[[Any], Any] | Iterable[Any] | None


class Case(NamedTuple):
    name: str | None
    values: tuple[Any, ...]
    fails: bool
    """Whether it is known to fail: then it must."""


def every(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Ids = None, parts: int = 1
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but all cases are one test, or `parts` tests where one would take too long. Each
    case is tried, and those that fail are told by name. They share their fixtures: for cases that leave nothing."""
    keys = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    listed = _listed(keys, list(cases), ids)
    assert len(listed) >= parts, "no case, no test"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**given: Any) -> None:
            chosen = listed[given.pop(PART.name) :: parts] if parts > 1 else listed
            if failed := [error for case in chosen if (error := _failure(test, case, keys, given)) is not None]:
                raise ExceptionGroup(f"{len(failed)} of {len(chosen)} cases", failed)

        wanted = [one for name, one in signature(test).parameters.items() if name not in keys]
        cast("Any", run).__signature__ = signature(test).replace(parameters=[*wanted, PART] if parts > 1 else wanted)
        return pytest.mark.parametrize(PART.name, range(parts))(run) if parts > 1 else run

    return decorate


def sampled(cases: Iterable[Any], step: int) -> list[Any]:
    """All of them, to parametrise with: every `step`th is tried every day, the others in the long tests."""
    later = pytest.mark.long
    return [pytest.param(case, marks=[later] if at % step else []) for at, case in enumerate(cases)]


def numbers(every_day: int, in_all: int) -> pytest.MarkDecorator:
    """`numbers` to make cases of, one after the other: the first of them every day, the rest in the long tests."""
    rest = pytest.param(range(every_day, in_all), marks=pytest.mark.long, id=f"{every_day}-{in_all - 1}")
    return pytest.mark.parametrize("numbers", [pytest.param(range(every_day), id=f"0-{every_day - 1}"), rest])


def _listed(keys: tuple[str, ...], cases: list[Any], ids: Ids) -> list[Case]:
    names = iter(ids) if ids is not None and not callable(ids) else None
    found: list[Case] = []
    for case in cases:
        name = None if names is None else str(next(names))
        if isinstance(case, type(pytest.param())):
            values, marks, name = case.values, {mark.name for mark in case.marks}, cast("Any", case).id or name
        else:
            values, marks = (case,) if len(keys) == 1 else tuple(case), set[str]()
        assert marks <= MARKS, f"a case that is marked with {sorted(marks - MARKS)} needs a test of its own"
        if callable(ids):
            name = name or "-".join(str(ids(value)) for value in values)
        found.append(Case(name, tuple(values), "xfail" in marks))
    return found


def _failure(
    test: Callable[..., None], case: Case, keys: tuple[str, ...], fixtures: dict[str, Any]
) -> Exception | None:
    try:
        test(**fixtures, **dict(zip(keys, case.values, strict=True)))
    except Exception as error:  # noqa: BLE001  (whatever a test may raise)
        error.add_note(f"in the case {_shown(case)}")
        return None if case.fails else error
    except BaseException as error:  # the limit on CPU, pytest.fail, Ctrl-C: nothing comes after them
        error.add_note(f"in the case {_shown(case)}")
        raise
    return AssertionError(f"the case {_shown(case)} is known to fail, and does not") if case.fails else None


def _shown(case: Case) -> str:
    try:
        return case.name or ", ".join(ascii(value)[:100] for value in case.values)
    except Exception:  # noqa: BLE001  (some values are made so that they cannot be shown)
        return ", ".join(type(value).__name__ for value in case.values)
