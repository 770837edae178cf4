"""The check command: by its whole path, over the merged files alone, with nothing left behind."""

import os
from pathlib import Path
from typing import Any

import pytest

from execute.write.requests import Checks, Project
from rightcall.config_hands import Check
from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.types import Ended, Job, Scratch
from rightcall.execute.write.checking import run_checks, why_red
from rightcall.execute.write.checking_removal import remove_tree
from rightcall.execute.write.git import Writer
from rightcall.execute.write.pulls import CheckRun


def checked(project: Project, checks: Checks, command: tuple[str, ...]) -> CheckRun:
    project.with_settings(check=Check(command=command, seconds=7, memory=99, processes=5, scratch=11))
    head = project.tip()
    return run_checks(project.desk, Writer(project.desk.sight), head, head, head, checks.checker())


@pytest.mark.promise("W-04")
def test_the_command_runs_where_the_merged_files_are_with_the_limits_of_the_policy_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    project, checks = Project(tmp_path), Checks()
    run = checked(project, checks, ("./run-tests", "-q"))
    (job,) = checks.jobs
    assert (run.ok, run.exit, run.tier) == (True, 0, "namespaces")
    assert job.argv == (os.path.join(job.place, "./run-tests"), "-q")
    assert job.place.startswith(os.path.join(project.desk.folder, "checks"))
    assert (job.bind, dict(job.env), job.visible) == (True, {}, ())
    limits = job.limits
    assert (limits.seconds, limits.memory, limits.processes, limits.scratch) == (7, 99, 5, 11)
    assert not os.path.exists(job.place)


@pytest.mark.promise("W-04")
def test_a_program_is_found_outside_the_root_and_made_visible_but_never_the_folder_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, checks = Project(tmp_path), Checks()
    home, environment = tmp_path / "home", tmp_path / "venv"
    for folder, name in ((home, "mytest"), (environment / "bin", "pytest"), (project.root, "evil")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (environment / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", f"{project.root}:{home}:{environment / 'bin'}:/usr/bin:/bin")
    checked(project, checks, ("mytest",))
    checked(project, checks, ("pytest",))
    checked(project, checks, ("sh", "-c", "true"))
    assert [(job.argv[0], job.visible) for job in checks.jobs] == [
        (str(home / "mytest"), (str(home / "mytest"),)),
        (str(environment / "bin/pytest"), (str(environment),)),
        ("/usr/bin/sh", ()),
    ]
    with pytest.raises(ToolFailure, match="no program evil on the PATH outside the root"):
        checked(project, checks, ("evil",))
    assert os.listdir(os.path.join(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_files_belong_to_whoever_runs_inside_and_links_are_not_followed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    project.commit({"link": str(outside)}, "main", "Person", mode="120000")
    owned: dict[str, int] = {}

    class Owning(Checks):
        def run(self, job: Job, *, fill: Any = None, **more: Any) -> Ended:
            fd = os.open(job.place, os.O_RDONLY)
            fill(Scratch(fd, 65534, 65534))
            os.close(fd)
            owned.update({str(p.relative_to(job.place)): p.lstat().st_uid for p in Path(job.place).rglob("*")})
            return super().run(job, fill=fill, **more)

    if os.geteuid():
        pytest.skip("only root gives files away")
    checked(project, Owning(), ("/bin/true",))
    assert owned == dict.fromkeys(("app.py", "notes.txt", "lib", "lib/util.py", "link"), 65534)
    assert outside.stat().st_uid == os.geteuid()


@pytest.mark.promise("W-04")
def test_what_a_killed_process_left_is_removed_by_the_next_and_what_runs_is_not(tmp_path: Path) -> None:
    project = Project(tmp_path)
    left = Path(project.desk.folder, "checks", "left")
    (left / "files/deep").mkdir(parents=True)
    (left / "lock").write_text("")

    def second() -> None:
        inner = Checks()
        checked(project, inner, ("/bin/true",))
        assert os.path.exists(outer.jobs[0].place)
        assert not left.exists()

    outer = Checks(meanwhile=second)
    checked(project, outer, ("/bin/true",))
    assert os.listdir(Path(project.desk.folder, "checks")) == []


def test_no_depth_and_no_closed_folder_keeps_a_tree_from_being_removed(tmp_path: Path) -> None:
    top, kept = tmp_path / "top", tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(1200):  # deeper than Python's stack, and longer than any path
        os.mkdir("d" * 20, dir_fd=at)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    (top / "closed/inner").mkdir(parents=True)
    (top / "closed/link").symlink_to(kept)
    (top / "closed").chmod(0)
    remove_tree(str(top))
    assert not top.exists()
    assert (kept / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"exit": 1}, "The check (make test) ended with exit status 1 after 2 s"),
        ({"exit": None}, "The check (make test) was ended by a signal after 2 s"),
        ({"exit": None, "limits": ("seconds",)}, "The check (make test) came to its limit of seconds after 2 s"),
        (
            {"exit": 127},
            "The check (make test) ended with exit status 127 after 2 s: the program was not found inside the sandbox",
        ),
    ],
)
def test_why_a_check_failed_is_one_sentence(run: dict[str, object], told: str) -> None:
    failed = CheckRun(commit="", base="", ok=False, seconds=2.0, at="", **run)  # type: ignore[arg-type]
    assert why_red(failed, ("make", "test")).removesuffix(" ([sandbox] visible names folders)") == told
