"""What is done in production: commands that look as they do at home, on data that others work with."""

import re
from collections.abc import Iterator, Sequence

from rightcall.base.text import regex
from rightcall.policy.commands.runs import RuleHit, Run, only_looks

_PRODUCTION = regex(r"(?:^|[-_./:@])(?:prod|production|live)(?:$|[-_./:@\d])", re.IGNORECASE)
_SWITCHES = {
    "kubectl": ("config", "use-context"), "kubectx": (), "docker": ("context", "use"),
    "gcloud": ("config", "set", "project"), "az": ("account", "set"), "terraform": ("workspace", "select"),
    "tofu": ("workspace", "select"), "firebase": ("use",), "heroku": ("git:remote",),
}  # fmt: skip
_ON_DATA = regex(
    r"(?:.*[:._-])?(?:migrat(?:e|ions?)|seeds?|console|dbconsole|runner|shell|shell_plus|dbshell|db|database|tinker"
    r"|loaddata|createsuperuser|changepassword|data|backfill|import|restore|cleanup|rollback)(?:[:._-].*)?"
)
"""Words that tell a program of a project to work on its data, or to open a prompt that can."""
_MIGRATORS = frozenset(("alembic", "flyway", "liquibase", "dbmate", "goose", "atlas", "sqitch", "migrate", "knex"))
_LOOKS = regex(
    r"(?:.*[:._-])?(?:status|version|list|current|history|heads|check|show|info|plan|validate|pending|diff|generate"
    r"|create|make|new|add|build|precompile|compile|install|lint|test|view|get|log|logs)(?:[:._-].*)?|make\w+|show\w+"
)
_LOCAL_PROGRAMS = frozenset(
    ("git", "grep", "rg", "cat", "ls", "cd", "echo", "docker", "find", "export", "env", "vim", "less", "head", "tail",
     "cp", "mv", "mkdir", "psql", "mysql", "ssh", "kubectl", "helm", "terraform", "aws", "gcloud", "az")
)  # fmt: skip
"""They have rules of their own, or what they are given are files."""


def named_production(name: str, value: str) -> str:
    """What a variable says of production: `RAILS_ENV=production`; empty for nothing."""
    return f"{name}={value}"[:60] if len(value) < 500 and _PRODUCTION.search(value) else ""


def production_rules(run: Run, environment: str) -> Iterator[RuleHit]:
    """`environment`: what a variable of the line says of production."""
    switch = _SWITCHES.get(run.program)
    if switch is not None and tuple(run.values[: len(switch)]) == switch:
        # what comes later, and looks as harmless as ever, would be done there
        to = next((one for one in run.values[len(switch) :] if _PRODUCTION.search(one)), "")
        if to:
            yield RuleHit("persists", f"{run.program} {' '.join(switch)} {to}")
        return
    if run.program in _LOCAL_PROGRAMS:
        return
    words = [one for one in run.values[:12] if not one.startswith("-") and " " not in one]
    acts = [one for one in words if _ON_DATA.fullmatch(one)] or (["c"] if words[:1] == ["c"] else [])
    if run.program in _MIGRATORS:
        acts = acts or words[:1]
    if not acts or any(_LOOKS.fullmatch(one) for one in words[:4]) or only_looks(run.program, run.values):
        return
    where = _told(run.values) or environment or next((one for one in acts if _PRODUCTION.search(one)), "")
    if where:
        yield RuleHit("publishes", f"{run.program} {acts[0]} ({where})")


def _told(values: Sequence[str]) -> str:
    """The value of an option, or of a variable among the words, that names production."""
    for at, one in enumerate(values[:40]):
        name, equals, value = one.partition("=")
        if not equals:
            value = one if at and values[at - 1].startswith("-") else ""
        if value and len(value) < 500 and _PRODUCTION.search(value):
            return f"{name}={value}"[:60] if equals else f"{values[at - 1]} {value}"[:60]
    return ""
