"""Six tools that have nothing to do with each other, and what one might say to them."""

from typing import Any

from rightcall.router.lexical import ToolText


def tool(name: str, description: str, required: str = "", **kinds: str) -> ToolText:
    properties = {argument: {"type": kind} for argument, kind in kinds.items()}
    return ToolText(
        name, description, {"type": "object", "properties": properties, "required": required.split() or list(kinds)}
    )


WEATHER = tool("get_weather", "Get the weather forecast for a city.", "city", city="string", days="integer")
TABLE = tool(
    "book_table", "Book a table at a restaurant.", restaurant="string", date="string", time="string", people="integer"
)
TOOLS = [
    WEATHER,
    TABLE,
    tool("convert_currency", "Convert an amount of money from one currency to another.",
         amount="number", from_currency="string", to_currency="string"),
    tool("play_music", "Play a song by an artist.", artist="string"),
    tool("send_email", "Send an email to a recipient.", recipient="string", subject="string", body="string"),
    tool("calculate_area", "Calculate the area of a triangle from its base and height.",
         base="number", height="number"),
]  # fmt: skip

CALLS = {
    "What is the weather forecast for Oslo?": "get_weather",
    "Book a table for 4 people at Chez Panisse tomorrow at 7 pm": "book_table",
    "Convert 100 dollars to euros": "convert_currency",
    "Play a song by Miles Davis": "play_music",
    "Send an email to anna@example.org with the subject 'Lunch' and the body 'See you at noon'": "send_email",
    "Calculate the area of a triangle with base 10 and height 5": "calculate_area",
}
IDLE = ("Write me a poem about autumn leaves.", "How do volcanoes form?", "hello")

ODD_TEXTS = (
    "", " ", "\n\n\n", "🙂🙂🙂", "\x00\x00 weather \x00", "\ud800 \udfff weather", "?" * 5_000, "the of and",
    "天気は？",
    "weather " * 20_000, "a" * 1_000_000, "1,2,3," * 50_000, "A b " * 100_000, "'" * 100_000,
    "<s></s><unk> \u2581weather",
)  # fmt: skip
"""Requests that nobody expects."""


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"inner": schema}, "required": ["inner"]}
    return schema


def odd(name: str, properties: Any, required: Any, description: str = "") -> ToolText:
    return ToolText(name, description, {"type": "object", "properties": properties, "required": required})


_WIDE = {f"argument_{number}": {"type": "integer"} for number in range(2_000)}
ODD_TOOLS = [
    ToolText("deep", "Goes down.", nested(400)),
    odd("listed", ["city", "days"], "city", "Weather."),
    odd("numbered", {"city": 3, "days": None, "x": True}, [1, None, "city", {}], "Weather."),
    odd("choosing", {"unit": {"enum": [1, None, {"a": 1}, "c"]}}, ["unit"]),
    odd("wide", _WIDE, list(_WIDE)),
    odd("typed", {"a": {"type": ["string", "null"]}, "b": {"type": {"no": 1}}}, ["a", "b"]),
    odd("stop words", {"to": {}, "from": {}, "": {}}, ["to", "from", ""], "the of and"),
    ToolText("", "", {}),
    ToolText("\x00\ud800 🙂/../'\"", "\ud800" * 10, {}),
    odd("天気_取得", {"都市": {"type": "string"}}, ["都市"], "都市の天気"),
    ToolText("x" * 100_000, "word " * 100_000, {"required": ["absent"]}),
]
"""Tools that no gate would take, and that still must not stop a search."""
