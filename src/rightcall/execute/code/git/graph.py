"""Commit graphs of our own, kept outside the repositories."""


from rightcall.execute.code.git.repository import Repository


def linked_graph(repository: Repository, info: str) -> None:
    """Link what we have written earlier, if anything."""
