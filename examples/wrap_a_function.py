"""Three lines around a function: what a model wrote is repaired and checked, then the function runs, or says why not.

python examples/wrap_a_function.py
"""

from rightcall import guard


@guard
def book_table(restaurant: str, guests: int, date: str) -> str:
    """Books a table in a restaurant."""
    return f"Booked {restaurant} for {guests} on {date}."


def main() -> None:
    # A model wrote Python instead of JSON, and the number as a word: it is read, and the function runs.
    print(book_table("{'restaurant': 'Da Enzo', 'guests': 'four', 'date': '2026-05-01'}"))

    # Something is missing: the function does not run, and the model gets an answer it can act on.
    print(book_table('{"restaurant": "Da Enzo", "guests": 4}'))


if __name__ == "__main__":
    main()
