"""What the sandbox asks the fork server for, as it comes over the wire."""

from __future__ import annotations

from typing import Any, NamedTuple


class Request(NamedTuple):
    """One run: a job of the sandbox and the tier that was chosen for it."""

    tier: str
    argv: list[str]
    place: str
    bind: bool
    script: str | None
    visible: list[str]
    env: dict[str, str]
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

        def at(path: str) -> str:
            inside = path == self.place or path.startswith(self.place + "/")
            return place + path[len(self.place) :] if inside else path

        return self._replace(
            place=place,
            argv=[at(argument) for argument in self.argv],
            script=None if self.script is None else at(self.script),
            env={name: at(value) for name, value in self.env.items()},
        )


def request_from(message: dict[str, Any]) -> Request:
    return Request(**message)
