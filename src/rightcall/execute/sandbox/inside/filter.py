"""The seccomp filter: rules put together into a program for the kernel's packet filter machine, for either
architecture, on any machine."""

from __future__ import annotations

import struct
from typing import Literal

from rightcall.execute.sandbox.inside.numbers import ARCHITECTURES, NEWEST, NUMBERS, X32
from rightcall.execute.sandbox.inside.rules import (
    ALWAYS,
    ANY,
    ENOSYS,
    ON_DISK,
    OWNER,
    SHARED,
    Condition,
    Rule,
    signalling,
)

Arch = Literal["x86_64", "aarch64"]

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Where struct seccomp_data holds what is asked for; both architectures keep the lower half of a word first."""
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000

_Step = tuple[int, int, int, int]


def program(
    arch: Arch,
    *,
    disk: bool = False,
    shared: bool = False,
    owner: bool = False,
    alone: int | None = None,
    truncate: bool = True,
) -> bytes:
    """The filter as the kernel takes it. `disk`: the scratch folder lies on a real one. `shared`: other people's
    processes and files have names for the program. `owner`: it runs as somebody who owns files outside. `alone`: its
    pid, where only this filter keeps its signals in. `truncate`: whether it may shorten files by their path, which
    Landlock watches from its third version on."""
    rules = dict(ALWAYS)
    if disk:
        rules.update(ON_DISK)
    if shared:
        rules.update(SHARED)
    if owner:
        rules.update(OWNER)
    if alone is not None:
        rules.update(signalling(alone))
    if not truncate:
        rules["truncate"] = Rule()
    return assembled(arch, rules)


def assembled(arch: Arch, rules: dict[str, Rule]) -> bytes:
    """Rules by the name of the call; whatever is not named is allowed."""
    column = list(ARCHITECTURES).index(arch)
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, ARCHITECTURES[arch]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, X32),
        (_RETURN, 0, 0, _KILL),
        (_AT_LEAST, 0, 1, NEWEST),
        (_RETURN, 0, 0, _FAIL | ENOSYS),
    ]
    for name, rule in rules.items():
        number = NUMBERS[name][column]
        if number is not None:
            body = _body(rule)
            steps += [(_EQUAL, 0, len(body), number), *body]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", code, yes, no, value) for code, yes, no, value in steps)


def _body(rule: Rule) -> list[_Step]:
    """What is done for one call. It always ends in a verdict, so that nothing has to be loaded again after it."""
    allowed, failed = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | rule.error)
    if rule.unless:
        return [*_all_of(rule.unless), allowed, failed]
    if rule.only_if:
        return [*_all_of(rule.only_if), failed, allowed]
    return [failed]


def _all_of(conditions: tuple[Condition, ...]) -> list[_Step]:
    """Goes on when all conditions hold, else skips the step that follows."""
    steps: list[_Step] = []
    for condition in reversed(conditions):
        tests: list[_Step] = [(_LOAD, 0, 0, _ARGUMENTS + 4 * condition.word)]
        if condition.mask != ANY:
            tests.append((_AND, 0, 0, condition.mask))
        last = len(condition.values) - 1
        for index, value in enumerate(condition.values):
            missed = len(steps) + 1 if index == last else 0
            tests.append((_EQUAL, last - index, missed, value))
        steps = tests + steps
    return steps
