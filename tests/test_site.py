"""The documentation site: what is generated is fresh, it builds offline, and nothing in it leads nowhere or outside."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

from support.docs import blocks
from support.every import every

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LONG = {"docs/hosts/index.md"}  # holds the measured contract of all hosts
GUIDES = sorted(
    page
    for folder in ("start", "local-models", "hosts", "python", "mcp", "operate", "changes")
    for page in (DOCS / folder).glob("*.md")
    if page.relative_to(ROOT).as_posix() not in LONG
)
MOST_WORDS = 900
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
WRITTEN = sorted(  # by hand, and not kept as they were decided or promised
    page
    for page in DOCS.rglob("*.md")
    if page.parent.name not in ("decisions", "examples")
    and page.name != "promises.md"
    and "scripts/reference.py" not in page.read_text(encoding="utf-8")
)
BANNED = re.compile(
    r"\b(?:is no(?! longer)|stands|known are|looked at|came of|come out right|put right|of yours|the very)\b"
)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.promise("D-02")
def test_the_generated_pages_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run `make reference`:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "text", ["[web]\n# Bytes of one answer.\nbytes = 1\nredirects = 5\n", "[web]\n#ports = [80]\n"]
)
def test_a_key_of_the_policy_without_a_meaning_of_its_own_stops_the_generator(text: str) -> None:
    with pytest.raises(SystemExit, match=r"what `(redirects|ports)` of \[web\] means"):
        run_path(str(ROOT / "scripts" / "reference.py"))["policy_keys"](text)


def test_every_table_of_the_policy_keys_has_a_key_with_a_meaning() -> None:
    page = (DOCS / "reference" / "policy-keys.md").read_text("utf-8")
    tables = page.split("| key | default | meaning |\n|---|---|---|\n")[1:]
    assert [table for table in tables if not table.startswith("| `")] == []
    assert "|  |" not in page


@pytest.mark.long
def test_the_pictures_are_what_the_commands_print() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/pictures.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run `make pictures`:\n{done.stdout}{done.stderr}"


def test_a_picture_loads_nothing_from_elsewhere() -> None:
    pictures = sorted((DOCS / "images").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        drawn = re.sub(r"(<text[^>]*>)[^<]*", r"\1", text)  # what is only shown loads nothing
        assert re.findall(r"https?://[^\s\"']+", drawn) == ["http://www.w3.org/2000/svg"]
        assert "@font-face" not in text


def test_the_readme_is_short_and_comes_to_the_point() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(text.split()) <= MOST_WORDS
    assert max(lines.index(line) for line in lines if line.startswith(("make run", "make test"))) < 40
    assert next(number for number, line in enumerate(lines) if line.startswith("#>")) < 60


@every("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN], ids=name_of)
def test_no_page_has_a_phrase_that_readers_stumble_over(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert BANNED.findall(prose) == []


@every("page", GUIDES, ids=name_of)
def test_a_guide_is_short_and_shows_something_that_a_test_runs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= MOST_WORDS
    assert [block for block in blocks(text) if block.language in ("console", "python", "sh")], "no tested command"


def test_every_page_has_a_place_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = set(re.findall(r"([\w/.-]+\.md)$", settings.partition("\nnav:")[2], re.MULTILINE))
    listed = {page for page in nav if not (DOCS / page).is_file()}
    assert listed == set(), "in mkdocs.yml, but not there"
    indexed = {"decisions": DOCS / "decisions" / "index.md", "examples": DOCS / "examples" / "index.md"}
    lost = [
        name
        for page in DOCS.rglob("*.md")
        if (name := page.relative_to(DOCS).as_posix()) not in nav
        and not page.read_text(encoding="utf-8").startswith("This page moved to ")
        and not (name.split("/")[0] in indexed and f"({page.name})" in indexed[name.split("/")[0]].read_text("utf-8"))
    ]
    assert lost == []


def test_every_message_of_the_page_for_troubles_is_one_of_the_code() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    source = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.py")))
    messages = re.findall(r"^## `(.*)`$", page, re.MULTILINE)
    assert len(messages) > 8
    pieces = [piece.strip("( )") for message in messages for piece in message.split("…")]
    assert [piece for piece in pieces if piece not in source] == []


VALUE = r"""=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
IDS = re.compile(rf"<\w+\s(?:[^<>]*?\s)?(?:id|name){VALUE}")
LINKS = re.compile(rf"<a\s(?:[^<>]*?\s)?href{VALUE}")
LOADS = re.compile(rf"<(?:script|img|iframe|source)\s(?:[^<>]*?\s)?src{VALUE}|<link\s(?:[^<>]*?\s)?href{VALUE}")


class Page:
    """The ids of a page, its links, and what it loads. By expressions: parsing takes seconds for all pages."""

    def __init__(self, text: str) -> None:
        self.ids = set(values(IDS, text))
        self.links = list(values(LINKS, text))
        self.loads = list(values(LOADS, text))


def values(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    yield from (html.unescape("".join(filter(None, found.groups()))) for found in pattern.finditer(text))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Builds the site once, elsewhere, since another process may do so too, and with the network cut off as far as a
    proxy can."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=folder, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)[-3000:]
    built = folder / "build" / "site"
    return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(built.rglob("*.html"))}


def root_of(site: dict[Path, Page]) -> Path:
    return next(file.parent for file in site if file.name == "404.html")


def is_remote(address: str) -> bool:
    return bool(urlsplit(address).netloc)


@pytest.mark.long
def test_the_site_loads_nothing_from_elsewhere(site: dict[Path, Page]) -> None:
    wrong = [(file.name, address) for file, page in site.items() for address in page.loads if is_remote(address)]
    assert wrong == []
    styles = sorted(root_of(site).rglob("*.css"))
    remote = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
    assert [file.name for file in styles if remote.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.promise("D-02")
@pytest.mark.long
def test_every_link_and_anchor_of_the_site_leads_somewhere(site: dict[Path, Page]) -> None:
    wrong: list[str] = []
    for file, page in site.items():
        if file.name == "404.html":  # its links count from the root of a server
            continue
        for link in page.links:
            if is_remote(link) or urlsplit(link).scheme:
                continue
            target, _, anchor = unquote(link).partition("#")
            there = (file.parent / target).resolve() if target else file
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file() or (anchor and there in site and anchor not in site[there].ids):
                wrong.append(f"{file.relative_to(root_of(site))}: {link}")
    assert wrong == []


def test_a_dead_link_is_noticed() -> None:
    page = Page("""<a class="b" href="x.html#y">x</a><h2 id='z'>z</h2><script async src=https://cdn.example/x.js></script>
        <link rel="stylesheet" href="a.css"><span data-id="no">n</span>""")
    assert (page.links, page.ids) == (["x.html#y"], {"z"})
    assert page.loads == ["https://cdn.example/x.js", "a.css"]
    assert is_remote(page.loads[0])
    assert is_remote("//cdn.example/x.css")
    assert not is_remote("assets/x.css")


def test_a_wheel_comes_with_a_bill_of_what_it_loads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/sbom.py", str(tmp_path)], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    (file,) = tmp_path.iterdir()
    told = json.loads(file.read_text(encoding="utf-8"))
    names = {part["name"] for part in told["components"]}
    assert {"msgspec", "jsonschema-rs", "rapidfuzz", "google-re2", "starlette"} <= names
    assert not {"pytest", "ruff", "zensical"} & names
    refs = {told["metadata"]["component"]["bom-ref"], *(part["bom-ref"] for part in told["components"])}
    assert {row["ref"] for row in told["dependencies"]} == refs


def test_every_dependency_is_pinned_for_a_checkout() -> None:
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in CONSTRAINTS if "==" in line}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = extras["optional-dependencies"]
    wanted = [
        *extras["dependencies"],
        *(one for name in ("code", "serve", "route", "docs", "dev") for one in optional[name]),
    ]
    names = {re.split(r"[\[<>=; ]", one)[0].lower() for one in wanted} - {"rightcall"}
    assert sorted(names - pinned) == []


def test_a_wheel_carries_the_pages_that_docs_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for flit, which is only there while a wheel is built."""
    added: list[tuple[str, str]] = []

    class WheelBuilder:
        def copy_module(self) -> None:
            added.append(("src", "rightcall"))

        def _add_file(self, path: Path, name: Path) -> None:
            added.append((str(path), name.as_posix()))

    flit = ModuleType("flit_core.wheel")
    flit.__dict__["WheelBuilder"] = WheelBuilder
    build = ModuleType("flit_core.buildapi")
    source = (ROOT / "scripts" / "backend.py").read_text(encoding="utf-8")
    build.__dict__.update(dict.fromkeys(re.findall(r"^    (\w+),$", source, re.M)))
    for module in (ModuleType("flit_core"), flit, build):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    sys.modules["flit_core"].__dict__["wheel"] = flit
    monkeypatch.chdir(ROOT)
    run_path(str(ROOT / "scripts" / "backend.py"))
    flit.__dict__["WheelBuilder"]().copy_module()
    assert added[0] == ("src", "rightcall")
    assert ("docs/operate/approve.md", "rightcall/docs/operate/approve.md") in added
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert (settings["build-backend"], settings["backend-path"]) == ("backend", ["scripts"])
