"""Results as a model should read them.

    value ─▶ shape ─▶ trim ─▶ marks ─▶ messages
             tools/   fit, spread        │
                      measure, look   Outcome.message

`prompt` and `definitions` tell a model beforehand which tools there are; `summary` is a result's line in the audit.
"""
