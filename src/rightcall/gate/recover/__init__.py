"""From whatever a model wrote to the calls it holds: formats, the scanner that looks for all of them, streaming."""
