"""What kind of text the prose so far is: a message of the model's own, a document, a template, a dialogue."""

from __future__ import annotations

_DOCUMENT = 3
"""A text with so many headings or comment lines is a document, one with so many tags a template."""

_TAIL = 12
_MUCH = 65536
_BREAK = "\0"


class Signs:
    """Keeps prose until somebody asks; long texts are looked through on the way, so that memory stays small."""

    __slots__ = ("_headings", "_itself", "_others", "_size", "_tags", "_tail", "_unseen", "foreign")

    def __init__(self) -> None:
        self.foreign = False
        """Whether it is a template, or a dialogue in which others speak: nothing in it is a call of the model's own."""
        self._headings = 0  # lines that begin with #
        self._tags = 0  # of a template
        self._others = self._itself = False  # who has spoken
        self._unseen: list[str] = []
        self._size = 0
        self._tail = "\n"  # the end of what was looked through

    def remember(self, prose: str, *, code: bool) -> None:
        """More prose. Code may hold anything, and tells nothing."""
        self._unseen.append(_BREAK if code else prose)
        self._size += len(prose)
        if self._size > _MUCH and len(self._unseen) > 1:
            self.look()

    @property
    def document(self) -> bool:
        return self._headings >= _DOCUMENT

    def look(self) -> None:
        """Look through what was remembered, across the places where it was cut."""
        if not self._unseen:
            return
        tail = self._tail
        text = tail + "".join(self._unseen)
        if "#" in text:
            self._headings += text.count("\n#") - tail.count("\n#")
        if "%" in text:
            self._tags += text.count("{%") - tail.count("{%")
            self.foreign = self.foreign or self._tags >= _DOCUMENT or "\n{%" in text
        if ":" in text:
            self._others = self._others or "\nUser:" in text
            self._itself = self._itself or "\nAssistant:" in text or "\nAI:" in text
            spoken = (self._others and self._itself) or "\nUSER:" in text or "\nHuman:" in text
            self.foreign = self.foreign or spoken
        self._tail = text[-_TAIL:]
        self._unseen.clear()
        self._size = 0
