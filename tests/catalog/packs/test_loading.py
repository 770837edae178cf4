"""Packs load by name or path, from data alone; what is wrong in one is named with its file and line."""

import tomllib
from pathlib import Path

import pytest

from rightcall.catalog.packs import (
    FILE,
    available_packs,
    compiled_packs,
    load_pack,
    lookup,
    packs_about,
    read_pack_text,
)
from rightcall.errors import PackError
from support.every import every
from support.pace import process_time

SHIPPED = ("agent-zero", "claude", "code", "composio", "edit-files", "gaia", "guardrail", "local-toolkit", "room")

GOOD = """\
[pack]
name = "mine"
title = "My tools"
description = "What my tools need."
version = "3"

[tools.send_note]
description = "Send a note."
effects = ["write", "network"]
names = ["SendNote"]
aliases = { message = "text" }
values.level = { hi = "high" }
defaults = { level = "low" }
required = ["text"]
required_any = [["to", "group"]]
required_unless = { to = { level = ["low"] } }
min_length = { text = 3 }
json_text = ["data"]
example = { text = "hello", to = "ada", level = "low" }
paths = ["file"]
urls = ["link.url"]
commands = ["text"]
repeatable = true
mode = "warn"
unknown_argument = "refuse"
strategies = ["ast", "structure"]
[tools.send_note.parameters.properties]
text = { type = "string" }
to = { type = "string" }
group = { type = "string" }
level = { type = "string", enum = ["low", "high"] }
data = { type = "string" }
file = { type = "string" }
link = { type = "object" }

[tools.old_note]
replaced_by = "send_note"
replacement_arguments = { words = "text" }
"""


@pytest.mark.promise("V-08")
def test_the_shipped_packs_are_exactly_these() -> None:
    assert available_packs() == SHIPPED


@every("name", SHIPPED)
@pytest.mark.promise("V-08")
def test_a_shipped_pack_stands_up_to_the_checks_made_on_a_users_pack(name: str) -> None:
    pack = load_pack(name)
    text = Path(pack.source).read_text(encoding="utf-8")
    checked = read_pack_text(text, pack.source)
    assert checked == pack
    assert pack.name == name
    assert pack.title
    assert pack.description
    assert {tool.pack for tool in pack.tools} == {name}


@every("name", SHIPPED)
@pytest.mark.promise("V-08")
def test_every_tool_of_a_shipped_pack_has_description_schema_effects_and_example(name: str) -> None:
    for tool in load_pack(name).tools:
        assert tool.description, tool.name
        assert tool.schema is not None, tool.name
        assert tool.effects is not None, tool.name
        assert tool.rules.example is not None, tool.name


def test_the_compiled_packs_are_up_to_date() -> None:
    assert Path(FILE).read_bytes() == compiled_packs(), "run: python -m rightcall.catalog.packs"


def test_a_compiled_pack_is_used_only_for_the_very_text_it_was_made_from(tmp_path: Path) -> None:
    text = Path(load_pack("gaia").source).read_text(encoding="utf-8")
    assert lookup("gaia", text) is not None
    assert lookup("gaia", text + "\n# edited") is None
    assert lookup("nobody", text) is None
    assert lookup("gaia", text, tmp_path / "absent.json") is None
    broken = tmp_path / "broken.json"
    broken.write_bytes(b'{"gaia": {"checksum"')
    assert lookup("gaia", text, broken) is None


def test_loading_a_shipped_pack_takes_less_than_five_milliseconds_and_no_toml_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_text: str) -> None:
        raise AssertionError("the TOML parser was used")

    monkeypatch.setattr(tomllib, "loads", refuse)
    from rightcall.catalog.packs import _shipped

    best: dict[str, float] = {}
    for name in SHIPPED * 3:
        _shipped.cache_clear()
        begin = process_time()
        load_pack(name)
        best[name] = min(best.get(name, 1.0), process_time() - begin)
    assert max(best.values()) < 0.005, best


def test_a_pack_loaded_twice_is_the_same_object_until_its_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    first = load_pack(file)
    assert load_pack(str(file)) is first
    assert load_pack("claude") is load_pack("claude")
    file.write_text(GOOD.replace('version = "3"', 'version = "4"'), encoding="utf-8")
    assert load_pack(file).version == "4"


@pytest.mark.promise("V-02", "V-08")
def test_a_users_pack_says_everything_a_rule_can_say() -> None:
    pack = read_pack_text(GOOD, "mine.toml")
    assert (pack.name, pack.title, pack.version, pack.source) == ("mine", "My tools", "3", "mine.toml")
    note, old = pack.tools
    rules = note.rules
    assert note.effects == ("write", "network")
    assert note.schema is not None
    assert note.schema["type"] == "object"
    assert rules.names == ("SendNote",)
    assert rules.aliases == {"message": "text"}
    assert rules.values == {"level": {"hi": "high"}}
    assert rules.defaults == {"level": "low"}
    assert rules.required == ("text",)
    assert rules.required_any == (("to", "group"),)
    assert rules.required_unless == {"to": {"level": ("low",)}}
    assert rules.min_length == {"text": 3}
    assert rules.json_text == ("data",)
    assert (rules.paths, rules.urls, rules.commands) == (("file",), ("link.url",), ("text",))
    assert rules.repeatable
    assert (rules.mode, rules.unknown_argument) == ("warn", "refuse")
    assert rules.strategies == ("python_ast", "structure")
    assert old.schema is None
    assert old.effects is None
    assert (old.rules.replaced_by, old.rules.replacement_arguments) == ("send_note", {"words": "text"})


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_pack(file).name == "mine"


@every(
    ("name", "says"),
    [
        ("claud", "unknown pack 'claud'; did you mean 'claude'?"),
        ("Claude", "did you mean 'claude'?"),
        ("xyz", "expected one of: agent-zero, claude, code,"),
        ("", "A pack of your own is given by its path, which ends in .toml"),
    ],
)
def test_an_unknown_pack_is_refused_with_the_name_that_was_meant(name: str, says: str) -> None:
    with pytest.raises(PackError) as caught:
        load_pack(name)
    assert says in str(caught.value)


def test_a_pack_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"absent\.toml: the pack cannot be read: No such file"):
        load_pack(tmp_path / "absent.toml")
    with pytest.raises(PackError, match="the pack cannot be read"):
        load_pack("nul\0.toml")
    file = tmp_path / "latin.toml"
    file.write_bytes(b'[pack]\nname = "caf\xe9"\n')
    with pytest.raises(PackError, match=r"latin\.toml:2: not UTF-8"):
        load_pack(file)


@every(
    ("right", "wrong", "line", "says"),
    [
        # shape
        ("[tools.send_note]", "[tools.send_note", 7, "not valid TOML"),
        ("[pack]", "[packs]", 1, "packs: unknown key; did you mean 'pack'?"),
        ('name = "mine"', 'title = "mine"', 3, "not valid TOML"),
        ('name = "mine"', 'name = " "', 1, "pack: needs a name"),
        ('name = "mine"', "name = 3", 2, "pack.name: must be a text, not a number"),
        ('version = "3"', 'vers = "3"', 5, "pack.vers: unknown key; did you mean 'version'?"),
        ("aliases =", "alias =", 11, "tools.send_note.alias: unknown key; did you mean 'aliases'?"),
        # types
        (
            'effects = ["write",',
            'effects = ["writes",',
            9,
            "effects[0]: 'writes' is not a valid choice; did you mean 'write'?",
        ),
        ('names = ["SendNote"]', 'names = "SendNote"', 10, "names: must be a list of texts, not a text"),
        (
            'aliases = { message = "text" }',
            "aliases = { message = 1 }",
            11,
            "aliases.message: must be a text, not a number",
        ),
        ('values.level = { hi = "high" }', 'values.level = ["hi"]', 12, "values.level: must be a table, not a list"),
        ('[["to", "group"]]', '["to", "group"]', 15, "required_any[0]: must be a list of texts, not a text"),
        ('[["to", "group"]]', '"to"', 15, "must be a list of groups"),
        ('[["to", "group"]]', '[["to"]]', 15, "a group names at least two arguments"),
        ('{ level = ["low"] }', '{ level = "low" }', 16, "required_unless.to.level: must be a list of values"),
        ("{ text = 3 }", '{ text = "3" }', 17, "min_length.text: must be a whole number from 0 to 1000000, not '3'"),
        ("{ text = 3 }", "{ text = true }", 17, "min_length.text: must be a whole number"),
        ("repeatable = true", 'repeatable = "yes"', 23, "repeatable: must be true or false, not a text"),
        ('mode = "warn"', 'mode = "warning"', 24, "mode: 'warning' is not a valid choice; did you mean 'warn'?"),
        ('mode = "warn"', "mode = 1", 24, "mode: must be one of block, warn, observe, not a number"),
        (
            '["ast", "structure"]',
            '["ast", "structur"]',
            26,
            "strategies[1]: 'structur' is not a valid choice; did you mean 'structure'?",
        ),
        ('["ast", "structure"]', '["failed"]', 26, "strategies[0]: 'failed' is not a valid choice"),
        ('defaults = { level = "low" }', "defaults = { level = 2020-01-01 }", 13, "something JSON can carry"),
        ('defaults = { level = "low" }', "defaults = { level = inf }", 13, "something JSON can carry"),
        (
            'text = { type = "string" }',
            'text = { type = "strin" }',
            28,
            "text.type: not a JSON Schema: right is string, integer,",
        ),
        ('link = { type = "object" }', 'link = { "$ref" = "http://example.com/x" }', 27, "not a JSON Schema"),
        ('link = { type = "object" }', 'link = { minimum = "1" }', 34, "link.minimum: not a JSON Schema"),
        # meaning
        ('message = "text"', 'message = "txt"', 11, "'txt': no such argument in the schema; did you mean 'text'?"),
        ('message = "text"', 'to = "text"', 11, "'to' is an argument of the tool, so it cannot stand for 'text'"),
        ('message = "text"', 'text = "text"', 11, "an alias of itself"),
        ('message = "text"', 'message = "msg", msg = "text"', 11, "'msg' is itself an alias; name 'text'"),
        ("values.level =", "values.levels =", 12, "'levels': no such argument in the schema; did you mean 'level'?"),
        ('{ hi = "high" }', '{ hi = "higher" }', 12, "values.level.hi: does not fit the schema of 'level'"),
        ('defaults = { level = "low" }', 'defaults = { level = "none" }', 13, "does not fit the schema of 'level'"),
        ('defaults = { level = "low" }', "defaults = { lvl = 1 }", 13, "'lvl': no such argument"),
        ('required = ["text"]', 'required = ["texts"]', 14, "required[0]: 'texts': no such argument"),
        ('[["to", "group"]]', '[["to", "groups"]]', 15, "required_any[0][1]: 'groups': no such argument"),
        ("required_unless = { to =", "required_unless = { two =", 16, "'two': no such argument"),
        ('{ level = ["low"] }', '{ lev = ["low"] }', 16, "required_unless.to.lev: 'lev': no such argument"),
        ("min_length = { text = 3 }", "min_length = { txt = 3 }", 17, "'txt': no such argument"),
        ('json_text = ["data"]', 'json_text = ["date"]', 18, "'date': no such argument"),
        (
            'text = "hello"',
            'text = "hi"',
            19,
            "an example must be a right call, but 'text' has 2 characters and needs 3",
        ),
        ('text = "hello"', 'text = " "', 19, "'text' is required and missing"),
        ('text = "hello"', "text = 1", 19, 'an example must be a right call, but 1 is not of type "string"'),
        ('to = "ada", level = "low" }', 'level = "low" }', 19, "one of to, group is required"),
        ('to = "ada", level', 'too = "ada", group = "x", level', 19, "'too' is not an argument of the tool"),
        ('to = "ada", level = "low" }', 'to = "ada", data = "{" }', 19, "'data' must hold JSON text"),
        ('paths = ["file"]', 'paths = ["files"]', 20, "paths[0]: 'files': no such argument"),
        ('urls = ["link.url"]', 'urls = ["links.url"]', 21, "urls[0]: 'links': no such argument"),
        (
            'names = ["SendNote"]',
            'names = ["old_note"]',
            10,
            "'old_note' already means 'old_note'; a name can mean one tool only",
        ),
        ('replaced_by = "send_note"', "", 38, "needs `replaced_by`"),
        ('{ words = "text" }', '{ words = "txt" }', 38, "'txt': send_note has no such argument; did you mean 'text'?"),
    ],
)
@pytest.mark.promise("V-08", "P-09")
def test_a_mistake_in_a_pack_is_named_with_file_line_and_what_is_right(
    right: str, wrong: str, line: int, says: str
) -> None:
    assert right in GOOD
    with pytest.raises(PackError) as caught:
        read_pack_text(GOOD.replace(right, wrong, 1), "mine.toml")
    assert str(caught.value).startswith(f"mine.toml:{line}: ")
    assert says in str(caught.value)
    assert (caught.value.source, caught.value.line) == ("mine.toml", line)


@every(
    ("table", "line", "says"),
    [
        ("batch = {}", 4, "batch: needs `list`"),
        ('batch = { list = "calls", of = 1 }', 4, "batch.of: unknown key"),
        (
            'batch = { list = "cals" }\nparameters.properties.calls = {}',
            4,
            "'cals': no such argument in the schema; did you mean 'calls'?",
        ),
        ("parameters = []", 4, "parameters: must be a table, not a list"),
        ('parameters.type = "array"', 4, 'the arguments of a call are an object, so this must be "object"'),
        ("parameters.properties = 1", 4, "must be a table of arguments, not a number"),
        (
            'required_unless.a.b = [1]\nparameters.required = ["a"]\nparameters.properties = { a = {}, b = {} }',
            4,
            "the schema's own `required` has no exceptions",
        ),
        (
            'values.a = { y = "yes" }\nexample = { a = "y" }\nparameters.properties.a = {}',
            5,
            "'a' has the value 'y', which means 'yes'",
        ),
    ],
)
def test_a_mistake_in_the_rarer_parts_of_a_pack_is_named_too(table: str, line: int, says: str) -> None:
    with pytest.raises(PackError) as caught:
        read_pack_text(f'[pack]\nname = "x"\n[tools.x]\n{table}\n', "x.toml")
    assert str(caught.value).startswith(f"x.toml:{line}: ")
    assert says in str(caught.value)


def test_a_name_two_tools_claim_is_refused_and_a_replacement_from_another_pack_is_not() -> None:
    head = '[pack]\nname = "x"\n'
    with pytest.raises(PackError, match=r"x\.toml:6: tools\.b\.names\[0\]: 'c' already means 'a'"):
        read_pack_text(f'{head}[tools.a]\nnames = ["c"]\n[tools.b]\nnames = ["c"]\n', "x.toml")
    (old,) = read_pack_text(f'{head}[tools.old]\nreplaced_by = "elsewhere"\n', "x.toml").tools
    assert old.rules.replaced_by == "elsewhere"


@pytest.mark.promise("V-08")
def test_a_tool_that_exists_under_several_names_becomes_as_many_tools() -> None:
    head = '[pack]\nname = "x"\n[tools.send]\n'
    lower, upper = read_pack_text(f'{head}also = ["SEND"]\nrequired = ["to"]\n', "x.toml").tools
    assert (lower.name, upper.name) == ("send", "SEND")
    assert lower.rules == upper.rules
    with pytest.raises(PackError, match=r"x\.toml:4: tools\.send\.also\[0\]: 'send' already means 'send'"):
        read_pack_text(f'{head}also = ["send"]\n', "x.toml")


def test_a_pack_without_its_head_or_with_nothing_at_all_says_how_to_begin() -> None:
    for text in ("", "[tools.x]\n"):
        with pytest.raises(PackError, match="a pack begins with a table"):
            read_pack_text(text, "x.toml")


def test_a_pack_nested_without_end_is_refused() -> None:
    with pytest.raises(PackError, match="nested too deeply"):
        read_pack_text("a = " + "[" * 100_000, "x.toml")


def test_a_pattern_that_cannot_be_matched_in_linear_time_is_no_mistake() -> None:
    text = '[pack]\nname = "x"\n[tools.x]\nexample = { a = "b" }\nparameters.properties.a = { pattern = "(?=b)" }\n'
    assert read_pack_text(text, "x.toml").tools[0].rules.example == {"a": "b"}


def test_a_pack_that_says_something_of_a_tool_is_found_by_the_name_of_it() -> None:
    for name in available_packs():
        for tool in load_pack(name).tools:
            assert name in packs_about([tool.name]), tool.name
    assert list(packs_about(["no_such_tool_anywhere"])) == []
    assert list(packs_about([f"tool_{number}" for number in range(100)])) == list(available_packs())
