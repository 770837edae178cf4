"""Patterns and all kinds of letters, out as they are."""

import re
import textwrap
import unicodedata

print(re.findall(r"(\w+)@(\w+)", "ann@home bo@work"))
print("Grüße, 世界, \N{GRINNING FACE}, \N{ARABIC LETTER ALEF}", unicodedata.name("é"))
print(textwrap.shorten("one two three four", 12), "ÀÉ".casefold(), len("👩‍👩‍👧"))
# > [('ann', 'home'), ('bo', 'work')]
# > Grüße, 世界, 😀, ا LATIN SMALL LETTER E WITH ACUTE
# > one [...] àé 5
