"""Local functions as tools: declared by a decorator, or just given."""

import functools
import inspect
from typing import Any

import pytest

from rightcall.errors import ToolError
from rightcall.tools.functions import LocalTool, local_tool, tool
from support.every import every


def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@pytest.mark.promise("X-01")
def test_the_decorator_works_with_and_without_parentheses_and_leaves_the_function_as_it_is() -> None:
    bare = tool(inspected := _fresh_add())
    assert bare is inspected
    assert bare(1, 2) == 3
    with_options = tool(effects=["read"], timeout=5)(_fresh_add())
    assert with_options(1) == 2
    assert inspect.signature(with_options) == inspect.signature(add)
    assert local_tool(with_options).timeout == 5.0


def _fresh_add() -> Any:
    def add(a: int, b: int = 1) -> int:
        """Adds two numbers."""
        return a + b

    return add


def test_the_record_says_what_the_decorator_and_the_type_hints_say() -> None:
    def look(path: str, depth: int = 1) -> str:
        """Looks at a file."""
        return path

    record = local_tool(
        tool(
            look, name="code/look", description="Looks.", effects={"network", "read"}, repeatable=True, timeout=2,
            paths=["path"], commands="path", example={"path": "a.py"}, state=lambda given: given["path"],
            preview=lambda given: "look",
        )
    )  # fmt: skip
    assert record.definition["name"] == record.name == "code/look"
    assert record.definition["description"] == "Looks."
    assert record.definition["parameters"]["required"] == ["path"]
    assert record.effects == ("read", "network")
    assert (record.repeatable, record.timeout, record.paths, record.commands) == (True, 2.0, ("path",), ("path",))
    assert record.example == {"path": "a.py"}
    assert record.function is look


@pytest.mark.promise("P-04")
def test_a_plain_function_is_undeclared() -> None:
    record = local_tool(add)
    assert (record.name, record.effects, record.cacheable) == ("add", None, False)
    assert record.definition["description"] == "Adds two numbers."
    assert not hasattr(add, "__rightcall_tool__")


@pytest.mark.promise("X-04")
@every(
    ("declared", "cacheable"),
    [
        ({"effects": ["read"], "paths": ["path"]}, True),
        ({"effects": ["read"], "state": len}, True),
        ({"effects": [], "state": len}, True),
        ({"effects": ["read"]}, False),
        ({"paths": ["path"]}, False),
        ({"effects": ["read", "write"], "paths": ["path"]}, False),
        ({"effects": ["execute"], "state": len}, False),
        ({"effects": ["read"], "paths": ["path"], "repeatable": True}, False),
    ],
)
def test_only_what_reads_and_says_what_it_reads_is_cacheable(declared: dict[str, Any], cacheable: bool) -> None:
    def look(path: str) -> str:
        return path

    assert local_tool(tool(**declared)(look)).cacheable is cacheable


def test_methods_are_tools_when_bound_and_explained_when_not() -> None:
    class Shop:
        price = 3

        @tool(effects=["read"])
        def cost(self, count: int) -> int:
            return count * self.price

        def plain(self, count: int) -> int:
            return count

    shop = Shop()
    record = local_tool(shop.cost)
    assert record.function(count=2) == 6
    assert record.effects == ("read",)
    assert list(record.definition["parameters"]["properties"]) == ["count"]
    assert local_tool(shop.plain).function(count=2) == 2
    for unbound in (Shop.cost, Shop.plain):
        with pytest.raises(ToolError, match="bound method"):
            local_tool(unbound)


def test_a_bound_method_can_be_declared_too() -> None:
    class Shop:
        def cost(self, count: int) -> int:
            return count

    declared = tool(Shop().cost, effects=["read"], name="price")
    assert declared(count=2) == 2
    assert (local_tool(declared).name, local_tool(declared).effects) == ("price", ("read",))


def test_objects_that_can_be_called_and_partials_with_a_name_are_tools() -> None:
    class Greeter:
        def __call__(self, name: str) -> str:
            """Greets."""
            return f"Hello {name}"

    assert (local_tool(Greeter()).name, local_tool(Greeter()).function(name="Ann")) == ("Greeter", "Hello Ann")
    assert local_tool(functools.partial(add, b=2)).name == "add"
    named = functools.partial(add, b=2)
    named.__name__ = "add_two"  # pyright: ignore[reportAttributeAccessIssue]
    assert local_tool(named).name == "add_two"


def test_what_a_partial_has_set_is_not_the_models_to_set() -> None:
    record = local_tool(functools.partial(functools.partial(add, b=2)))
    assert list(record.definition["parameters"]["properties"]) == ["a"]


def test_a_wrapper_around_a_declared_function_is_what_runs() -> None:
    @tool(effects=["read"])
    def number() -> int:
        return 1

    @functools.wraps(number)
    def doubled() -> int:
        return 2 * number()

    record = local_tool(doubled)
    assert (record.function(), record.effects) == (2, ("read",))


def test_one_function_can_be_two_tools() -> None:
    function = _fresh_add()
    reading, writing = tool(function, name="a", effects=["read"]), tool(function, name="b", effects=["write"])
    assert [local_tool(one).name for one in (reading, writing)] == ["a", "b"]
    assert writing(1) == 2


def test_a_static_method_is_declared_inside() -> None:
    class Shop:
        @staticmethod
        @tool(effects=["read"])
        def cost(count: int) -> int:
            return count

    assert local_tool(Shop.cost).effects == ("read",)
    with pytest.raises(ToolError, match="above @tool"):
        tool(staticmethod(add))


def test_a_record_is_its_own_tool() -> None:
    record = local_tool(add)
    assert local_tool(record) is record
    assert isinstance(record, LocalTool)


def positional(a: int, /) -> int:
    return a


@every(
    ("thing", "said"),
    [
        (5, "function or an object that can be called"),
        ("add", "function or an object that can be called"),
        (dict, "function or an object that can be called"),
        (lambda a: a, "lambda"),
        (positional, "`a` is positional-only"),
        (len, "positional-only"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_reason(thing: Any, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        local_tool(thing)


async def later(arguments: Any) -> str:
    return ""


@every(
    ("declared", "said"),
    [
        ({"effects": ["read", "delete"]}, "add: effects: 'delete' is none of read, write, execute, network"),
        ({"effects": "reads"}, "'reads' is none of"),
        ({"effects": 3}, "effects must be a list of read, write, execute, network; got int"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0; got 0"),
        ({"timeout": float("nan")}, "timeout must be"),
        ({"timeout": True}, "timeout must be"),
        ({"timeout": "5"}, "timeout must be"),
        ({"state": 5}, "state must be a function of the arguments; got int"),
        ({"state": later}, "state is asked before and after each call"),
        ({"preview": "text"}, "preview must be a function"),
        ({"paths": ["path"]}, "add: paths: 'path' is not an argument of the tool; its arguments are: a, b"),
        ({"paths": [5]}, "paths must be names of arguments"),
        ({"commands": "operations[].command"}, "commands: 'operations' is not an argument"),
        ({"example": ["a"]}, "example must be the arguments of a right call"),
        ({"example": {"a": 1, "c": 2}}, "example: 'c' is not an argument"),
        ({"example": {"b": 1}}, "`a` is missing"),
        ({"name": ""}, "one word"),
        ({"name": "add numbers"}, "one word"),
        ({"name": "add\x1b[31m"}, "one word"),
        ({"name": 5}, "one word"),
    ],
)
def test_a_wrong_declaration_is_refused_when_it_is_made(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        tool(**declared)(_fresh_add())
    assert said in str(caught.value)


def test_an_argument_inside_an_open_tool_may_be_named() -> None:
    def run(**more: Any) -> None: ...

    assert local_tool(tool(run, paths=["target.path"])).paths == ("target.path",)
