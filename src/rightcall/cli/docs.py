"""Print a page of the documentation: the one of a command, of a topic, or the list of all pages.

The pages come with the package, as Markdown, and belong to the installed version. In a checkout with a built site
(`make docs`), --browser opens the page there."""

import os
import sys
from argparse import ArgumentParser, Namespace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from rightcall.base.text import escaped
from rightcall.cli import COMMANDS, OK
from rightcall.cli.help import PAGES
from rightcall.cli.options import InputError, json_option
from rightcall.cli.terminal import Style, style_for, tell

EXAMPLES = """\
examples:
  rightcall docs
  rightcall docs approvals
  rightcall docs concepts/repair | less
"""

_HERE: Final = Path(__file__).resolve().parent.parent
_MOVED: Final = "This page moved to "
"""How the pages begin that only keep an old path alive."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", metavar="PAGE", help="Name of a page or command (default: list all pages)")
    parser.add_argument("--browser", action="store_true", help="Open the page of the built site in a browser")
    json_option(parser)


def run(options: Namespace) -> int:
    found = pages()
    if options.page is None and not options.browser:
        record = {"pages": [{"page": name, "title": title} for name, title in found.items()]}
        tell(options, record, lambda style: _listing(found, style))
        return OK
    name = _named(options.page or "index", list(found))
    if options.browser:
        return _browse(name)
    text = (_folder() / f"{name}.md").read_text(encoding="utf-8")
    tell(options, {"page": name, "title": found[name], "text": text}, lambda _: text.rstrip("\n").split("\n"))
    return OK


def _folder() -> Path:
    """Beside the package where it was installed from a wheel, at the root of a checkout."""
    for folder in (_HERE / "docs", _HERE.parent.parent / "docs"):
        if (folder / "index.md").is_file():
            return folder
    raise InputError("the documentation is not installed here: build the wheel from a checkout or an sdist")


def pages() -> dict[str, str]:
    """Every page with its title, by its path without the ending."""
    folder = _folder()
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.md"), key=lambda path: (len(path.relative_to(folder).parts), path)):
        with open(path, encoding="utf-8") as stream:
            first = next((line.strip() for line in stream if line.strip() and not line.startswith("<!--")), "")
        if not first.startswith(_MOVED):
            found[path.relative_to(folder).with_suffix("").as_posix()] = first.lstrip("# ")
    return found


def _named(page: str, pages: list[str]) -> str:
    wanted = page.removeprefix("docs/").removesuffix(".md").strip("/")
    if wanted in pages:
        return wanted
    if wanted in COMMANDS:
        return PAGES.get(wanted, "reference/commands.md").removesuffix(".md")
    last = [name for name in pages if name.rpartition("/")[2] == wanted or name == f"{wanted}/index"]
    if last:
        return last[0]
    names = [*pages, *(name.rpartition("/")[2] for name in pages), *COMMANDS]
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "run `rightcall docs` to list the pages"
    raise InputError(f"unknown page `{escaped(page, 80)}`: {hint}")


def _browse(name: str) -> int:
    file = _HERE.parent.parent / "build" / "site" / f"{name}.html"
    if not file.is_file():
        raise InputError(f"no built site here; run `make docs` in a checkout, or read it with `rightcall docs {name}`")
    from webbrowser import open as open_page

    style = style_for(sys.stdout)
    sys.stdout.write(f"{style.tint(file.as_uri(), 'bold')}\n")
    if "BROWSER" in os.environ or "DISPLAY" in os.environ or sys.platform in ("darwin", "win32"):
        open_page(file.as_uri())
    return OK


def _listing(pages: dict[str, str], style: Style) -> list[str]:
    width = max(map(len, pages))
    lines = [
        f"{name:<{width}}  {style.tint(title, 'dim')}" for name, title in pages.items() if "decisions/" not in name
    ]
    return [*lines, "", "Read one with `rightcall docs PAGE`."]
