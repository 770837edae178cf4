"""What a docstring says of a function and of each parameter: Google, NumPy and Sphinx style."""

import re
from inspect import cleandoc
from itertools import takewhile
from textwrap import dedent

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters|Params|Keyword Args|Other Parameters|Attributes):[ \t]*$", re.M)
_NUMPY = re.compile(r"^(?:Parameters|Other Parameters|Attributes)[ \t]*\n-{3,}[ \t]*$", re.M)
_SPHINX = re.compile(r"^[ \t]*:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:\n]*\s)?(\*{0,2}\w+)\s*:", re.M)
_SPHINX_FIELD = re.compile(r"^[ \t]*:\w[^:\n]*:", re.M)
_SECTION = re.compile(r"^(?:[A-Z][A-Za-z ]*:[ \t]*$|[A-Z][A-Za-z ]*\n-{3,}[ \t]*$)", re.M)
_GOOGLE_ITEM = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)\n]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description of the whole, and of each parameter.

    >>> read_docstring('''Add.
    ...
    ...     Args:
    ...         n (int): What to add.
    ... ''')
    ('Add.', {'n': 'What to add.'})
    """
    if not text or not text.strip():
        return "", {}
    doc = cleandoc(text)
    items: dict[str, str] = {}
    starts: list[int] = []
    for header, read in ((_GOOGLE, _google), (_NUMPY, _numpy)):
        for found in header.finditer(doc):
            starts.append(found.start())
            items.update(read(_body(doc, found.end())))
    fields = list(_SPHINX_FIELD.finditer(doc))
    starts += [field.start() for field in fields[:1]]
    items.update(_sphinx(doc))
    other = _SECTION.search(doc)
    starts += [other.start()] if other else []
    return doc[: min(starts, default=len(doc))].strip(), items


def _body(doc: str, start: int) -> str:
    following = _SECTION.search(doc, start)
    return doc[start : following.start() if following else len(doc)].strip("\n")


def _google(body: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    current: list[str] | None = None
    indented = takewhile(lambda line: line[:1] in ("", " ", "\t"), body.splitlines())  # what follows is prose again
    for line in dedent("\n".join(indented)).splitlines():
        found = _GOOGLE_ITEM.match(line)
        if found:
            current = items.setdefault(found[1].lstrip("*"), [])
            current.append(found[2])
        elif current is not None:
            current.append(line.strip())
    return _joined(items)


def _numpy(body: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in dedent(body).splitlines():
        found = _NUMPY_ITEM.match(line)
        if found:
            names = [name.strip().lstrip("*") for name in found[1].split(",")]
            current = [items.setdefault(name, []) for name in names]
        else:
            for lines in current:
                lines.append(line.strip())
    return _joined(items)


def _sphinx(doc: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    for found in _SPHINX.finditer(doc):
        following = _SPHINX_FIELD.search(doc, found.end())
        text = doc[found.end() : following.start() if following else len(doc)]
        paragraph = re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]
        items[found[1].lstrip("*")] = [line.strip() for line in paragraph.splitlines()]
    return _joined(items)


def _joined(items: dict[str, list[str]]) -> dict[str, str]:
    return {name: text for name, lines in items.items() if (text := " ".join(part for part in lines if part).strip())}
