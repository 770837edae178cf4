"""An exception that nobody catches."""


def inner():
    return {}["missing"]


print("before")
inner()
# > before
# exit 1
# stderr KeyError: 'missing'
# stderr in inner
