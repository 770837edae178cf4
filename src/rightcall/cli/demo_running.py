"""The second half of `rightcall demo`: calls that run under a policy, in memory, so that nothing is left behind."""

from collections.abc import Iterator
from typing import Any

from rightcall.cli.call_report import report
from rightcall.cli.terminal import Style, wrap

POLICY: dict[str, Any] = {"policy": {"allow": ["save_note"], "limits": {"caller": {"minute": 5}}}}
_CALLS = (
    ("a tool that only reads runs, repaired where it must be", "word_count", "{'text': 'to be or not', unique: yes}"),
    ("a tool that writes is rehearsed until the policy says otherwise", "save_note", '{"text": "buy milk"}'),
    ("what no list names does not run, and is not explained either", "drop_table", '{"name": "users"}'),
    ("the same call again", "word_count", '{"text": "to be or not", "unique": true}'),
    ("and a third time: the earlier result is named", "word_count", '{"text": "to be or not", "unique": true}'),
    ("another call", "word_count", '{"text": "to be"}'),
    ("and one more", "word_count", '{"text": "or not"}'),
    ("one too many for a caller with five a minute", "word_count", '{"text": "enough"}'),
)


def demonstration(style: Style) -> Iterator[str]:
    """Line by line."""
    from rightcall.executor import Executor
    from rightcall.record.verify import verify

    yield from ("", style.tint("─" * style.width, "dim"))
    yield style.tint("And then they run: under a policy, with a record of each.", "bold")
    with Executor.open_sync(policy=POLICY, store="memory") as executor:
        _register(executor)
        for what, name, written in _CALLS:
            outcome = executor.run({"name": name, "arguments": written}, "demo")
            yield from ("", *(style.tint(piece, "bold", "cyan") for piece in wrap(what, style.width)))
            yield from (line for line in report(outcome, style) if "audit show" not in line)
        checked = executor.store.look(verify)
        state = "unbroken" if checked.ok else checked.problem
        yield from ("", style.tint(f"{checked.checked} records, their chain is {state}.", "bold"))


def _register(executor: Any) -> None:
    @executor.tool(effects=["read"])
    def word_count(text: str, unique: bool = False) -> int:
        """Count the words of a text."""
        words = text.split()
        return len(set(words) if unique else words)

    @executor.tool(effects=["write"])
    def save_note(text: str) -> str:
        """Save a note."""
        return f"saved {text!r}"

    @executor.tool
    def drop_table(name: str) -> str:
        """Drop a table."""
        return f"dropped {name}"

    del word_count, save_note, drop_table
