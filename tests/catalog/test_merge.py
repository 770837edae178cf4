"""Packs and the policy add to tools; a given tool keeps its own schema."""

from typing import Any

from rightcall.catalog.catalog import Catalog, build_catalog
from rightcall.catalog.tool import ALL_EFFECTS, PackTool
from rightcall.types import Rules

GIVEN = {
    "name": "write",
    "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}},
}
PACK_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def built(*overlays: PackTool, tools: Any = (GIVEN,)) -> Catalog:
    return build_catalog(list(tools), overlays)


def test_a_given_tool_keeps_its_schema_and_takes_the_rules_that_speak_of_its_arguments() -> None:
    pack = PackTool(
        "write",
        "Writes.",
        PACK_SCHEMA,
        ("write",),
        Rules(
            aliases={"path": "file_path", "text": "content", "file_path": "content", "x": "nowhere"},
            values={"content": {"a": "b"}, "nowhere": {"a": "b"}},
            defaults={"content": 5, "nowhere": 1},
            required=("file_path", "nowhere"),
            required_any=(("nowhere", "content"), ("nowhere", "there")),
            required_unless={"content": {"nowhere": (1,)}, "nowhere": {"content": ("a",)}},
            min_length={"content": 3, "nowhere": 1},
            paths=("file_path", "nowhere"),
        ),
        "p",
    )
    tool = built(pack).tools["write"]
    assert tool.schema == GIVEN["parameters"]
    assert tool.source == "given"
    assert tool.description == "Writes."
    assert tool.effects == {"write"}
    assert tool.rules == Rules(
        aliases={"path": "file_path", "text": "content"},
        values={"content": {"a": "b"}},
        required=("file_path",),
        required_any=(("content",),),
        min_length={"content": 3},
        paths=("file_path",),
    )
    assert tool.accepts({"file_path": "a", "content": "long"})


def test_a_tool_that_names_no_arguments_takes_all_rules() -> None:
    pack = PackTool("write", rules=Rules(required=("path",), aliases={"file": "path"}), pack="p")
    for parameters in ({"type": "object"}, {"type": "object", "properties": {"a": {}}, "additionalProperties": True}):
        tool = built(pack, tools=[{"name": "write", "parameters": parameters}]).tools["write"]
        assert tool.rules.required == ("path",)
        assert tool.rules.aliases == {"file": "path"}


def test_a_tool_that_only_a_pack_knows_is_added() -> None:
    catalog = built(PackTool("read", schema=PACK_SCHEMA, effects=("read",), pack="p"))
    tool = catalog.tools["read"]
    assert catalog.names == ("write", "read")
    assert (tool.source, tool.schema, tool.effects, tool.effects_declared) == ("pack:p", PACK_SCHEMA, {"read"}, True)


def test_later_wins_key_by_key_and_lists_as_a_whole() -> None:
    first = Rules(
        aliases={"a": "content", "b": "content"}, values={"content": {"x": "y", "u": "v"}}, required=("file_path",)
    )
    second = Rules(aliases={"b": "file_path"}, values={"content": {"x": "z"}}, required=("content",), repeatable=True)
    third = Rules(mode="warn", min_length={"content": 2})
    tool = built(
        PackTool("write", rules=first, effects=("read",), pack="p"),
        PackTool("write", rules=second, effects=("write",), pack="q"),
        PackTool("write", rules=third),
    ).tools["write"]
    assert tool.rules == Rules(
        aliases={"a": "content", "b": "file_path"},
        values={"content": {"x": "z", "u": "v"}},
        required=("content",),
        min_length={"content": 2},
        repeatable=True,
        mode="warn",
    )
    assert tool.effects == {"write"}


def test_a_tool_and_its_other_names_are_one_tool() -> None:
    pack = PackTool(
        "Write", schema=PACK_SCHEMA, rules=Rules(names=("write", "write_file"), required=("content",)), pack="p"
    )
    catalog = built(pack)
    assert catalog.names == ("write",)
    assert catalog.tools["write"].rules.required == ("content",)
    assert catalog.tools["write"].rules.names == ("Write", "write_file")
    policy = PackTool("write_file", rules=Rules(mode="warn"))
    assert built(pack, policy, tools=()).tools["Write"].rules.mode == "warn"


def test_a_policy_entry_that_says_nothing_of_a_call_makes_no_tool() -> None:
    assert built(PackTool("other", rules=Rules(mode="warn"))).names == ("write",)
    assert built(PackTool("other", rules=Rules(required=("a",)))).names == ("write", "other")
    assert built(PackTool("other", rules=Rules(required=("a",)))).tools["other"].source == "policy"


def test_a_tool_that_is_offered_is_not_gone_whatever_a_pack_says() -> None:
    gone = Rules(replaced_by="Write")
    assert not built(PackTool("write", rules=gone, pack="p")).tools["write"].deprecated
    assert built(PackTool("write", rules=gone)).tools["write"].deprecated
    assert built(PackTool("old", rules=gone, pack="p")).tools["old"].deprecated


def test_effects_nobody_declared_are_all_of_them() -> None:
    tool = built(PackTool("write", rules=Rules(mode="warn"))).tools["write"]
    assert (tool.effects, tool.effects_declared) == (ALL_EFFECTS, False)


def test_an_example_that_would_teach_a_wrong_call_is_dropped() -> None:
    right = Rules(example={"file_path": "a", "content": "b"})
    wrong = Rules(example={"path": "a"})
    assert built(PackTool("write", rules=right, pack="p")).tools["write"].rules.example == right.example
    assert built(PackTool("write", rules=wrong, pack="p")).tools["write"].rules.example is None
