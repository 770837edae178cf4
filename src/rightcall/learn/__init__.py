"""What the record teaches: history decided again under another policy, and rules proposed from it.

    history (recorded calls, page by page) ─▶ replay (what another policy would change)
                                           └▶ learn  (what would have saved a retry)

Nothing here runs a tool, and nothing here writes to the store.
"""
