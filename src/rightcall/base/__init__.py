"""The basement: text, files and HTTP. It knows nothing of tools or calls."""
