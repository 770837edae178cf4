"""Whether an SVG does nothing but draw. Whoever shows one may do more with it than that: run its scripts, follow its
addresses. So one that could is never handed on as a picture."""

import re
from typing import Final, NoReturn
from xml.parsers import expat

_LENGTH = re.compile(r"\s*(\d{1,6}(?:\.\d{1,9})?)\s*(px|pt|in|mm|cm|)\s*\Z", re.ASCII)
_PIXELS: Final = {"": 1.0, "px": 1.0, "pt": 96 / 72, "in": 96.0, "mm": 96 / 25.4, "cm": 96 / 2.54}
_DRAWING: Final = frozenset(
    ("svg", "g", "defs", "style", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
     "textPath", "title", "desc", "metadata", "use", "symbol", "clipPath", "mask", "linearGradient", "radialGradient",
     "stop", "pattern", "marker", "image", "filter", "feGaussianBlur", "feOffset", "feBlend", "feColorMatrix",
     "feComposite", "feFlood", "feMerge", "feMergeNode", "feMorphology", "switch")
)  # fmt: skip
_SVG: Final = "http://www.w3.org/2000/svg"
_DESCRIBING: Final = frozenset(
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/dc/elements/1.1/",
     "http://creativecommons.org/ns#", "http://web.resource.org/cc/")
)  # fmt: skip
"""Namespaces of what `metadata` may hold. A script of HTML would run there too."""
_INNER = re.compile(r"\s*(?:#[^\s]*|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*)?\s*\Z")
_REACHES = re.compile(r"url\(\s*['\"]?\s*(?!#|['\"]?\s*#)|@import|expression\s*\(|\\", re.IGNORECASE)
_DEEPEST = 200


class _NotPlain(Exception):
    """It could do something besides drawing, or cannot be read."""


def svg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for what is no SVG, or one that does more than draw."""
    reader = _Reader()
    try:
        reader.parse(content)
    except (_NotPlain, expat.ExpatError, ValueError, LookupError):
        return None
    return reader.size


class _Reader:
    def __init__(self) -> None:
        self.size: tuple[int, int] | None = None
        self._open: list[str] = []
        self._style: list[str] = []

    def parse(self, content: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._refuse
        parser.ProcessingInstructionHandler = self._refuse
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.Parse(content, True)

    def _refuse(self, *_: object) -> NoReturn:
        raise _NotPlain

    def _doctype(self, _name: str, _system: object, _public: object, internal: int) -> None:
        if internal:
            raise _NotPlain

    def _begin(self, qualified: str, attributes: dict[str, str]) -> None:
        space, _, name = qualified.rpartition(" ")
        if not self._open:
            if (space, name) != (_SVG, "svg"):
                raise _NotPlain
            self.size = _size(attributes)
        self._open.append(name)
        is_known = name in _DRAWING if space == _SVG else space in _DESCRIBING and "metadata" in self._open
        if len(self._open) > _DEEPEST or not is_known:
            raise _NotPlain
        for key, value in attributes.items():
            _check_attribute(key.rpartition(" ")[2].casefold(), value)

    def _end(self, _name: str) -> None:
        if self._open.pop() == "style" and _REACHES.search("".join(self._style)):  # a comment may stand in between
            raise _NotPlain

    def _text(self, text: str) -> None:
        if "style" in self._open:
            self._style.append(text)


def _check_attribute(name: str, value: str) -> None:
    if name.startswith("on") or name == "base":
        raise _NotPlain
    if name in ("href", "src") and not _INNER.match(value):
        raise _NotPlain
    if name not in ("href", "resource", "about") and _REACHES.search(value):
        raise _NotPlain


def _size(attributes: dict[str, str]) -> tuple[int, int] | None:
    """As its head says, or its view box; None: it does not say."""
    found = _LENGTH.match(attributes.get("width", "")), _LENGTH.match(attributes.get("height", ""))
    if found[0] is not None and found[1] is not None:
        width, height = (float(one[1]) * _PIXELS[one[2]] for one in found if one is not None)
    else:
        numbers = attributes.get("viewBox", "").replace(",", " ").split()
        if len(numbers) != 4:
            return None
        width, height = float(numbers[2]), float(numbers[3])
    return (round(width), round(height)) if 1 <= width <= 100_000 and 1 <= height <= 100_000 else None
