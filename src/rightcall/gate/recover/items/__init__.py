"""One call in each of the ways it can be written, whatever section it stands in: as a JSON object (`objects`), as
Python writes it (`calls`), as tags (`tags`). The formats read their items through these.
"""
