"""Packs `guardrail`, `composio`, `local-toolkit` and `claude` against the tables of the Tool Schema Guardrails."""

from typing import Any

import pytest
from msgspec import Struct

from rightcall.catalog.packs import load_pack
from rightcall.types import Batch, Rules
from support.every import every


class Row(Struct, frozen=True):
    """One line of the design's tables. `more_than` is its "> 10 chars"."""

    required: tuple[str, ...]
    more_than: dict[str, int] = {}
    any_of: tuple[tuple[str, ...], ...] = ()
    replaced_by: str | None = None


NATIVE = {
    "write": Row(("file_path", "content"), more_than={"content": 10}),
}
LOCAL_TOOLKIT = {
    "write_local_file": Row(("path", "content"), more_than={"content": 10}, replaced_by="write"),
    "read_local_file": Row(("path",), replaced_by="Read"),
    "list_directory": Row(("path",)),
    "upload_to_composio": Row(("path", "tool_slug", "toolkit_slug")),
}
COMPOSIO = {
    "gmail_send_email": Row(("subject", "body"), any_of=(("recipient_email", "to"),)),
    "composio_search_web": Row(("query",)),
    "composio_search_news": Row(("query",)),
    "composio_multi_execute_tool": Row(("tools",)),
}
DESIGN = {**NATIVE, **LOCAL_TOOLKIT, **COMPOSIO}

# Beyond the design's tables, in `guardrail`: the spelling hosts use (the same tool, and a right call), which arguments
# are paths, that arguments the design does not speak of stay, where the batch keeps its calls, and how a call of a
# deprecated tool becomes one of its replacement.
SLUGS = {name.upper(): name for name in COMPOSIO}
ALSO = {"guardrail": {"Write": "write", **SLUGS}, "composio": SLUGS, "local-toolkit": {}}
PATHS = {"write": ("file_path",)} | dict.fromkeys(LOCAL_TOOLKIT, ("path",))
RENAMED = {"write_local_file": {"path": "file_path"}, "read_local_file": {"path": "file_path"}}
BATCH = {"composio_multi_execute_tool": Batch("tools")}


def rules_of(pack: str) -> dict[str, Rules]:
    return {tool.name: tool.rules for tool in load_pack(pack).tools}


def schemas_of(pack: str) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.schema or {} for tool in load_pack(pack).tools}


@pytest.mark.promise("V-08")
def test_each_pack_has_the_tools_of_its_table() -> None:
    assert set(rules_of("guardrail")) == {*DESIGN, *ALSO["guardrail"]}
    assert set(rules_of("local-toolkit")) == set(LOCAL_TOOLKIT)
    assert set(rules_of("composio")) == {*COMPOSIO, *ALSO["composio"]}


@pytest.mark.parametrize("pack", ["guardrail", "composio"])
@pytest.mark.promise("V-08")
def test_the_spelling_a_host_uses_is_the_same_tool(pack: str) -> None:
    for other, name in ALSO[pack].items():
        assert rules_of(pack)[other] == rules_of(pack)[name], other
        assert schemas_of(pack)[other] == schemas_of(pack)[name], other


@every("name", DESIGN)
@pytest.mark.promise("V-08", "V-02", "V-06", "V-07")
def test_guardrail_says_what_the_design_says_and_nothing_more(name: str) -> None:
    row, rules = DESIGN[name], rules_of("guardrail")[name]
    assert rules == Rules(
        required=row.required,
        required_any=row.any_of,
        min_length={argument: shorter + 1 for argument, shorter in row.more_than.items()},
        example=rules.example,
        replaced_by=row.replaced_by,
        replacement_arguments=RENAMED.get(name, {}),
        batch=BATCH.get(name),
        paths=PATHS.get(name, ()),
        unknown_argument="keep",
    )
    schema = schemas_of("guardrail")[name]
    assert set(schema["properties"]) == {*row.required, *(argument for group in row.any_of for argument in group)}
    assert schema["required"] == list(row.required)


@pytest.mark.parametrize(("pack", "table"), [("composio", COMPOSIO), ("local-toolkit", LOCAL_TOOLKIT)])
@pytest.mark.promise("V-08", "V-02", "V-06", "V-07")
def test_the_packs_of_each_kit_require_what_the_design_requires(pack: str, table: dict[str, Row]) -> None:
    for name, row in table.items():
        rules = rules_of(pack)[name]
        assert rules.required == row.required, name
        assert rules.required_any == row.any_of, name
        assert rules.min_length == {}, name  # the minimum lives in `guardrail`: short files are real
        assert rules.batch == BATCH.get(name), name
        assert rules.paths == PATHS.get(name, ()), name
        assert rules.replacement_arguments == RENAMED.get(name, {}), name
        assert schemas_of(pack)[name]["required"] == list(row.required), name


# Beyond the design: names that models use for the arguments, and a few optional arguments Composio really has.
ALIASES = {
    "gmail_send_email": {
        **dict.fromkeys(("recipient", "email"), "recipient_email"),
        **dict.fromkeys(("message", "content", "text"), "body"),
        "title": "subject",
    },
    "composio_search_web": dict.fromkeys(("q", "search", "search_query", "question"), "query"),
    "composio_search_news": dict.fromkeys(("q", "search", "search_query", "topic"), "query"),
    "composio_multi_execute_tool": dict.fromkeys(("calls", "tool_calls"), "tools"),
    "write_local_file": {
        **dict.fromkeys(("file_path", "filename", "file"), "path"),
        **dict.fromkeys(("text", "contents"), "content"),
    },
    "read_local_file": dict.fromkeys(("file_path", "filename", "file"), "path"),
    "list_directory": dict.fromkeys(("directory", "dir", "folder", "directory_path"), "path"),
    "upload_to_composio": {
        **dict.fromkeys(("file_path", "filename", "file"), "path"),
        "tool": "tool_slug",
        "toolkit": "toolkit_slug",
    },
}
OPTIONAL = {"gmail_send_email": {"cc", "bcc", "is_html"}}


@pytest.mark.parametrize("pack", ["composio", "local-toolkit"])
@pytest.mark.promise("V-08")
def test_what_the_kits_add_to_the_design_is_written_down_here(pack: str) -> None:
    for name, rules in rules_of(pack).items():
        if name in ALSO[pack]:
            continue
        row = DESIGN[name]
        named = {*row.required, *(argument for group in row.any_of for argument in group)}
        assert rules.aliases == ALIASES[name], name
        assert set(schemas_of(pack)[name]["properties"]) - named == OPTIONAL.get(name, set()), name
        assert rules.names == (), name
        assert (rules.values, rules.defaults, rules.required_unless, rules.mode) == ({}, {}, {}, None), name


@pytest.mark.promise("V-07")
def test_the_deprecated_tools_of_the_local_toolkit_name_claudes_own() -> None:
    rules = rules_of("local-toolkit")
    assert {name: rule.replaced_by for name, rule in rules.items() if rule.replaced_by} == {
        "write_local_file": "Write",
        "read_local_file": "Read",
    }


@pytest.mark.promise("V-06")
@pytest.mark.parametrize("pack", ["composio", "guardrail"])
def test_an_inner_call_of_a_batch_has_a_slug_and_arguments(pack: str) -> None:
    tools = schemas_of(pack)["composio_multi_execute_tool"]["properties"]["tools"]
    assert tools["type"] == "array"
    assert tools["minItems"] == 1
    assert tools["items"]["required"] == ["tool_slug", "arguments"]


@pytest.mark.promise("V-08")
def test_claudes_write_has_the_designs_fields_its_lower_case_name_and_no_minimum() -> None:
    write = rules_of("claude")["Write"]
    schema = schemas_of("claude")["Write"]
    assert "write" in write.names
    assert schema["required"] == ["file_path", "content"]
    assert write.min_length == {}
    assert write.paths == ("file_path",)


@pytest.mark.parametrize(
    ("pack", "effects"),
    [
        (
            "guardrail",
            {
                "write": {"write"},
                "write_local_file": {"write"},
                "read_local_file": {"read"},
                "list_directory": {"read"},
                "upload_to_composio": {"read", "network"},
                "gmail_send_email": {"write", "network"},
                "composio_search_web": {"network"},
                "composio_search_news": {"network"},
                "composio_multi_execute_tool": {"read", "write", "execute", "network"},
            },
        ),
    ],
)
@pytest.mark.promise("V-08")
def test_effects_are_declared_alike_in_every_pack(pack: str, effects: dict[str, set[str]]) -> None:
    assert set(effects) == set(DESIGN)
    for kit in (pack, "composio", "local-toolkit"):
        for tool in load_pack(kit).tools:
            assert set(tool.effects or ()) == effects[ALSO[kit].get(tool.name, tool.name)], (kit, tool.name)
