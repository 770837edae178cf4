"""Edits of JSON text: what is added means what it should, and what is removed leaves the text as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.hosts.install.edits import NotReadable, hollow_of, read, with_child, without_child
from rightcall.hosts.install.places import Wish, hook_handler, is_our_hook, is_passing, words_of
from support.every import every
from support.host_settings import as_host

blanks = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " // c\n", " /* , ] } */ ", "\n\n", "/**/"])
scalars = st.sampled_from(["1", "-2.5e3", "true", "null", '"x"', '"// \\" ,]"', '"\\u00e9"'])


def containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def joined(parts: list[str], gaps: list[str], trailing: bool, opening: str, closing: str) -> str:
        named = [f'"k{at}":{gaps[at]}{part}' if opening == "{" else part for at, part in enumerate(parts)]
        body = ",".join(f"{gaps[at]}{one}{gaps[-at - 1]}" for at, one in enumerate(named))
        return opening + (body or gaps[0]) + ("," if trailing and parts else "") + gaps[-1] + closing

    shapes = st.sampled_from([("[", "]"), ("{", "}")])
    lists = st.lists(inner, max_size=3), st.lists(blanks, min_size=4, max_size=4), st.booleans(), shapes
    return st.tuples(*lists).map(lambda one: joined(one[0], one[1], one[2], *one[3]))


texts = st.recursive(scalars, containers, max_leaves=6)
DATA = {"matcher": "*", "hooks": [{"command": "x y"}]}


@pytest.mark.promise("H-08")
@given(texts, texts)
def test_what_is_added_comes_out_again_to_the_last_byte(one: str, two: str) -> None:
    text = f'{{"a": {one},\n  "b": {two}}}'
    for path in ((), ("a",), ("b",)):
        box = read(text)
        for step in path:
            box = box.get(step) or box
        if box.kind not in ("object", "array"):
            continue
        key = "new" if box.kind == "object" else None
        added = with_child(text, path, DATA, key)
        assert as_host(added.encode()) == expected(as_host(text.encode()), path, key)
        hollow = hollow_of(text, path)
        assert without_child(added, path, len(box.children), hollow or "") == text


def expected(settings: Any, path: tuple[str, ...], key: str | None) -> Any:
    box = settings
    for step in path:
        box = box[step]
    if key is None:
        box.append(DATA)
    else:
        box[key] = DATA
    return settings


@given(st.text(alphabet='{}[]",:/*\\ \n1ae', max_size=40))
def test_any_text_is_read_as_others_read_it_or_refused(text: str) -> None:
    try:
        found = read(text).plain()
    except NotReadable:
        assert not is_json(text)
    else:
        assert found == _numbers_kept(json.loads(_bare(text)))


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _bare(text: str) -> str:
    return json.dumps(as_host(text.encode()))


def _numbers_kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers_kept(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers_kept(item) for item in value]
    return ("number", value) if isinstance(value, str) and value.lstrip("-")[:1].isdigit() else value


@every(
    ("host", "windows", "expected"),
    [
        ("claude-code", False, {"command": "'/opt/my bin/rightcall' hook claude --mode warn"}),
        ("gemini", False, {"command": "'/opt/my bin/rightcall' hook gemini --mode warn"}),
        ("codex", True, {"command": '"/opt/my bin/rightcall" hook codex --mode warn'}),
        ("gemini", True, {"command": "& '/opt/my bin/rightcall' hook gemini --mode warn"}),
        ("claude-code", True, {"command": "/opt/my bin/rightcall", "args": ["hook", "claude", "--mode", "warn"]}),
    ],
)
def test_the_command_is_written_for_the_hosts_shell_and_recognised_again(
    host: str, windows: bool, expected: dict[str, Any]
) -> None:
    handler = hook_handler(host, Wish(("/opt/my bin/rightcall",), windows=windows), "warn", None)
    assert handler == expected
    assert is_our_hook(host, words_of(handler["command"], handler.get("args")))


def test_a_windows_path_is_recognised_again() -> None:
    for host in ("codex", "gemini", "claude-code"):
        handler = hook_handler(host, Wish((r"C:\Program Files\x\rightcall.exe",), windows=True), "warn", None)
        assert is_our_hook(host, words_of(handler["command"], handler.get("args")))


@every(
    "command",
    [
        "rightcall check x y",
        "notrightcall hook claude",
        "echo rightcall hook claude",
        "rightcall hook codex",
        "'",
        "",
        None,
    ],
)
def test_what_is_not_our_hook_is_not_taken_for_it(command: str | None) -> None:
    assert not is_our_hook("claude-code", words_of(command, ()))


def test_a_program_in_a_cache_is_noticed() -> None:
    assert is_passing(("/home/a/.cache/uv/archive-v0/x/bin/rightcall",))
    assert not is_passing(("/home/a/.local/bin/rightcall",))


@pytest.mark.promise("H-08")
@every(
    ("text", "at", "left"),
    [
        ('{"a": 1, "b": 2, "c": 3}', 0, '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', 1, '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', 2, '{"a": 1, "b": 2}'),
        ('{"a": 1 /* mine */, "b": 2}', 0, '{ /* mine */ "b": 2}'),
        ('{"a": 1, "b": 2 /* mine */, "c": 3}', 1, '{"a": 1, /* mine */ "c": 3}'),
        ('{"a": 1, // mine\n "b": 2}', 1, '{"a": 1 // mine\n}'),
        ('{"a": 1, // mine\r\n "b": 2, "c": 3}', 1, '{"a": 1, // mine\n "c": 3}'),
        ('{ // mine\n "a": 1, "b": 2}', 0, '{ // mine\n "b": 2}'),
        ('{"a": 1, /* mine // */\n "b": 2}', 1, '{"a": 1 /* mine // */}'),
        ('{"a": 1, // mine\n "b": 2\n}', 1, '{"a": 1 // mine\n}'),
        ('{"a": 1}', 0, "{}"),
    ],
)
def test_what_is_removed_takes_its_comma_along_and_no_comment_of_anybody(text: str, at: int, left: str) -> None:
    done = without_child(text, (), at)
    assert as_host(done.encode()) == as_host(left.encode())
    assert done.count("mine") == text.count("mine")
