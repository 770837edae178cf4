"""`rightcall init`: the policy file it writes is right, complete, and says nothing but the defaults."""

import os
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from rightcall.cli.init import template
from rightcall.policy.settings import (
    DEFAULT_POLICY,
    PRESETS,
    Asking,
    Audit,
    Budgets,
    CallerSettings,
    HostSettings,
    Notices,
    Paths,
    Policy,
    Preset,
    ProviderSettings,
    RouterModel,
    RouterSettings,
    Server,
    Settings,
    StageName,
    Window,
)
from rightcall.policy.watch import load_policy
from support.cli import Runner
from support.every import every

EXAMPLE = re.compile(r"^#(?=[^ \n])", re.MULTILINE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.promise("P-09")
def test_the_written_file_says_nothing_but_the_defaults(run: Runner, here: Path) -> None:
    done = run("init")
    assert (done.code, done.err) == (0, "")
    assert os.listdir(here) == ["rightcall.toml"]
    policy = load_policy("rightcall.toml")
    for name in Policy.__struct_fields__:
        if name not in ("source", "digest"):
            assert getattr(policy, name) == getattr(DEFAULT_POLICY, name), name


@pytest.mark.promise("P-09")
@every("preset", get_args(Preset))
@every("stage", get_args(StageName))
def test_with_every_example_switched_on_it_still_loads(preset: Preset, stage: StageName) -> None:
    settings = load_policy(tomllib.loads(EXAMPLE.sub("", template(preset, stage)))).settings
    assert (settings.preset, settings.stage, settings.limits) == (preset, stage, PRESETS[preset])
    assert settings.callers["teacher"] == CallerSettings(
        stage="sandbox",
        allow=("file/save",),
        deny=("code/blame",),
        limits=Window(20, 500, PRESETS[preset].caller.burst),
        write="ask",
        execute="allow",
        network="deny",
        budgets=Budgets(seconds=60.0),
        records="all",
        rooms=("debug",),
        calls_per_day=500,
        tokens_per_day=2_000_000,
    )
    assert settings.callers["guest"].only == ("ping", "code/read")
    assert settings.budgets_of_tools == {"code/search": Budgets(seconds=10.0)}


@pytest.mark.promise("P-09")
def test_every_key_there_is_stands_in_it() -> None:
    text = EXAMPLE.sub("", template())
    records = (
        Settings, Asking, Notices, Budgets, Paths, CallerSettings, Audit, Window, RouterSettings, RouterModel, Server,
        HostSettings, ProviderSettings,
    )  # fmt: skip
    keys = {key for record in records for key in record.__struct_fields__} - {
        "budgets_of_tools",
        "within",
        "least",
        "least_of_tools",
        "name",
    }
    keys |= set(Policy.__struct_fields__) - {"settings", "source", "digest", "standing"}
    missing = [key for key in sorted(keys) if not re.search(rf"\b{key}\b *(=|\]|\.)|\[{key}", text)]
    assert missing == []


def test_limits_are_examples_so_that_they_follow_the_preset() -> None:
    text = template("personal").replace('preset = "personal"', 'preset = "swarm"')
    assert load_policy(tomllib.loads(text)).settings.limits == PRESETS["swarm"]


def test_no_line_is_longer_than_a_page() -> None:
    assert max(map(len, template().splitlines())) <= 120


def test_preset_and_stage_are_written_where_they_are_wanted(run: Runner, here: Path) -> None:
    (here / "my project").mkdir()
    done = run("init", "--root", "my project", "--preset", "swarm", "--stage", "sandbox")
    file = os.path.join("my project", "rightcall.toml")
    settings = load_policy(file).settings
    assert (settings.preset, settings.stage) == ("swarm", "sandbox")
    assert settings == Settings(preset="swarm", stage="sandbox", limits=PRESETS["swarm"])
    assert done.out == (
        f"wrote {file}\n"
        "  preset swarm, stage sandbox; tools that write or execute only show what they would do\n"
        "next:\n"
        f"  rightcall policy check '{file}'\n"
        f"  rightcall policy explain '{file}' --as teacher code/execute/python\n"
        "  keep .rightcall/ out of version control: the audit will be there\n"
    )


def test_print_writes_nothing(run: Runner, here: Path) -> None:
    done = run("init", "--print", "--preset", "swarm")
    assert done.out == template("swarm")
    assert run("init", "--print", "--json").json == {"text": template()}
    assert os.listdir(here) == []


@pytest.mark.promise("P-09")
def test_a_file_that_is_there_is_not_overwritten(run: Runner, here: Path) -> None:
    (here / "rightcall.toml").write_text("# mine\n")
    done = run("init")
    assert (done.code, done.out) == (2, "")
    assert "rightcall.toml: exists already; `--force` replaces it" in done.err
    assert (here / "rightcall.toml").read_text() == "# mine\n"


@pytest.mark.promise("P-09")
def test_force_keeps_what_was_there_every_time(run: Runner, here: Path) -> None:
    file = here / "rightcall.toml"
    file.write_text("# first\n")
    file.chmod(0o600)
    done = run("init", "--force")
    assert done.code == 0
    assert "the file that was there is now ./rightcall.toml.bak" in done.out
    file.write_text("# second\n")
    assert run("init", "--force").code == 0
    assert (here / "rightcall.toml.bak").read_text() == "# first\n"
    assert (here / "rightcall.toml.bak").stat().st_mode & 0o777 == 0o600
    assert (here / "rightcall.toml.bak1").read_text() == "# second\n"
    assert file.read_text() == template()
    assert len(os.listdir(here)) == 3


def test_force_where_nothing_is_just_writes(run: Runner, here: Path) -> None:
    assert run("init", "--force").code == 0
    assert os.listdir(here) == ["rightcall.toml"]


def test_a_link_is_never_written_through(run: Runner, here: Path) -> None:
    (here / "elsewhere").write_text("# precious\n")
    (here / "rightcall.toml").symlink_to("elsewhere")
    assert run("init").code == 2
    assert run("init", "--force").code == 0
    assert (here / "elsewhere").read_text() == (here / "rightcall.toml.bak").read_text() == "# precious\n"
    assert not (here / "rightcall.toml").is_symlink()
    (here / "empty").mkdir()
    (here / "empty" / "rightcall.toml").symlink_to("absent")
    assert run("init", "--root", "empty").code == 2
    assert run("init", "--root", "empty", "--force").code == 0
    assert sorted(os.listdir(here / "empty")) == ["rightcall.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--root", "absent"], "absent: no such folder"),
        (["--root", "taken", "--force"], "is a folder, not a policy file"),
        (["--preset", "mine"], "invalid value `mine` for `--preset`: expected personal, swarm"),
        (["--stage", "all"], "invalid value `all` for `--stage`"),
        (["extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_usage_is_named(run: Runner, here: Path, arguments: list[str], message: str) -> None:
    (here / "taken" / "rightcall.toml").mkdir(parents=True)
    done = run("init", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert os.listdir(here) == ["taken"]


def test_whatever_the_umask_is_others_cannot_write_the_file(run: Runner, here: Path) -> None:
    before = os.umask(0)
    try:
        assert run("init").code == 0
        assert run("init", "--force").code == 0
    finally:
        os.umask(before)
    assert (here / "rightcall.toml").stat().st_mode & 0o777 == 0o644
    assert run("policy", "check").code == 0
