"""Expressions of Python's syntax: the numbers, characters and texts that they stand for, and what is in them."""

import ast

LONGEST_TEXT = 4096
"""Characters of a text that is put together: what would be longer is no path, and may be made to fill the memory."""
CHANGED_BY = frozenset(
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "lower", "upper", "swapcase", "title", "capitalize")
)
DECODERS = frozenset(
    ("b64decode", "b32decode", "b85decode", "a85decode", "fromhex", "unhexlify", "chr", "bytes", "bytearray",
     "translate", "maketrans", "decompress", "rot13", "reversed", "unpack", "to_bytes")
)  # fmt: skip


def characters_of(node: ast.expr) -> str:
    """Characters by their numbers: a list of them, `map(chr, […])`, `(chr(n) for n in […])`; "" where there is more."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map" and len(node.args) == 2:
        node = node.args[1]
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp)) and len(node.generators) == 1:
        if ast.unparse(node.elt) != f"chr({ast.unparse(node.generators[0].target)})" or node.generators[0].ifs:
            return ""
        node = node.generators[0].iter
    if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) > LONGEST_TEXT:
        return ""
    numbers = [number_of(one) for one in node.elts]
    return "".join(chr(one) for one in numbers if one is not None and 0 <= one < 0x11000) if None not in numbers else ""


def number_of(node: ast.expr) -> int | None:
    """A number that is written out, also a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def join_texts(parts: list[str | None], between: str) -> str | None:
    texts = [one for one in parts if one is not None]
    if len(texts) < len(parts) or sum(map(len, texts)) + len(between) * len(texts) > LONGEST_TEXT:
        return None
    if between == "/" and any(one.startswith(("/", "~")) for one in texts[1:]):
        texts = texts[max(at for at, one in enumerate(texts) if one.startswith(("/", "~"))) :]
    return between.join(one.rstrip("/") if between == "/" and one != "/" else one for one in texts)


def fetches(node: ast.expr) -> bool:
    """Whether what an expression gives comes from the network, or is hidden in another spelling."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("urlopen", "get", "b64decode", "fromhex", "read", "content")
        for one in ast.walk(node)
    )


def reads_file(node: ast.expr) -> bool:
    """Whether a file stands in an expression."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("read", "read_text", "read_bytes", "environ", "getenv"))
        or (isinstance(one, ast.Name) and one.id == "open")
        for one in ast.walk(node)
    )
