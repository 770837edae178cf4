"""A pull request for a forge: files that its own command line takes, and the command, safe to paste."""

import shlex
import subprocess
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.pulls import PullRecord
from rightcall.tools.write.review import FORGES, Forge, commands, export
from support.desks import Project

NASTY = "Fix $(touch pwned) `id` '; rm -rf /"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.branch(files={"app.py": "print('zwei \x00 \u00e4')\n", "data.bin": "\x00\x01\x02"})
    made.open(title=NASTY, body="one\n\ntwo")
    return made


@pytest.mark.promise("W-02")
def test_the_files_are_exact_and_git_applies_the_series_to_the_same_commit_content(
    project: Project, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    told = export(project.desk, project.record(), "patch", str(out))
    assert told == [f"git am {out}/series.mbox"]
    assert (out / "title.txt").read_text() == f"{NASTY}\n"
    assert (out / "body.md").read_text() == "one\n\ntwo\n"
    project.git("am", "-q", str(out / "series.mbox"))
    assert project.git("rev-parse", "HEAD^{tree}") == project.git("rev-parse", "fix^{tree}")


@pytest.mark.promise("W-02")
@pytest.mark.parametrize("forge", [forge for forge in FORGES if forge != "patch"])
def test_the_command_gives_the_forge_exactly_the_title_and_body(forge: Forge, project: Project, tmp_path: Path) -> None:
    out = tmp_path / "it's out"
    push, create = export(project.desk, project.record(), forge, str(out))
    assert push == "git push origin refs/heads/fix:refs/heads/fix"
    program = {"github": "gh", "gitlab": "glab", "gitea": "tea"}[forge]
    shell = f'{program}() {{ printf "%s\\0" "$@"; }}; {create}'
    given = subprocess.run(["bash", "-c", shell], capture_output=True, check=True, cwd=tmp_path).stdout.decode()
    words = given.split("\0")[:-1]
    assert words[words.index("--title") + 1] == NASTY
    if forge == "github":
        assert Path(words[words.index("--body-file") + 1]).read_text() == "one\n\ntwo\n"
        assert words[:6] == ["pr", "create", "--head", "fix", "--base", "main"]
    else:
        assert words[words.index("--description") + 1] == "one\n\ntwo"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.promise("A-07")
def test_a_title_that_a_terminal_would_obey_is_read_from_its_file() -> None:
    record = PullRecord(id="1", title="a\x1b[2Jb", author="a", branch="x", base="main", head="0", made="")
    (_, create) = commands(record, "github", "/out")
    assert create == 'gh pr create --head x --base main --title "$(cat /out/title.txt)" --body-file /out/body.md'
    assert shlex.split(create)


def test_a_folder_with_something_in_it_is_left_alone(project: Project, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/title.txt").write_text("mine")
    with pytest.raises(ToolFailure, match="not empty"):
        export(project.desk, project.record(), "github", str(tmp_path / "full"))
    assert (tmp_path / "full/title.txt").read_text() == "mine"
    with pytest.raises(ToolFailure, match="cannot be written to: Not a directory"):
        export(project.desk, project.record(), "github", str(tmp_path / "full/title.txt/x"))


@pytest.mark.promise("W-02")
def test_a_merged_request_is_exported_as_it_was_merged(project: Project, tmp_path: Path) -> None:
    before = project.tip()
    project.review()
    project.merge()
    export(project.desk, project.record(), "patch", str(tmp_path / "out"))
    project.git("switch", "-q", "--detach", before)
    project.git("am", "-q", str(tmp_path / "out/series.mbox"))
    assert project.git("rev-parse", "HEAD^{tree}") == project.git("rev-parse", "main^{tree}")
