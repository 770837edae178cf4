// A promise whose failure nobody takes.
Promise.reject(new RangeError("went wrong"));
// exit 1
// stderr RangeError: went wrong
