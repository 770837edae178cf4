"""Models: the scripted one, for tests and examples. A model is any callable from messages to a reply."""
