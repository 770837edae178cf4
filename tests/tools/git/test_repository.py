"""Which repository a path belongs to, and which ones are never opened."""

import os
from pathlib import Path

import pytest

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import NoRepository, Repository, repository_for
from rightcall.tools.git.run import output_of, run_git
from support.repositories import Made, files_compared, made

pytestmark = pytest.mark.promise("C-08")


def head(repository: Repository) -> str:
    return commit_of(repository, "HEAD")


def none_at(folder: Path, *paths: str, rules: PathRules | None = None) -> bool:
    with pytest.raises(ToolFailure, match="No git repository at the root"):
        repository_for(Sight(folder, rules), paths)
    return True


def test_a_repository_at_the_root_is_found(tmp_path: Path) -> None:
    new = made(tmp_path / "r").commit("one", a__py="1\n")
    found = repository_for(Sight(tmp_path / "r"))
    assert (found.folder, found.bare, found.git_dir) == ("", False, str(tmp_path.resolve() / "r/.git"))
    assert head(found) == new


def test_a_folder_without_a_repository_says_so_and_what_works_without(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="code/search work without"):
        repository_for(Sight(tmp_path))


def test_nothing_above_the_root_is_looked_at(tmp_path: Path) -> None:
    made(tmp_path).commit("one", a__py="1\n")
    (tmp_path / "src").mkdir()
    assert none_at(tmp_path / "src")
    assert none_at(tmp_path / "src", "x.py")


def test_a_root_that_is_gone_has_no_repository(tmp_path: Path) -> None:
    assert none_at(tmp_path / "gone")


def test_a_root_that_is_reached_through_a_link_is_the_same_repository(tmp_path: Path) -> None:
    new = made(tmp_path / "r").commit("one", a__py="1\n")
    (tmp_path / "link").symlink_to("r")
    found = repository_for(Sight(tmp_path / "link"))
    assert found.git_dir == str(tmp_path.resolve() / "r/.git")
    assert head(found) == new


def test_a_path_belongs_to_the_innermost_repository(tmp_path: Path) -> None:
    outer = made(tmp_path)
    inner = made(tmp_path / "libs/inner")
    in_inner = inner.commit("inner", x__py="1\n")
    in_outer = outer.commit("outer", a__py="1\n")
    sight = Sight(tmp_path)
    assert head(repository_for(sight, ["libs/inner/x.py"])) == in_inner
    assert head(repository_for(sight, ["libs/inner/gone/for/long.py"])) == in_inner
    assert head(repository_for(sight, ["libs/inner"])) == in_inner
    assert head(repository_for(sight, ["libs"])) == in_outer
    assert head(repository_for(sight, ["libs/inner/x.py", "a.py"])) == in_outer
    assert head(repository_for(sight, [""])) == in_outer
    assert repository_for(sight, ["libs/inner/x.py"]).folder == "libs/inner"


def test_a_repository_names_its_paths_from_its_own_top() -> None:
    repository = Repository("/r/.git", "/r/.git", "libs/inner", "/r")
    assert repository.inside("libs/inner/x.py") == "x.py"
    assert repository.inside("libs/inner") == ""
    assert repository.outside("x.py") == "libs/inner/x.py"
    assert repository.outside("") == "libs/inner"
    assert repository.work_tree == "/r/libs/inner"
    with pytest.raises(ValueError, match="not in this repository"):
        repository.inside("libs/inner2/x.py")


def test_a_name_that_begins_alike_is_another_folder(tmp_path: Path) -> None:
    outer = made(tmp_path)
    made(tmp_path / "lib").commit("inner", x__py="1\n")
    top = outer.commit("outer", a__py="1\n")
    assert head(repository_for(Sight(tmp_path), ["lib/x.py", "library/y.py"])) == top


def test_a_bare_repository_works(tmp_path: Path) -> None:
    source = made(tmp_path / "r")
    new = source.commit("one", a__py="1\n")
    source.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    found = repository_for(Sight(tmp_path / "bare"))
    assert found.bare
    assert head(found) == new
    assert output_of(run_git(found, ["show", "HEAD:a.py"], seconds=10, most=100)) == b"1\n"


def test_a_bare_repository_in_a_folder_is_only_files(tmp_path: Path) -> None:
    outer = made(tmp_path / "r")
    top = outer.commit("one", a__py="1\n")
    outer.git("clone", "-q", "--bare", ".", str(tmp_path / "r/inner"))
    assert head(repository_for(Sight(tmp_path / "r"), ["inner/HEAD"])) == top


def test_a_shallow_repository_works(tmp_path: Path) -> None:
    source = made(tmp_path / "r")
    source.commit("one", a__py="1\n")
    new = source.commit("two", a__py="2\n")
    source.git("clone", "-q", "--depth=1", f"file://{tmp_path}/r", str(tmp_path / "shallow"))
    found = repository_for(Sight(tmp_path / "shallow"))
    assert output_of(run_git(found, ["log", "--format=%H"], seconds=10, most=1000)).decode().split() == [new]
    with pytest.raises(ToolFailure, match="No such commit: HEAD~1"):
        commit_of(found, "HEAD~1")


def test_a_repository_with_sha256_ids_works(tmp_path: Path) -> None:
    repository = made(tmp_path / "r", "--object-format=sha256")
    with pytest.raises(ToolFailure, match="no commits yet"):
        head(repository_for(Sight(tmp_path / "r")))
    new = repository.commit("one", a__py="1\n")
    assert len(new) == 64
    assert head(repository_for(Sight(tmp_path / "r"))) == new
    repository.git("gc", "-q")
    assert head(repository_for(Sight(tmp_path / "r"))) == new
    repository.git("checkout", "-q", "--detach")
    assert head(repository_for(Sight(tmp_path / "r"))) == new


def test_an_empty_repository_says_that_it_has_no_commits_yet(tmp_path: Path) -> None:
    made(tmp_path / "r")
    with pytest.raises(ToolFailure, match="The repository has no commits yet"):
        head(repository_for(Sight(tmp_path / "r")))


def linked_worktree(tmp_path: Path) -> tuple[Made, Path, str]:
    main = made(tmp_path / "main")
    main.commit("one", a__py="1\n")
    main.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Made(tmp_path / "side")
    side.commits = 1
    return main, tmp_path / "side", side.commit("two", a__py="2\n")


def test_a_linked_worktree_is_followed_to_its_main_repository(tmp_path: Path) -> None:
    main, side, new = linked_worktree(tmp_path)
    found = repository_for(Sight(side))
    assert found.common_dir == str(main.git_dir.resolve())
    assert head(found) == new
    assert head(repository_for(Sight(main.folder))) != new
    assert commit_of(found, "main") == main.git("rev-parse", "main")
    (side / "a.py").write_text("3\n")
    assert b"-2\n+3\n" in files_compared(found, "HEAD")


def test_a_git_file_that_names_somebody_elses_worktree_is_not_followed(tmp_path: Path) -> None:
    _, side, _ = linked_worktree(tmp_path)
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").write_bytes((side / ".git").read_bytes())
    assert none_at(thief)


@pytest.mark.parametrize("target", ["{victim}/.git", "../victim/.git", "{victim}", "/", "../victim/.git/../.git"])
def test_a_git_file_that_names_somebody_elses_repository_is_not_followed(tmp_path: Path, target: str) -> None:
    made(tmp_path / "victim").commit("secret", a__py="1\n")
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").write_text(f"gitdir: {target.format(victim=tmp_path / 'victim')}\n")
    assert none_at(thief)


def test_a_link_that_leaves_the_root_is_no_repository(tmp_path: Path) -> None:
    made(tmp_path / "victim").commit("secret", a__py="1\n")
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").symlink_to(tmp_path / "victim/.git")
    assert none_at(thief)


def test_a_link_below_the_root_is_followed(tmp_path: Path) -> None:
    repository = made(tmp_path / "r")
    new = repository.commit("one", a__py="1\n")
    (tmp_path / "r/.git").rename(tmp_path / "r/kept")
    (tmp_path / "r/.git").symlink_to("kept")
    assert head(repository_for(Sight(tmp_path / "r"))) == new


@pytest.mark.parametrize("how", ["link", "file"])
def test_a_repository_in_a_folder_that_may_not_be_seen_is_not_followed(tmp_path: Path, how: str) -> None:
    made(tmp_path / "private").commit("secret", a__py="1\n")
    if how == "link":
        (tmp_path / ".git").symlink_to("private/.git")
    else:
        (tmp_path / ".git").write_text("gitdir: private/.git\n")
    assert repository_for(Sight(tmp_path)).git_dir.endswith("private/.git")
    assert none_at(tmp_path, rules=PathRules(deny=["private/**"]))


def with_submodule(tmp_path: Path) -> tuple[Made, str]:
    library = made(tmp_path / "library")
    in_library = library.commit("library", x__py="1\n")
    outer = made(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "library"), "my lib")
    outer.commit("outer", a__py="1\n")
    return outer, in_library


def test_a_path_in_a_submodule_belongs_to_the_submodule(tmp_path: Path) -> None:
    outer, in_library = with_submodule(tmp_path)
    found = repository_for(Sight(outer.folder), ["my lib/x.py"])
    assert (found.folder, head(found)) == ("my lib", in_library)
    assert found.git_dir == str(outer.git_dir.resolve() / "modules/my lib")


def test_a_submodule_can_be_the_root(tmp_path: Path) -> None:
    outer, in_library = with_submodule(tmp_path)
    assert head(repository_for(Sight(outer.folder / "my lib"))) == in_library


def test_a_git_file_that_names_the_submodule_of_another_is_not_followed(tmp_path: Path) -> None:
    outer, _ = with_submodule(tmp_path)
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").write_text(f"gitdir: {outer.git_dir}/modules/my lib\n")
    assert none_at(thief)


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: ", b"gitdir:\n", b"nonsense", b"gitdir: a\0b\n", b"gitdir: " + b"x" * 9000]
)
def test_a_git_file_without_sense_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert none_at(tmp_path)


def test_a_pipe_in_the_place_of_a_repository_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert none_at(tmp_path)


def test_a_worktree_shape_in_the_wrong_place_is_not_followed(tmp_path: Path) -> None:
    """`commondir` could name anybody's repository; only `<main>/worktrees/<name>` of the same main is one."""
    victim = made(tmp_path / "victim")
    victim.commit("secret", a__py="1\n")
    thief = tmp_path / "thief"
    fake = thief / "fake/worktrees/x"
    fake.mkdir(parents=True)
    (fake / "commondir").write_text(f"{victim.git_dir}\n")
    (fake / "gitdir").write_text(f"{thief}/.git\n")
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (thief / ".git").write_text(f"gitdir: {fake}\n")
    assert none_at(thief)


def test_the_common_folder_of_an_ordinary_git_directory_is_not_asked_for(tmp_path: Path) -> None:
    victim = made(tmp_path / "victim")
    secret = victim.commit("secret", a__py="1\n")
    thief = made(tmp_path / "thief")
    own = thief.commit("own", b__py="1\n")
    (thief.git_dir / "commondir").write_text(f"{victim.git_dir}\n")
    found = repository_for(Sight(thief.folder))
    assert head(found) == own
    with pytest.raises(ToolFailure, match="No such commit"):
        commit_of(found, secret)


@pytest.mark.parametrize("target", ["there", "nowhere"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_git_folder_outside_that_does_not_point_back_is_told_as_such(tmp_path: Path, kind: str, target: str) -> None:
    """Whether it exists is not told."""
    (tmp_path / "r").mkdir()
    made(tmp_path / "r", "--separate-git-dir", str(tmp_path / "there"))
    (tmp_path / "r/.git").unlink()
    if kind == "file":
        (tmp_path / "r/.git").write_text(f"gitdir: {tmp_path / target}\n")
    else:
        (tmp_path / "r/.git").symlink_to(tmp_path / target)
    with pytest.raises(NoRepository) as told:
        repository_for(Sight(tmp_path / "r"))
    assert told.value.why == (
        "No git repository at the root that may be read: its .git leads to nothing, or outside the root "
        "to a folder that does not point back"
    )
    assert str(told.value).startswith(f"{told.value.why}. code/diff, ")


def test_a_git_folder_that_lacks_something_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(
        NoRepository,
        match=r"at the root that git could read: its \.git lacks HEAD, objects or refs, or one of them is a link\. ",
    ):
        repository_for(Sight(tmp_path))
