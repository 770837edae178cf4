"""What a model says beside its calls: sentences, lists, words of code, emoji. No markup, and nothing that quotes it."""

from hypothesis import strategies as st

SENTENCES = (
    "Let me check that for you.",
    "I'll look it up, one moment…",
    "Sure! 🙂",
    "Here is what I'm going to do:",
    "The user's question isn't clear, but it's about snow (a lot of it).",
    'She said "yes" and left; they didn\'t.',
    "Prices rose by 5 % [1], i.e. from $3 to $3.15.",
    "If a < b and b > c then a <> c.",
    "Das Wetter in Zürich ist heute schön, -3 °C.",
    "天気を調べます。",
    "1. Read the file\n2. Change it\n3. Write it back",
    "- first thing\n- second thing\n  - and a part of it",
    "## Plan\n\nFirst the data, **then** the answer.",
    "Use `len(x)` and the `--force` option with care.",
    "See https://example.org/page?a=1&b=2 for more.",
    "| city | °C |\n|---|---|\n| Bern | 4 |",
    "Hmm. That failed!? I'd better try again.",
    "f(x) = 2x + 1, and {a, b} is a set.",
    "No.",
    # To speak of a tool by its name is no call of it.
    "I will use TOOL for this.",
    "Calling `TOOL` now:",
    "TOOL can do that.",
)

prose = st.tuples(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), st.sampled_from((" ", "\n", "\n\n"))
).map(lambda parts: parts[1].join(parts[0]))
"""One to three sentences; TOOL stands for a tool's name."""
