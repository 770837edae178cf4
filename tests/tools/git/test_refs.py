"""What names a commit, and what does not."""

from hashlib import sha1
from pathlib import Path

import pytest

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight, Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import Span, commit_of, commits_of, span, split_path
from rightcall.tools.git.repository import Repository, repository_for
from support.every import every
from support.repositories import Made, made

pytestmark = pytest.mark.promise("C-08")

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
ODD_BRANCHES = (
    "feature/größe",
    "日本",
    "a;b",
    "with'quote",
    'with"quote',
    "a&b",
    "$(x)",
    "`x`",
    "a|b",
    "100%",
    "#1",
    "logs/x",
    "config",
    "shallow",
    "-minus",
)


class World:
    """One history that all of these tests look at."""

    def __init__(self, folder: Path) -> None:
        it = self.made = made(folder / "r")
        self.one = it.commit("one: begin", a__py="1\n")
        it.git("tag", "-a", "-m", "first", "v1.0")
        it.git("tag", "light")
        self.two = it.commit("two: fix a bug", a__py="2\n", __env="x\n")
        it.git("checkout", "-q", "-b", "side", self.one)
        self.side = it.commit("on the side", b__py="b\n")
        it.git("checkout", "-q", "main")
        it.git("merge", "-q", "--no-ff", "-m", "merge", "side", env={"GIT_COMMITTER_DATE": "1700001000 +0000"})
        self.merge = it.git("rev-parse", "HEAD")
        self.last = it.commit("last", c__py="c\n")
        for name in ODD_BRANCHES:
            it.git("update-ref", f"refs/heads/{name}", self.two)
        it.git("update-ref", "refs/remotes/origin/main", self.side)
        it.git("tag", "blob", it.git("rev-parse", "HEAD:a.py"))
        it.git("tag", "tree", it.git("rev-parse", "HEAD^{tree}"))
        self.sight = Sight(it.folder)
        self.repository = repository_for(self.sight)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("refs"))


@every(
    ("ref", "which"),
    [
        ("HEAD", "last"), ("@", "last"), ("main", "last"), ("heads/main", "last"), ("refs/heads/main", "last"),
        ("HEAD~1", "merge"), ("HEAD~", "merge"), ("HEAD^", "merge"), ("HEAD^^2", "side"), ("HEAD~1^2", "side"),
        ("HEAD~2", "two"), ("HEAD~3", "one"), ("main~3", "one"), ("@~3", "one"), ("HEAD^0", "last"),
        ("v1.0", "one"), ("v1.0^{}", "one"), ("v1.0^{commit}", "one"), ("tags/v1.0", "one"), ("refs/tags/v1.0", "one"),
        ("light", "one"), ("HEAD@{1}", "merge"), ("main@{1}", "merge"), ("@{1}", "merge"), ("main@{0}", "last"),
        ("@{-1}", "side"), ("main@{now}", "last"), ("main@{1 second ago}", "last"),
        ("main@{2037-01-01T10:00:00Z}", "last"), ("origin/main", "side"), ("remotes/origin/main", "side"),
        ("main@{2037-01-01}", "last"), ("HEAD^{commit}", "last"), ("v1.0~0", "one"), ("HEAD^1~0^{commit}", "merge"),
        *((name, "two") for name in ODD_BRANCHES if not name.startswith("-")),
        ("heads/-minus", "two"), ("refs/heads/-minus", "two"),
    ],
)  # fmt: skip
def test_what_git_knows_as_a_commit_is_one(world: World, ref: str, which: str) -> None:
    assert commit_of(world.repository, ref) == getattr(world, which)


def test_ids_may_be_short_or_whole_and_as_git_describes_them(world: World) -> None:
    assert commit_of(world.repository, world.two) == world.two
    assert commit_of(world.repository, world.two[:8]) == world.two
    assert commit_of(world.repository, world.two.upper()) == world.two
    assert commit_of(world.repository, f"v1.0-1-g{world.two[:9]}") == world.two


def test_several_names_are_looked_up_at_once(world: World) -> None:
    assert commits_of(world.repository, ["HEAD", "v1.0", world.two[:7]]) == [world.last, world.one, world.two]
    with pytest.raises(ToolFailure, match="No such commit: nope"):
        commits_of(world.repository, ["HEAD", "nope"])


@every(
    "ref",
    [
        "", " ", "-", "--", "-x", "--all", "--help", "-p", "--output=x", "--exec=x", "--branches", "--git-dir=/",
        "-minus",
        "nope", "HEAD~99", "HEAD^3", "HEAD^{blob}", "blob", "tree", "HEAD^{tree}", "HEAD:a.py", "HEAD:",
        "refs/heads/nope",
        "..", "...", "HEAD..main", "HEAD...main", "HEAD..", "^HEAD", "HEAD^@", "HEAD^!", "HEAD^-",
        ":a.py", ":0:a.py", ":1:a.py", ":", ":/", ":/there is no such text", "HEAD^{/there is no such text}", ":!x",
        "::",
        "HEAD\n", "HEAD\nHEAD", "HEAD\0", "\0", "HEAD\r", "HEAD\t", "\x1b[31m", "HEAD\x7f", "a\nb",
        "refs/../../x", "../HEAD", "refs/heads/../../HEAD", "./HEAD", "/HEAD", "/etc/passwd", "logs/HEAD",
        "packed-refs",
        "logs/refs/heads/main", "objects/info", ".own/shallow", ".own/none", "index", "HEAD.lock", "FETCH_HEAD",
        "MERGE_HEAD",
        "@{u}", "@{upstream}", "@{push}", "main@{u}", "main@{99}", "@{-9}", "@{", "HEAD@{", "HEAD^{", "HEAD^{nonsense}",
        "main ", " main", "main main", "HEAD HEAD", "HEAD^{commit} x", "0" * 40, "f" * 40, "f" * 64, "deadbeef",
        "zzzz", "a*", "ma?n",
        "[main]", "~", "^", "main~x", "main^x", "\ud800", "x" * 3_000, "HEAD" + "~" * 5_000,
        "HEAD^{/a{1,9}}", ":/(a{99}){99}", ":/one", ":/on the side", "HEAD^{/fix a bug}", "HEAD^{/^one}",
        "main^{ /one}", "HEAD^{!one}", "v1.0^{/one}~0", "main@{soonish}", "main@{}", "HEAD@{ }", "@{whenever}",
        "main@{last blue moon}",
        "main@{99999-01-01}",
    ],
)  # fmt: skip
def test_what_is_no_commit_is_refused_in_our_own_words(world: World, ref: str) -> None:
    with pytest.raises(ToolFailure) as refused:
        commit_of(world.repository, ref)
    said = str(refused.value)
    assert "fatal" not in said
    assert "error:" not in said
    assert len(said) < 400
    assert said.isprintable()


def test_megabytes_for_a_name_are_refused_at_once(world: World) -> None:
    with pytest.raises(ToolFailure, match="No such commit: xxx"):
        commit_of(world.repository, "x" * 3_000_000)


def test_a_refusal_says_what_would_be_right(world: World) -> None:
    with pytest.raises(ToolFailure) as refused:
        commit_of(world.repository, "no\x1bpe")
    assert str(refused.value) == (
        "No such commit: no\\u001bpe. A branch, a tag, a commit id, HEAD or HEAD~2 would be right"
    )
    with pytest.raises(ToolFailure, match="name a commit, not staged changes"):
        commit_of(world.repository, ":0:a.py")


def test_a_short_id_of_several_commits_asks_for_more_digits(tmp_path: Path) -> None:
    it = made(tmp_path / "r")
    tree = it.git("hash-object", "-t", "tree", "-w", "/dev/null")
    seen: dict[str, str] = {}
    twin = None
    while twin is None:  # two of 4 digits in common turn up soon
        number = len(seen)
        who = f"A <a@b> {1_700_000_000 + number} +0000"
        content = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n".encode()
        name = sha1(b"commit %d\0" % len(content) + content).hexdigest()
        if name[:4] in seen:
            twin = name[:4]
            for both in (content, seen[twin].encode()):
                it.git("hash-object", "-t", "commit", "-w", "--stdin", input=both)
        seen[name[:4]] = content.decode()
    it.commit("one", a__py="1\n")
    with pytest.raises(ToolFailure, match=f"More than one commit begins with {twin}: write more digits"):
        commit_of(repository_for(Sight(it.folder)), twin)


def spanned(world: World, base: str, compare: str | None = None) -> Span:
    return span(world.sight, world.repository, base, compare)


def test_a_base_alone_is_compared_with_the_working_tree(world: World) -> None:
    assert spanned(world, "HEAD~1") == Span(world.merge, None, None)
    assert spanned(world, "HEAD~1", "HEAD") == Span(world.merge, world.last, None)


def test_ranges_name_both_sides(world: World) -> None:
    assert spanned(world, "v1.0..HEAD") == Span(world.one, world.last, None)
    assert spanned(world, "v1.0..") == Span(world.one, world.last, None)
    assert spanned(world, "..v1.0") == Span(world.last, world.one, None)
    for text in ("HEAD^{/fix a bug}..HEAD", "HEAD^{/two..fix}", ":/two..fix", "HEAD..:/two"):
        with pytest.raises(ToolFailure, match="No such commit"):
            spanned(world, text)


def test_three_dots_begin_at_the_common_ancestor(world: World) -> None:
    assert spanned(world, f"{world.two}...side") == Span(world.one, world.side, None)


def test_a_commit_with_an_exclamation_mark_is_what_it_changed(world: World) -> None:
    assert spanned(world, "HEAD^!") == Span(world.merge, world.last, None)
    assert spanned(world, f"{world.merge}^!") == Span(world.two, world.merge, None)
    assert spanned(world, "v1.0^!") == Span(EMPTY_TREE, world.one, None)
    assert spanned(world, "HEAD^-") == Span(world.merge, world.last, None)


def test_the_tree_of_a_commit_is_as_good_as_the_commit(world: World) -> None:
    assert spanned(world, "HEAD^{tree}") == Span(world.last, None, None)
    assert spanned(world, "HEAD:") == Span(world.last, None, None)


def test_histories_without_a_common_past_say_so(world: World) -> None:
    orphan = world.made.git("commit-tree", "-m", "alone", "HEAD^{tree}")
    with pytest.raises(ToolFailure, match="no common ancestor"):
        spanned(world, f"HEAD...{orphan}")


@every(
    "base",
    [
        "..",
        "...",
        "nope..HEAD",
        "HEAD..nope",
        "--all..HEAD",
        "HEAD..--all",
        "a..b..c",
        "^!",
        "HEAD..HEAD..HEAD",
        "HEAD....main",
    ],
)
def test_a_range_of_what_is_no_commit_is_refused(world: World, base: str) -> None:
    with pytest.raises(ToolFailure, match="No such commit"):
        spanned(world, base)


def test_a_range_leaves_no_room_for_a_second_commit(world: World) -> None:
    with pytest.raises(ToolFailure, match="leave compare out"):
        spanned(world, "HEAD~1..HEAD", "main")


def test_a_path_in_a_commit_limits_what_is_compared(world: World) -> None:
    assert spanned(world, "HEAD:a.py") == Span(world.last, None, "a.py")
    assert spanned(world, "HEAD:./a.py") == Span(world.last, None, "a.py")
    assert spanned(world, "v1.0:a.py..HEAD:a.py") == Span(world.one, world.last, "a.py")
    with pytest.raises(ToolFailure, match="different paths"):
        spanned(world, "v1.0:a.py", "HEAD:b.py")


@every(
    "base",
    [
        "HEAD:.env", "HEAD:./.env", "HEAD:a/../.env", "HEAD:.ENV", "HEAD:x/.env", "HEAD:.git/config", "HEAD:../x",
        "HEAD:/a.py",
        "HEAD:nope.py", "HEAD:a.py/x", "HEAD:a//b", "HEAD:.", "HEAD:..", "HEAD~2:.env", "main@{0}:.env",
        "HEAD:.env..HEAD:.env",
        "HEAD:secrets/x", "HEAD:a\nb", "HEAD^{/x:y}:.env", "HEAD:.env/", ":/two:.env/..",
    ],
)  # fmt: skip
def test_a_path_that_may_not_be_seen_is_as_absent_as_any(world: World, base: str) -> None:
    with pytest.raises(ToolFailure, match="No such"):
        spanned(world, base)


def test_a_refused_path_and_an_absent_one_are_answered_alike(world: World) -> None:
    with pytest.raises(Unseen) as refused:
        spanned(world, "HEAD:.env")
    with pytest.raises(Unseen) as absent:
        spanned(world, "HEAD:.foo")
    with pytest.raises(Unseen) as nothing:
        spanned(world, "HEAD:foo")
    assert str(refused.value).replace("env", "foo") == str(absent.value) == str(nothing.value).replace("foo", ".foo")


def test_a_name_and_its_path_come_apart(world: World) -> None:
    assert split_path(world.sight, "HEAD:a.py") == ("HEAD", "a.py")
    assert split_path(world.sight, "HEAD^{/fix: it}:src/a.py") == ("HEAD^{/fix: it}", "src/a.py")
    assert split_path(world.sight, "HEAD^{/fix: it}") == ("HEAD^{/fix: it}", None)
    assert split_path(world.sight, ":/fix: it") == (":/fix: it", None)
    assert split_path(world.sight, "HEAD") == ("HEAD", None)
    inner = Repository("/r/private/.git", "/r/private/.git", "private", "/r")
    with pytest.raises(Unseen):
        split_path(Sight("/r", PathRules(deny=["private/a.py"])), "HEAD:a.py", inner)


def test_a_moved_branch_is_seen_at_once(tmp_path: Path) -> None:
    it: Made = made(tmp_path / "r")
    first = it.commit("one", a__py="1\n")
    repository = repository_for(Sight(it.folder))
    assert commit_of(repository, "HEAD") == first
    second = it.commit("two", a__py="2\n")
    assert commit_of(repository, "HEAD") == second
    it.git("checkout", "-q", "-b", "other", first)
    assert commit_of(repository, "HEAD") == first
    it.git("pack-refs", "--all")
    it.git("gc", "-q", "--prune=now")
    assert commits_of(repository, ["HEAD", "main"]) == [first, second]
    it.git("checkout", "-q", "--detach", second)
    assert commit_of(repository, "HEAD") == second
