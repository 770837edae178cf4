"""Going through folders."""

import os
import socket
from pathlib import Path

import pytest

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.tools.code.listing import Place, walk
from support.every import every


def tree(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)


def walked(root: Path, start: str = ".", rules: PathRules | None = None) -> list[tuple[str, list[str], list[str]]]:
    sight = Sight(root, rules)
    with sight.folder(start) as folder:
        return [(place.path, list(place.folders), list(place.files)) for place in walk(sight, folder)]


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.promise("C-03")
def test_parents_come_before_children_and_names_in_order(tmp_path: Path) -> None:
    tree(tmp_path, "b/2.py", "b/1.py", "a/z/deep.py", "a/x.py", "top.py")
    assert walked(tmp_path) == [
        ("", ["a", "b"], ["top.py"]),
        ("a", ["z"], ["x.py"]),
        ("a/z", [], ["deep.py"]),
        ("b", [], ["1.py", "2.py"]),
    ]
    assert walked(tmp_path, "a") == [("a", ["z"], ["x.py"]), ("a/z", [], ["deep.py"])]


@pytest.mark.promise("C-03", "P-03")
def test_what_the_rules_refuse_is_not_there(tmp_path: Path) -> None:
    tree(tmp_path, ".env", ".git/config", "node_modules/x/i.js", "id_rsa", "secrets/a.py", "a/.ENV.py", "Private/x.py")
    tree(tmp_path, ".gitignore", ".github/ci.yml", "src/secretary.py", "src/secret.json", "a\\.env")
    seen = walked(tmp_path, rules=PathRules(deny=["private/**"]))
    assert seen == [
        ("", [".github", "a", "src"], [".gitignore"]),
        (".github", [], ["ci.yml"]),
        ("a", [], []),
        ("src", [], ["secretary.py"]),
    ]


@pytest.mark.promise("P-03")
def test_only_files_folders_and_links_appear(tmp_path: Path) -> None:
    tree(tmp_path, "file.py", "folder/inner.py")
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.py"))
        (tmp_path / "link.py").symlink_to("file.py")
        (tmp_path / "elsewhere").symlink_to("/etc")
        (tmp_path / "loop").symlink_to(".")
        sight = Sight(tmp_path)
        with sight.folder() as folder:
            first = next(walk(sight, folder))
    assert (first.files, first.folders) == (["file.py"], ["folder"])
    assert first.links == ["elsewhere", "link.py", "loop"]


def test_a_folder_taken_out_is_not_gone_into(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "b/x.py")
    sight = Sight(tmp_path)
    seen: list[str] = []
    with sight.folder() as folder:
        for place in walk(sight, folder):
            seen.append(place.path)
            if "a" in place.folders:
                place.folders.remove("a")
    assert seen == ["", "b"]


@pytest.mark.promise("P-03")
def test_a_folder_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    tree(outside, "loot.py")
    root = tmp_path / "root"
    tree(root, "a/x.py", "b/inner/y.py", "c/z.py")
    sight = Sight(root)
    seen: list[tuple[str, list[str]]] = []
    with sight.folder() as folder:
        for place in walk(sight, folder):
            seen.append((place.path, place.files))
            if place.path == "a":  # b has been listed as a folder by now
                (root / "b").rename(tmp_path / "moved")
                (root / "b").symlink_to(outside)
            if place.path == "c":
                assert os.listdir(place.fd) == ["z.py"]
    assert seen == [("", []), ("a", ["x.py"]), ("c", ["z.py"])]


def test_a_folder_that_cannot_be_opened_is_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "b/x.py", "c/x.py")
    sight = Sight(tmp_path)
    seen: list[str] = []
    with sight.folder() as folder:
        for place in walk(sight, folder):
            seen.append(place.path)
            if place.path == "a":
                (tmp_path / "b" / "x.py").unlink()
                (tmp_path / "b").rmdir()
    assert seen == ["", "a", "c"]


def test_a_deep_tree_keeps_two_descriptors_open_and_leaves_none(tmp_path: Path) -> None:
    tree(tmp_path, "/".join(["d"] * 200) + "/end.py")
    sight = Sight(tmp_path)
    before = open_descriptors()
    with sight.folder() as folder:
        most = 0
        places = 0
        for _ in walk(sight, folder):
            most = max(most, open_descriptors())
            places += 1
    assert places == 201
    assert most <= before + 3  # the folder to start from, the root, the place itself
    assert open_descriptors() == before


def test_whoever_stops_early_leaves_nothing_open(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "b/x.py")
    sight = Sight(tmp_path)
    before = open_descriptors()
    with sight.folder() as folder:
        places = walk(sight, folder)
        next(places)
        next(places)
        places.close()
    assert open_descriptors() == before


def test_names_of_any_bytes_are_walked(tmp_path: Path) -> None:
    names = [b"new\nline.py", b'quo"te.py', b"-dash.py", b"sp ace.py", "größe.py".encode(), b"caf\xe9.py"]
    for name in names:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_text("x")
    [(_, _, files)] = walked(tmp_path)
    assert sorted(os.fsencode(name) for name in files) == sorted(names)


def test_a_place_knows_its_depth() -> None:
    assert [Place(path, -1).depth for path in ("", "a", "a/b")] == [0, 1, 2]


@pytest.mark.promise("P-03")
@every(
    "folder",
    [
        "",
        "src",
        ".github",
        ".GitHub",
        "secrets",
        "node_modules",
        "x.key",
        ".hidden",
        "a/../b",
        "A\\b",
        "/abs",
        "d/" * 2040,
    ],
)
@every("deny", [(), ("src/app.py",), ("**/*.md",)])
def test_many_names_are_judged_as_each_of_them(folder: str, deny: tuple[str, ...]) -> None:
    rules = PathRules(deny=deny)
    plain = [
        "app.py", "APP.PY", ".env.py", "secret.py", "secret.md", "secret.txt", "..", ".", ".py", "x.pem", "X.PEM",
        "node_modules", "Node_Modules", "..py", "readme.md", "plain", "x.", "x ", ".git", "secrets", "a.ENV", "k",
        "x.tfstate.backup", "id_rsa", "id_x_sk", "ID_ED25519", "kubeconfig", "my_password.txt", ".htpasswd",
        "site.KDBX", "v.p12", "",
    ]  # fmt: skip
    odd = [
        "a\\.env",
        "a\\b.py",
        "größe.py",
        "\0.py",
        "C:\\x.py",
        "C:",
        "a.pem::$DATA",
        "\u017fecret.json",
        "x.\u212aey",
    ]
    for names in (plain, odd, plain + odd, []):
        expected = [name for name in names if rules.refuses(f"{folder}/{name}" if folder else name) is None]
        assert rules.touchable(folder, list(names)) == expected
