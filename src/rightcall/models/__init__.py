"""Models: any OpenAI-compatible endpoint, and a scripted one for tests and examples. A model is any callable from
messages to a reply."""
