"""docs/concepts/architecture.md names every source file, and nothing that is not there."""

import ast
import re
from functools import cache
from pathlib import Path

from support.imports import SOURCE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
WALKS, FILES = PAGE.split("\n## Every file\n")
AT_THE_TOP = {
    "__main__.py",
    "errors.py",
    "types.py",
}  # beside the packages


def named() -> list[tuple[str, str]]:
    """Each file that the prose names, with the function, class or constant in it, which may be missing."""
    return re.findall(r"`(?!tests/)([\w/]+\.py)(?:: ([\w.]+))?`", WALKS)


def listed() -> list[str]:
    sections = re.findall(r"^### `(\w+/)`\n(.*?)(?=^### |\Z)", FILES, re.MULTILINE | re.DOTALL)
    return [package + file for package, rows in sections for file in re.findall(r"^\| `(\S+)` \|", rows, re.MULTILINE)]


@cache
def definitions(file: str) -> set[str]:
    """Functions, classes and constants of a module, and the methods of its classes with a dot."""
    return set(_definitions(ast.parse((SOURCE / file).read_text(encoding="utf-8")).body))


def _definitions(body: list[ast.stmt], within: str = "") -> list[str]:
    found: list[str] = []
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inside):
                found += [within + name, *_definitions(inside, f"{within}{name}.")]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append(within + name)
            case ast.Assign(targets=targets):
                found += [within + target.id for target in targets if isinstance(target, ast.Name)]
            case _:
                pass
    return found


def test_every_file_and_function_that_the_walks_name_exists() -> None:
    assert len(named()) > 50
    wrong = [
        f"{file}: {name}"
        for file, name in named()
        if not (SOURCE / file).is_file() or (name and name not in definitions(file))
    ]
    assert wrong == []


def test_every_source_file_is_listed_once() -> None:
    files = {file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if file.name != "__init__.py"}
    assert sorted(listed()) == sorted(files - AT_THE_TOP)
