"""Broken JSON as models write it, and what it was meant to be. Every rule of the reader is needed by some case."""

import ast
from pathlib import Path

import pytest

import rightcall.base.json.marks
from cases import Case, cases, exact, table
from rightcall import Unreadable, loads
from rightcall.base.json.marks import REPAIRING, RULES, repairs_of
from rightcall.base.json.strict import NO_JSON, attempt
from support.every import every

FILES = (
    "read_quotes.jsonl",
    "read_structure.jsonl",
    "read_python.jsonl",
    "read_numbers.jsonl",
    "read_escapes.jsonl",
    "read_amid_text.jsonl",
    "read_cut.jsonl",
)
SCHEMA_FILE = "loads_schema.jsonl"


@every("case", [case for file in FILES for case in table(file)])
def test_a_text_is_read_as_what_it_was_meant_to_be(case: Case) -> None:
    if "refused" in case:
        with pytest.raises(Unreadable):
            loads(case["emitted"])
        return
    parsed = loads(case["emitted"])
    assert exact(parsed.value) == exact(case["expected"])
    assert [repair.rule for repair in parsed.repairs] == case["rules"]
    assert parsed.truncated is ("cut" in case)
    assert parsed.confidence == min((repair.confidence for repair in parsed.repairs), default=1.0)


@pytest.mark.promise("R-08")
@every("case", table("read_cut.jsonl"))
def test_only_a_visibly_complete_value_gets_its_brackets(case: Case) -> None:
    rules = {repair.rule for repair in loads(case["emitted"]).repairs}
    assert ("cut_closers" in rules) is (case["cut"] == "closers")
    assert ("cut_value" in rules) is (case["cut"] == "value")


@pytest.mark.promise("N-12")
@every("case", [case for file in FILES for case in table(file)])
def test_a_text_that_is_no_json_is_never_read_without_a_record(case: Case) -> None:
    if "refused" not in case and attempt(case["emitted"]) is NO_JSON:
        assert loads(case["emitted"]).repairs


@pytest.mark.promise("N-12")
def test_a_record_says_where_and_what() -> None:
    text = '{"first": 1, "second": 2,}'
    (repair,) = loads(text).repairs
    assert repair.before in text
    assert text.index(repair.before) <= text.index(",}") < text.index(repair.before) + len(repair.before)
    assert (repair.path, repair.after, repair.strategy) == ("", {"first": 1, "second": 2}, "python_ast")
    assert repair.note == "a surplus comma dropped"


@pytest.mark.promise("N-02", "N-18")
def test_every_rule_is_needed_by_some_case() -> None:
    needed = {rule for file in (*FILES, SCHEMA_FILE) for case in cases(file) for rule in case.get("rules", ())}
    assert set(RULES) - needed - {"double_encoded"} == set()  # arguments encoded twice: tests/base/json/test_find.py


@pytest.mark.promise("N-02", "N-18")
def test_every_rule_the_reader_marks_is_documented() -> None:
    folder = Path(rightcall.base.json.marks.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")) if path.name != "marks.py"]
    marked = set().union(*(marks_in(ast.parse(source)) for source in sources))
    assert marked >= {"trailing_comma", "inner_quotes", "cut_value", "python_constant"}  # else this test sees nothing
    assert marked - set(RULES) == set()
    assert set(RULES) - marked == set()


def marks_in(tree: ast.AST) -> set[str]:
    """The rules named in `mark(...)`, `marks[...]`, `setdefault(...)`, `{"rule": 0}`, `Closing(...)` and tables."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="mark" | "setdefault"), args=[first, *_]):
                found |= words(first)
            case ast.Call(func=ast.Name(id="Closing"), args=[_, _, rule, *_]):
                found |= words(rule)
            case ast.Assign(targets=[ast.Name(id="rule")], value=value):
                found |= words(value)
            case ast.Subscript(value=ast.Name(id="marks") | ast.Attribute(attr="marks"), slice=key):
                found |= words(key)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                found |= {
                    word for key, value in pairs if is_position(value) for word in words(key) if word.isidentifier()
                }
            case ast.Tuple(elts=[_, ast.Constant(value=str(rule))]) if rule in RULES:
                found.add(rule)
            case _:
                pass
    return found


def is_position(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def words(node: ast.AST | None) -> set[str]:
    """The texts an expression can be; of `"a" if x else "b"` both."""
    if isinstance(node, ast.IfExp):
        return words(node.body) | words(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


@pytest.mark.promise("N-18")
def test_every_confidence_lies_between_none_and_certain() -> None:
    assert all(0 < rule.confidence <= 1 for rule in RULES.values())
    assert all(rule.strategies and rule.what for rule in RULES.values())


TEXT = "{'a': True, \"b\" 1}"


@pytest.mark.promise("N-12")
def test_each_rule_is_one_record_with_the_place_it_was_needed_first() -> None:
    repairs, forbidden = repairs_of({"single_quotes": 1, "missing_colon": 16}, TEXT, "args")
    assert forbidden == ()
    assert [(repair.rule, repair.path, repair.strategy) for repair in repairs] == [
        ("single_quotes", "args", "python_ast"),
        ("missing_colon", "args", "structure"),
    ]
    assert [repair.confidence for repair in repairs] == [
        RULES["single_quotes"].confidence,
        RULES["missing_colon"].confidence,
    ]


@pytest.mark.promise("N-02")
def test_a_rule_falls_to_the_first_strategy_that_is_on() -> None:
    def carried_by(*strategies: str) -> tuple[list[str], int]:
        repairs, forbidden = repairs_of({"single_quotes": 1}, TEXT, strategies=frozenset(strategies))  # type: ignore[arg-type]
        return [repair.strategy for repair in repairs], len(forbidden)

    assert carried_by(*REPAIRING) == (["python_ast"], 0)
    assert carried_by("regex_quotes", "structure") == (["regex_quotes"], 0)
    assert carried_by("structure") == (["structure"], 0)
    assert carried_by("manual_repair") == ([], 1)


@pytest.mark.promise("N-02")
def test_what_no_strategy_may_carry_out_is_forbidden() -> None:
    repairs, forbidden = repairs_of(
        {"missing_comma": 3, "single_quotes": 1}, TEXT, strategies=frozenset({"python_ast"})
    )
    assert [repair.rule for repair in repairs] == ["single_quotes"]
    assert forbidden == (RULES["missing_comma"],)


def test_a_record_quotes_the_place_and_not_the_whole_text() -> None:
    text = "x" * 5000 + "{,}" + "y" * 5000
    ((repair,), _) = repairs_of({"trailing_comma": 5001}, text)
    assert "{,}" in repair.before
    assert len(repair.before) < 200
