"""Files below a root: which of them may be touched."""
