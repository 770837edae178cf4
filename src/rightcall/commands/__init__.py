"""Command lines and addresses in arguments, read and judged before they run: a guard against mistakes, not a sandbox."""
