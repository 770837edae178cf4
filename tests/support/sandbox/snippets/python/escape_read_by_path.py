"""The secret by its path, written in several ways."""

from attacking import attempt, folder_of, os, outside, read

secret = outside["secret"]
attempt("path", read, secret)
attempt("slashes", read, "//" + secret.replace("/", "//./"))
attempt("bytes", read, os.fsencode(secret))
attempt("listing", os.listdir, folder_of(secret))
attempt("walk", lambda: [read(os.path.join(folder_of(secret), name)) for name in os.listdir(folder_of(secret))])
