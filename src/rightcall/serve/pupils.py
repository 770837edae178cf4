"""What the proxy learns of models by their answers: which have to be told of their tools, because their servers do not,
and whose prompts end inside of reasoning."""

from __future__ import annotations

import logging
from collections.abc import Collection

from rightcall.text.escape import escaped

log = logging.getLogger("rightcall")

MOST = 1000
"""Models, and sets of tools they were looked at with."""
LONGEST = 300
"""Characters of a model's name. Clients may write anything there; of longer ones nothing is remembered."""


class Pupils:
    """The models that turned out to be untold, and what is known of the others. For as long as the process lives."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}
        self._looked: set[tuple[str, str]] = set()
        self._callers: set[str] = set()
        self._suspects: set[str] = set()
        self._opened: set[str] = set()

    def __contains__(self, model: str) -> bool:
        return model in self._models

    def add(self, model: str, why: str) -> None:
        """From now on this one is told of its tools in the prompt. One that ever called a tool by itself never is."""
        if _has_room(self._models, model) and model not in self._models and model not in self._callers:
            self._models[model] = why
            log.info("rightcall: %s is told of its tools in the prompt from now on: %s", escaped(model, 100), why)

    def suspect(self, model: str) -> None:
        """This one may be untold: the next request is taught on trial."""
        if _has_room(self._suspects, model):
            self._suspects.add(model)

    def is_suspect(self, model: str) -> bool:
        return model in self._suspects

    def tried(self, model: str, *, helped: bool) -> None:
        """This one was taught on trial, and called a tool then or did not."""
        self._suspects.discard(model)
        if helped:
            self.add(model, "told of its tools in the prompt it called one, and else it did not")

    def called(self, model: str) -> None:
        """This one was told: it has made a native call."""
        if _has_room(self._callers, model):
            self._callers.add(model)

    def has_called(self, model: str) -> bool:
        return model in self._callers

    def opens_reasoning(self, model: str) -> bool:
        """Whether the prompts of this one end inside of its reasoning."""
        return model in self._opened

    def closed_alone(self, model: str) -> None:
        """This one closed reasoning that it had not opened. From now on calls before that tag do not count."""
        if _has_room(self._opened, model) and model not in self._opened:
            self._opened.add(model)
            log.info(
                "rightcall: %s closes reasoning that its prompt opened; from now on calls before the closing tag do not"
                " count (to set this yourself: [gate.models] reasoning)",
                escaped(model, 100),
            )

    def is_new(self, model: str, tools: str) -> bool:
        """Whether this model was never looked at with these tools; from now on it was."""
        if (model, tools) in self._looked or not _has_room(self._looked, model):
            return False
        self._looked.add((model, tools))
        return True


def _has_room(kept: Collection[object], model: str) -> bool:
    return len(kept) < MOST and len(model) <= LONGEST
