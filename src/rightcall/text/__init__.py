"""Text for people and models: values shown safely, refusals in the shape a model's API wants."""

from rightcall.text.escape import escaped, render_json
from rightcall.text.messages import refusal

__all__ = ["escaped", "refusal", "render_json"]
