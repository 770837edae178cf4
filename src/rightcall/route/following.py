"""An index that follows a changing set of tools: only what came, went or changed is looked at again."""

from collections.abc import Callable, Mapping

from rightcall.catalog import Tool
from rightcall.route.index import Hit, ToolIndex
from rightcall.route.words import ToolText


def texts_of(tools: Mapping[str, Tool]) -> dict[str, ToolText]:
    """The tools of a catalogue as an index reads them."""
    return {name: ToolText(tool.name, tool.description, tool.schema) for name, tool in tools.items()}


class FollowingIndex:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._index = ToolIndex()
        self._known: dict[str, ToolText] = {}

    def follow(self, tools: Mapping[str, ToolText]) -> int:
        """Make the index that of these tools, by the names they are found under; how many it had to touch."""
        gone = [name for name, tool in self._known.items() if tools.get(name) != tool]
        for name in gone:
            self._index.remove(name)
            del self._known[name]
        new = {name: tool for name, tool in tools.items() if name not in self._known}
        self._index.add_all(list(new.values()))
        self._known |= new
        return len({*gone, *new})

    def search(self, text: str, limit: int, wanted: Callable[[str], bool], *, reasons: bool = True) -> list[Hit]:
        """The nearest of those that are wanted, best first. What is not wanted takes nobody's place."""
        return self._index.search(text, limit, wanted, reasons=reasons)
