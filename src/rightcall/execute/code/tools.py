"""The code tools on one root, ready for an executor. The order is that of the design."""

from rightcall.catalog import PackTool
from rightcall.execute.code import blame, diff, list, log, read, search, show  # noqa: A004 - named after its tool
from rightcall.execute.code.tool import local
from rightcall.execute.functions import LocalTool
from rightcall.fs.sight import Sight
from rightcall.packs import load_pack

CODE_TOOLS = (read.TOOL, search.TOOL, list.TOOL, diff.TOOL, log.TOOL, blame.TOOL, show.TOOL)


def code_tools(sight: Sight) -> tuple[LocalTool, ...]:
    """All seven. What is said of them stands in the pack `code`."""
    about: dict[str, PackTool] = {tool.name: tool for tool in load_pack("code").tools}
    return tuple(local(tool, about[tool.name], sight) for tool in CODE_TOOLS)
