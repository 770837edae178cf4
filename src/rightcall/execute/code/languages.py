"""Which language a file is written in, by its name."""

_ENDINGS = {
    "python": "py pyi pyw", "javascript": "js mjs cjs jsx", "typescript": "ts mts cts", "tsx": "tsx", "java": "java",
    "go": "go", "rust": "rs", "c": "c h", "cpp": "cc cpp cxx c++ hh hpp hxx", "csharp": "cs", "ruby": "rb rake gemspec",
    "php": "php", "kotlin": "kt kts", "swift": "swift", "scala": "scala sc", "lua": "lua", "bash": "sh bash",
}  # fmt: skip
_LANGUAGES = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_NAMES = {"Rakefile": "ruby", "Gemfile": "ruby", "SConstruct": "python", ".bashrc": "bash"}
_STARTERS = {"python": "python", "node": "javascript", "ruby": "ruby", "php": "php", "lua": "lua"} | dict.fromkeys(
    ("sh", "bash", "dash", "zsh", "ksh"), "bash"
)
"""Programs that a first line may name."""


def language_of(path: str, text: str = "") -> str | None:
    """The language, None where it is none of those we know. A file without an ending may say it in its first line.

    >>> language_of("src/App.TSX"), language_of("bin/tool", "#!/usr/bin/env python3\\n"), language_of("notes.txt")
    ('tsx', 'python', None)
    """
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if dot and stem:
        return _LANGUAGES.get(ending.lower())
    if name in _NAMES:
        return _NAMES[name]
    words = text[2:200].partition("\n")[0].split() if text.startswith("#!") else []
    starters = (word.rpartition("/")[2].rstrip("0123456789.") for word in words[:2])
    return next((_STARTERS[one] for one in starters if one in _STARTERS), None)
