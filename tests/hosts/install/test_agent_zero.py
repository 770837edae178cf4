"""Into Agent Zero's folder and out again: nothing of its own is touched, and errors say what would be right."""

import os
import subprocess
from pathlib import Path

import pytest

from rightcall.base.files.guarded import state_folder
from rightcall.errors import ConfigError
from rightcall.hosts.install.agent_zero import FILE_NAME, install, installed, layout_of, main, noted, plan, uninstall
from rightcall.hosts.install.plans import read_manifest

SCRIPTS = Path(__file__).parents[3] / "scripts"
EARLY = "usr/extensions/python/_functions/agent/Agent/validate_tool_request/start"
PRESENT = ["usr/extensions/python/tool_execute_before", "usr/extensions/python/tool_execute_after", EARLY]
USER = ["usr/extensions/tool_execute_before", "usr/extensions/tool_execute_after"]
OLD = ["python/extensions/tool_execute_before", "python/extensions/tool_execute_after"]


def agent_zero(root: Path, layout: str) -> Path:
    loader = root / ("helpers" if layout == "present" else "python/helpers") / "extension.py"
    loader.parent.mkdir(parents=True)
    loader.write_text('USER_EXTENSIONS_FOLDER = "usr/extensions"' if layout != "old" else "", encoding="utf-8")
    (root / "agent.py").write_text('call_extensions("tool_execute_before")', encoding="utf-8")
    if layout == "old":
        (root / "python" / "extensions").mkdir()
    else:
        (root / "usr").mkdir()
    return root


@pytest.mark.promise("H-06")
@pytest.mark.parametrize(("layout", "folders"), [("present", PRESENT), ("user", USER + PRESENT), ("old", OLD)])
def test_the_file_goes_where_each_layout_looks_and_an_update_leaves_it(
    tmp_path: Path, layout: str, folders: list[str]
) -> None:
    root = agent_zero(tmp_path, layout)
    assert layout_of(root) == layout
    assert [str(file.path.parent.relative_to(root)) for file in plan(root)] == folders
    assert {file.now for file in plan(root)} == {"absent"}


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("layout", ["present", "user", "old"])
def test_installing_twice_changes_nothing_and_undoing_leaves_nothing(tmp_path: Path, layout: str) -> None:
    root = agent_zero(tmp_path, layout)
    before = sorted(root.rglob("*"))
    written = install(root)
    assert sorted(installed(root)) == sorted(written) != []
    assert install(root) == []
    compiled = written[0].parent / "__pycache__" / f"{written[0].stem}.cpython-312.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"")
    assert sorted(uninstall(root)) == sorted(written)
    assert sorted(root.rglob("*")) == before
    assert uninstall(root) == []


def test_an_older_version_of_ours_is_replaced_and_what_lies_beside_it_stays(tmp_path: Path) -> None:
    root = agent_zero(tmp_path, "present")
    first, *_ = install(root)
    first.write_text(first.read_text(encoding="utf-8") + "# older", encoding="utf-8")
    beside = first.with_name("_30_tool_fallback_advisor.py")
    beside.write_text("theirs", encoding="utf-8")
    assert install(root) == [first]
    uninstall(root)
    assert [path for path in root.rglob("*.py") if path.parent == beside.parent] == [beside]


@pytest.mark.parametrize("link", [True, False])
def test_a_file_that_is_not_ours_is_neither_replaced_nor_removed(tmp_path: Path, link: bool) -> None:
    root = agent_zero(tmp_path / "a0", "present")
    theirs = root / PRESENT[0] / FILE_NAME
    theirs.parent.mkdir(parents=True)
    if link:
        elsewhere = tmp_path / "elsewhere.py"
        elsewhere.write_bytes(plan(agent_zero(tmp_path / "other", "present"))[0].content)
        theirs.symlink_to(elsewhere)
    else:
        theirs.write_text("class MetaReasoningGate: ...", encoding="utf-8")
    with pytest.raises(ConfigError, match="not RightCall's and is left alone; move it away"):
        install(root)
    assert uninstall(root) == []
    assert os.path.lexists(theirs)
    assert list(root.rglob(FILE_NAME)) == [theirs]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (None, "no such folder"),
        ("", "no hook `tool_execute_before`"),
        ("tool_execute_before", "this is not an Agent Zero"),
    ],
)
def test_an_error_names_the_folder_and_what_would_be_right(tmp_path: Path, agent: str | None, words: str) -> None:
    root = tmp_path / "a0"
    if agent is not None:
        root.mkdir()
        (root / "agent.py").write_text(agent, encoding="utf-8")
    said: list[str] = []
    assert main([str(root)], said.append) == 1
    assert words in said[-1]
    assert str(root) in said[-1]
    assert main([], said.append) == 2


@pytest.mark.promise("H-06")
def test_the_script_speaks_the_designs_words_from_any_folder_and_needs_no_package(tmp_path: Path) -> None:
    root = agent_zero(tmp_path / "a folder", "present")
    env = {"PATH": os.environ["PATH"], "AGENT_ZERO": str(root), "XDG_STATE_HOME": str(tmp_path / "state")}

    def run(script: str, *words: str) -> list[str]:
        done = subprocess.run(
            ["sh", SCRIPTS / script, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    lines = run("install_all.sh")
    assert [line for line in lines if " Wrote " not in line] == [
        "[MetaGate] Installing meta-reasoning gate...",
        "[MetaGate] Installed parameter validation gate",
        "[MetaGate] Done. Tool argument validation and auto-correction active.",
    ]
    assert len(installed(root)) == 3
    run("install_meta_gate.sh", "--uninstall", str(root))
    assert installed(root) == []
    assert run("install_meta_gate.sh", "--uninstall") == [
        f"[MetaGate] Nothing of it was in {root}; nothing was changed."
    ]


def test_what_the_script_did_is_noted_as_if_install_had_done_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root, said = agent_zero(tmp_path / "a0", "present"), list[str]()
    assert main(["--uninstall", str(root)], said.append, noted) == 0
    assert not (tmp_path / "state").exists()
    assert main([str(root)], said.append, noted) == 0
    (record,) = read_manifest(state_folder()).files
    assert (record.host, record.file) == ("agent-zero", str(root))
    assert main(["--uninstall", str(root)], said.append, noted) == 0
    assert read_manifest(state_folder()).files == ()
