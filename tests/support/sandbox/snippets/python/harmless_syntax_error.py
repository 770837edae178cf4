"""A program that cannot be read."""

exec("this is no Python")  # noqa: S102
# exit 1
# stderr SyntaxError
