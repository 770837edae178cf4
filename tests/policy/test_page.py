"""The two pages about policies say what is: every key, its default and range, stages, presets, order, rule ids."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from rightcall.base.files.rules import DOTFILES, REFUSED_FOLDERS, SECRET_FILES, SECRET_FOLDERS
from rightcall.errors import PolicyError, StoreFault
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.patterns import WHY
from rightcall.policy.decide import POLICIES
from rightcall.policy.effects import WORDED
from rightcall.policy.settings import (
    PRESETS,
    STAGES,
    Asking,
    Audit,
    Budgets,
    CacheSettings,
    CallerSettings,
    Check,
    CodeSettings,
    ConsoleSettings,
    Limits,
    Notices,
    Paths,
    RouterSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
    TelemetrySettings,
    WebSettings,
    Window,
    WriteSettings,
)
from rightcall.policy.watch import load_policy
from rightcall.types import Effect

ROOT = Path(__file__).parents[2]
ORDER = (ROOT / "docs" / "concepts" / "policy-order.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8") + ORDER
SECTIONS: list[tuple[str, type[Struct], tuple[str, ...]]] = [
    ("[policy]", Settings, ("policy",)),
    ("[policy.limits]", Window, ("policy", "limits", "all")),
    ("[policy.approval]", Asking, ("policy", "approval")),
    ("[approvals]", Notices, ("approvals",)),
    ("[policy.budgets]", Budgets, ("policy", "budgets")),
    ("[policy.paths]", Paths, ("policy", "paths")),
    ("[policy.commands]", CommandRules, ("policy", "commands")),
    ("[policy.urls]", UrlRules, ("policy", "urls")),
    ("[callers.NAME]", CallerSettings, ("callers", "x")),
    ("[audit]", Audit, ("audit",)),
    ("[store]", StoreSettings, ("store",)),
    ("[router]", RouterSettings, ("router",)),
    ("[code]", CodeSettings, ("code",)),
    ("[cache]", CacheSettings, ("cache",)),
    ("[sandbox]", SandboxSettings, ("sandbox",)),
    ("[write]", WriteSettings, ("write",)),
    ("[write.check]", Check, ("write", "check")),
    ("[web]", WebSettings, ("web",)),
    ("[console]", ConsoleSettings, ("console",)),
    ("[telemetry]", TelemetrySettings, ("telemetry",)),
]
TABLES = {
    "limits",
    "approval",
    "approvals",
    "budgets",
    "budgets_of_tools",
    "paths",
    "commands",
    "urls",
    "callers",
    "audit",
    "store",
    "check",
    "tools",
}
"""Fields of `Settings` and `WriteSettings` that are tables of their own."""


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    found = re.search(rf"^##+ `{re.escape(title)}`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {title}"
    return found[1]


def rows(text: str) -> dict[str, tuple[str, str]]:
    """key: (values, default), from the tables with four columns."""
    return {key: (a, b) for key, a, b in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| .* \|$", text, re.MULTILINE)}


every_section = pytest.mark.parametrize(("title", "record", "place"), SECTIONS, ids=[title for title, _, _ in SECTIONS])


@every_section
@pytest.mark.promise("P-09")
def test_every_key_stands_there_with_its_true_default(title: str, record: type[Struct], place: tuple[str, ...]) -> None:
    stated = rows(section(title))
    wanted = {
        field.name: field.default
        for field in fields(record)
        if field.name not in ("within", "least", "least_of_tools")
        and (field.name not in TABLES or record not in (Settings, WriteSettings))
    }
    assert set(stated) == set(wanted)
    for key, default in wanted.items():
        assert default is not NODEFAULT
        written = re.fullmatch(r"`([^`]+)`", stated[key][1])
        if default is None:
            assert written is None, key
        else:
            assert written, key
            value: Any = tomllib.loads(f"x = {written[1]}")["x"]
            assert (tuple(value) if isinstance(value, list) else value) == default, key


@every_section
@pytest.mark.promise("P-09")
def test_every_range_is_the_true_one(title: str, record: type[Struct], place: tuple[str, ...]) -> None:
    for key, (values, _) in rows(section(title)).items():
        found = re.match(r"(0, or )?([\d.,]+) to ([\d.,]+)", values)
        if not found:
            continue
        kind = float if "." in values or key == "confidence" else int
        low, high = (kind(number.replace(",", "")) for number in found.groups()[1:])
        assert [accepted(place, key, value) for value in (low, high)] == [True, True], key
        assert [accepted(place, key, value) for value in (low - 1, high + 1)] == [False, False], key
        if found[1]:
            assert accepted(place, key, 0)


def accepted(place: tuple[str, ...], key: str, value: Any) -> bool:
    document: Any = {key: value}
    for name in reversed(place):
        document = {name: document}
    try:
        load_policy(document)
    except PolicyError:
        return False
    return True


@every_section
def test_every_choice_is_taken(title: str, record: type[Struct], place: tuple[str, ...]) -> None:
    for key, (values, _) in rows(section(title)).items():
        if re.fullmatch(r"(`[\w-]+`(, )?)+", values) and key != "limits":
            words = re.findall(r"`([\w-]+)`", values)
            assert all(accepted(place, key, word) for word in words), key
            assert not accepted(place, key, "other")


@pytest.mark.promise("P-09")
def test_every_table_has_its_place() -> None:
    assert re.findall(r"^\| `(\w+)` \| [^|]* \|$", section("[policy.limits]"), re.MULTILINE) == list(
        Limits.__struct_fields__
    )
    assert '[policy.budgets.tools."code/search"]' in section("[policy.budgets]")
    assert "[policy.limits.tools]" in section("[policy.limits]")


@pytest.mark.promise("P-01")
def test_the_stages_hold_what_the_page_says() -> None:
    table = re.search(r"^\| stage \|.*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert table
    before: frozenset[str] = frozenset()
    stated = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table[0], re.MULTILINE)
    assert [name for name, _ in stated] == list(STAGES)
    for name, tools in stated:
        assert re.findall(r"`([^`]+)`", tools) == sorted(STAGES[name] - before)
        before = STAGES[name]


@pytest.mark.promise("P-02")
def test_the_presets_have_the_pages_numbers() -> None:
    table = re.findall(r"^\| (.*), an? (\w+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    stated = {(whom, period): (int(personal), int(swarm)) for whom, period, personal, swarm in table}
    true: dict[tuple[str, str], tuple[int, int]] = {}
    for key, period in (("minute", "minute"), ("hour", "hour"), ("burst", "second")):
        for whom, windows in windows_of(PRESETS["personal"], PRESETS["swarm"]).items():
            numbers = (getattr(windows[0], key), getattr(windows[1], key))
            if any(numbers):
                true[whom, period] = numbers
    assert stated == true


def windows_of(*presets: Limits) -> dict[str, list[Window]]:
    tools = {f"`{tool}`": [preset.tools[tool] for preset in presets] for tool in presets[0].tools}
    return {
        "all callers": [preset.all for preset in presets],
        "each caller": [preset.caller for preset in presets],
        **tools,
    }


@pytest.mark.promise("P-03")
def test_the_names_that_are_refused_are_the_pages() -> None:
    stated = {
        title: re.findall(r"`([^`]+)`", text)
        for title, text in re.findall(r"^- \*\*([\w ]+)\*\*(.*?)(?=^- |\n\n)", PAGE, re.MULTILINE | re.DOTALL)
    }
    assert sorted(stated["internals"]) == sorted(REFUSED_FOLDERS)
    assert stated["secrets"] == list(SECRET_FILES)
    assert stated["folders of secrets"] == list(SECRET_FOLDERS)
    assert stated["dotfiles"] == list(DOTFILES)


ORDERED = ORDER[ORDER.index("## The order of the policies") :]


def test_the_policies_stand_in_their_order() -> None:
    assert re.findall(r"^\| `(\w+)` \|", ORDERED, re.MULTILINE) == [name for name, _ in POLICIES]


def test_every_rule_id_that_the_code_can_give_is_listed_and_no_other() -> None:
    cells = [line.split(" | ")[1] for line in ORDERED.splitlines() if line.startswith("| ")]
    stated = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    names = ("base/files/rules.py", "policy/decide.py", "policy/settings.py", "policy/types.py", "record/admission.py")
    files = [*(ROOT / "src/rightcall" / name for name in names), *(ROOT / "src/rightcall/executor").glob("*.py")]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files)
    found = set(re.findall(r'(?:Decision\(\s*"\w+",|_not_allowed\()\s*"([\w:]+)"', source))
    found |= set(re.findall(r'"((?:path|policy|caller|stage|approval|definition|limit):\w+)"', source))
    found |= {f"approval:{word}" for word in re.findall(r'_refused\(\s*"(\w+)"', source)}
    found |= {f"approval:{effect}" for effect in get_args(Effect)} | {"approval:used"}
    found |= {f"{word}:{effect}" for word in ("allow", "deny") for effect in WORDED}
    found |= {f"store:{fault}" for fault in get_args(StoreFault)} | {"stage:NAME"}
    found |= {"host:NAME", "server:NAME", "observe"}
    found |= {f"limit:{whom}:{period}" for whom in ("all", "caller", "tool") for period in Window.__struct_fields__}
    folder = ROOT / "src/rightcall/policy/commands"
    judging = "".join(
        (folder / f"{name}.py").read_text(encoding="utf-8") for name in ("judgement", "judge", "findings")
    )
    found |= set(re.findall(r'"((?:command|url):\w+)"', source + judging)) | {f"command:{kind}" for kind in WHY}
    assert len(found) > 40
    assert sorted(found) == sorted(stated)
