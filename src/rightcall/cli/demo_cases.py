"""The calls of `rightcall demo`: made up for it, after damage that models really do. Data only."""

from typing import Any

from msgspec import Struct


class DemoCase(Struct, frozen=True):
    """One broken call: who writes like this, what is wrong with it, the tool and the text."""

    title: str
    model: str
    tool: str
    wrote: str


PACKS = ("agent-zero", "edit-files", "local-toolkit")

_CITY = {"type": "string", "description": "City and country"}

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "get_weather",
        "description": "The weather of the coming days.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": _CITY,
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
    {
        "name": "book_table",
        "description": "Books a table in a restaurant.",
        "parameters": {
            "type": "object",
            "properties": {
                "restaurant": {"type": "string"},
                "guests": {"type": "integer", "minimum": 1},
                "date": {"type": "string"},
                "wishes": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["restaurant", "guests", "date"],
        },
    },
    {
        "name": "transfer_money",
        "description": "Moves money from one account to another.",
        "parameters": {
            "type": "object",
            "properties": {
                "from_account": {"type": "string"},
                "to_account": {"type": "string"},
                "amount": {"type": "number", "exclusiveMinimum": 0},
            },
            "required": ["from_account", "to_account", "amount"],
        },
    },
    {
        "name": "run_query",
        "description": "Runs one SQL query.",
        "parameters": {
            "type": "object",
            "properties": {"sql": {"type": "string"}, "limit": {"type": "integer"}, "dry_run": {"type": "boolean"}},
            "required": ["sql"],
        },
    },
    {
        "name": "Write",
        "description": "Writes a file.",
        "parameters": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
    },
)

CASES: tuple[DemoCase, ...] = (
    DemoCase(
        "a Python list where the tool wants JSON text",
        "Qwen",
        "edit_files",
        """{"operations": "[{'type': 'modify', 'path': 'fibonacci.sh', 'content': 'echo \\"it\\\\'s done\\"'}]"}""",
    ),
    DemoCase(
        "single quotes, and Python's own True",
        "Llama 3",
        "run_query",
        "{'sql': 'SELECT name FROM users', 'dry_run': True}",
    ),
    DemoCase("typographic quotes", "Gemma", "get_weather", "{“city”: “Lisbon, Portugal”, “days”: 3}"),
    DemoCase(
        "unquoted keys, a comment, a trailing comma",
        "Mistral",
        "get_weather",
        '{city: "Oslo, Norway", days: 5, // a working week\n unit: "celsius",}',
    ),
    DemoCase(
        "a fence, and prose around it",
        "Phi",
        "book_table",
        "Sure, I will book that for you.\n"
        '```json\n{"restaurant": "Da Enzo", "guests": 4, "date": "2026-05-01"}\n```\nAnything else?',
    ),
    DemoCase(
        "other names, a number as a word, a text for a list",
        "Llama 3 8B",
        "bookTable",
        '{"Restaurant": "Da Enzo", "guest": "four", "date": "2026-05-01", "wishes": "window, high chair"}',
    ),
    DemoCase(
        "the tool's old habits: bash, command",
        "DeepSeek",
        "code_execution_tool",
        '{"runtime": "bash", "command": "ls -la"}',
    ),
    DemoCase(
        "code with raw line breaks and quotes that nobody escaped",
        "CodeLlama",
        "Write",
        '{"file_path": "hello.py", "content": "def hello():\n    print("hello")\n"}',
    ),
    DemoCase(
        "encoded twice",
        "GPT-3.5",
        "transfer_money",
        '"{\\"from_account\\": \\"00123\\", \\"to_account\\": \\"00456\\", \\"amount\\": \\"1,250.50\\"}"',
    ),
    DemoCase(
        "the closing brackets are missing",
        "SmolLM",
        "book_table",
        '{"restaurant": "Da Enzo", "guests": 2, "date": "2026-05-01", "wishes": ["window"',
    ),
    DemoCase(
        "cut off in the middle of a value",
        "any model at its token limit",
        "transfer_money",
        '{"from_account": "00123", "to_account": "00456", "amount": 12',
    ),
    DemoCase(
        "one argument twice",
        "Hermes",
        "transfer_money",
        '{"from_account": "00123", "to_account": "00456", "amount": 50, "amount": 5000}',
    ),
    DemoCase(
        "two names that could be either",
        "TinyLlama",
        "transfer_money",
        '{"account": "00123", "other_account": "00456", "amount": 50}',
    ),
    DemoCase("a required argument is missing", "Claude", "Write", '{"file_path": "notes.md"}'),
    DemoCase("a tool that does not exist", "Granite", "weather_lookup", '{"city": "Rome, Italy"}'),
    DemoCase(
        "a tool that was replaced",
        "an agent with old instructions",
        "write_local_file",
        '{"path": "notes.md", "content": "buy milk and bread"}',
    ),
)
