"""A tool with a limit of its own, or that always asks, does not run inside a batch, where it would be neither counted
nor asked about (P-02, P-06)."""

from rightcall.config_settings import Rights
from rightcall.text.escape import escaped
from rightcall.text.patterns import hits
from rightcall.types_running import Decision, Facts, Request


def by_itself(request: Request, _facts: Facts) -> Decision | None:
    for tool in request.inner:
        why = _why(request.rights, tool)
        if why is not None:
            name = escaped(tool, 100)
            return Decision("deny", "batch", f"'{name}' {why}, so it cannot run inside a batch", _hint(name))
    return None


def _why(rights: Rights, tool: str) -> str | None:
    if any(hits(pattern, tool) for pattern in rights.approval.tools):
        return "always asks a person"
    for name, window in rights.tools.items():
        if hits(name, tool) and (window.minute or window.hour or window.burst):
            return "has a limit of its own"
    return None


def _hint(name: str) -> str:
    return f"Call '{name}' by itself, and leave it out of the batch."
