"""The code tools on one root, ready for an executor. The order is that of the design."""

from rightcall.catalog import PackTool
from rightcall.config_hands import CodeSettings
from rightcall.execute.code import blame, diff, list, log, read, search, show  # noqa: A004 - named after its tool
from rightcall.execute.code.tool import local
from rightcall.execute.functions import LocalTool
from rightcall.fs.sight import Sight
from rightcall.packs import load_pack

_USUAL = CodeSettings()


def code_tools(sight: Sight, settings: CodeSettings = _USUAL) -> tuple[LocalTool, ...]:
    """All seven. What is said of them stands in the pack `code`."""
    tools = (
        read.tool(settings), search.TOOL, list.TOOL, diff.TOOL, log.TOOL, blame.TOOL, show.tool(settings)
    )  # fmt: skip
    about: dict[str, PackTool] = {tool.name: tool for tool in load_pack("code").tools}
    return tuple(local(tool, about[tool.name], sight) for tool in tools)
