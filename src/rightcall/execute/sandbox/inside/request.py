"""What the sandbox asks the fork server for, as it comes over the wire."""

from __future__ import annotations

import os
from typing import Any, NamedTuple


class Request(NamedTuple):
    """One run: a job of the sandbox and the tier that was chosen for it."""

    tier: str
    argv: list[str]
    place: str
    bind: bool
    script: str | None
    code: str
    """Where the file is seen whose content came along; empty: none did."""
    visible: list[str]
    env: dict[str, str]
    packages: dict[str, str]
    """What a script can import besides the interpreter's own: where it is, by name."""
    seconds: float
    memory: int
    """Bytes, as are `scratch` and the sizes below."""
    processes: int
    scratch: int

    @property
    def warm(self) -> bool:
        return self.script is not None

    def moved(self, place: str) -> Request:
        """The same with its scratch folder elsewhere, where it cannot be seen at the path that was asked for."""
        return self._with_paths(self.place, place)._replace(place=place)

    def with_code_in(self, folder: str) -> Request:
        """The same with its code elsewhere."""
        own, name = os.path.split(self.code)
        return self._with_paths(own, folder)._replace(code=f"{folder}/{name}")

    def _with_paths(self, old: str, new: str) -> Request:
        def at(path: str) -> str:
            return new + path[len(old) :] if path == old or path.startswith(old + "/") else path

        return self._replace(
            argv=[at(argument) for argument in self.argv],
            script=None if self.script is None else at(self.script),
            env={name: at(value) for name, value in self.env.items()},
        )


def request_from(message: dict[str, Any]) -> Request:
    return Request(**message)
