"""How much of a model's context a text takes, roughly: the design's rule, one token for four characters."""


def estimate(text: str) -> int:
    """The tokens of a text. Good for prose and code in Latin letters; scripts with a character for each syllable take
    up to four times as many.

    >>> estimate("hello"), estimate("")
    (2, 0)
    """
    return -(-len(text) // 4)
