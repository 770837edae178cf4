"""Results as a model should read them; what others need of it is offered by `rightcall.executor`.

    value ─▶ messages: shape (views, fields: one form per tool) ─▶ trim (cut where it hurts least) ─▶ Outcome.message

`prompt` tells a model beforehand which tools there are.
"""
