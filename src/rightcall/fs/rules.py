"""Which paths below the root may be touched, by their names alone. The path is the resolved one, relative to the root,
with `/` between its components: what a link or `..` hides has been followed before."""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

from rightcall.base.globs import GlobFault, expression, first_names, folded
from rightcall.fs.refused import OUTSIDE, PLAIN, Component, component, is_source, unusual
from rightcall.parse.late import Late

DOTFILES = (
    ".gitignore", ".gitattributes", ".editorconfig", ".prettierrc*", ".eslintrc*", ".github/**",
    ".pre-commit-config.yaml", ".python-version",
)  # fmt: skip
_IN_SIGHT = r"(?:(?!\.[^.]|\.+/)[^/]+/)*?"
"""Folders that are not hidden: a dotfile that may be seen may be in any of them."""
_LONGEST = 4096
"""Characters; no longer path can be opened, so none need be judged."""
UNJUDGED = "path:unjudged"
"""The rule that refuses a path of which nobody can say what it means."""
_ANYWHERE = frozenset(("", ".", ".."))
_MOST_KNOWN = 10_000
_WORTH_KNOWING = 500
"""Folders whose judgement is kept at hand, and how long a name of one may be."""


class PathRules:
    """The rules for true paths, relative to the root with `/` between components. `deny` beats `allow`, which makes
    exceptions to the built-in names; `dotfiles` adds to those that may be seen. Made once, asked for every file.

    >>> rules = PathRules(deny=["private/**"])
    >>> rules.refuses("src/secretary.py"), rules.refuses("deploy/.env.local"), rules.refuses("Private/a.txt")
    (None, 'path:secret', 'path:deny')
    """

    __slots__ = ("_allow", "_denied_tops", "_deny", "_dotfiles", "_folders", "as_built")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()) -> None:
        more = tuple(dotfiles)
        denied = _and_their_looks(deny)
        self._deny = _any_of(denied)
        self._denied_tops = first_names(denied)
        self._allow = _any_of(allow)
        self._dotfiles = _any_of((*DOTFILES, *more), _IN_SIGHT)
        self.as_built = self._allow is None and not more
        """Whether nothing can be seen that the built-in names refuse."""
        self._folders: dict[str, Component] = {}

    def refuses(self, path: str) -> str | None:
        """The id of the rule that refuses a path, None when it may be touched."""
        if len(path) > _LONGEST:
            return UNJUDGED
        folder, _, name = path.rpartition("/")
        inside = self._folders.get(folder)
        if inside is None:
            inside = self._known(folder)
        own = component(name)
        if inside is PLAIN and own is PLAIN and path[:1] != "/" and not self._may_deny(folder):
            return None
        return self._judged(path, inside, own)

    def touchable(self, folder: str, names: list[str]) -> list[str]:
        """Those names in one folder that may be touched: what `refuses` says of each, but quicker for many."""
        top = f"{folder}/" if folder else ""
        inside = self._folders.get(folder) or self._known(folder)
        if inside is PLAIN and len(folder) < _LONGEST - 256 and folder[:1] != "/" and not self._may_deny(folder):
            odd = {name for name in unusual(names) if self.refuses(top + name) is not None}
            return [name for name in names if name not in odd] if odd else names
        return [name for name in names if self.refuses(top + name) is None]

    def _may_deny(self, folder: str) -> bool:
        """Whether a denial could reach into a folder: most name one folder, and leave all others alone."""
        if self._deny is None:
            return False
        top = folder.partition("/")[0]
        if self._denied_tops is None or top in _ANYWHERE or not top.isascii() or "\\" in top:
            return True
        return top.lower() in self._denied_tops

    def named(self, path: str) -> str | None:
        """The rule by which a path is denied or a secret, wherever it lies: what else may be touched outside a root is
        for others to say. A path that is too long to be judged is denied.

        >>> PathRules().named("/etc/passwd"), PathRules().named("/srv/node_modules/x/.env")
        (None, 'path:secret')
        """
        if len(path) > _LONGEST:
            return UNJUDGED
        path = path.lstrip("/")
        folder, _, name = path.rpartition("/")
        inside, own = self._folders.get(folder) or self._known(folder), component(name)
        if inside is PLAIN and own is PLAIN and not self._may_deny(folder):
            return None
        whole = _whole(path)
        if self._denies(whole):
            return "path:deny"
        if (inside is PLAIN and own is PLAIN) or (self._allow is not None and self._allow.fullmatch(whole)):
            return None
        source = is_source(name)
        named = own.names_secret() or any(component(one).names_secret(source) for one in folder.split("/"))
        return "path:secret" if named else None

    def excepts(self, path: str) -> bool:
        """Whether `allow` names a path: then its name alone is no reason to refuse it or to ask.

        >>> PathRules(allow=[".npmrc"]).excepts(".npmrc"), PathRules().excepts(".npmrc")
        (True, False)
        """
        return self._allow is not None and self._allow.fullmatch(_whole(path.lstrip("/"))) is not None

    def _denies(self, whole: str) -> bool:
        return self._deny is not None and any(self._deny.fullmatch(reading) for reading in _readings(whole))

    def _judged(self, path: str, inside: Component, own: Component) -> str | None:
        if inside is OUTSIDE or own is OUTSIDE or path.startswith("/"):
            return "path:outside"
        whole = _whole(path)
        if self._denies(whole):
            return "path:deny"
        if self._allow is not None and self._allow.fullmatch(whole):
            return None
        if inside.rule is not None or own.rule is not None:
            return inside.rule if inside.rule == "path:internal" else own.rule or inside.rule
        if own.secret or (inside.secret and not is_source(path.rpartition("/")[2])):
            return "path:secret"
        if (inside.hidden or own.hidden) and not (self._dotfiles is not None and self._dotfiles.fullmatch(whole)):
            return "path:dotfile"
        return None

    def _known(self, folder: str) -> Component:
        found = _all_of(folder)
        if len(folder) <= _WORTH_KNOWING:
            if len(self._folders) >= _MOST_KNOWN:
                self._folders.clear()
            self._folders[folder] = found
        return found


def path_rule(
    path: str, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()
) -> str | None:
    """The same for one path.

    >>> path_rule("src/secretary.py"), path_rule("deploy/.env.local"), path_rule("a/../../etc/passwd")
    (None, 'path:secret', 'path:outside')
    """
    return path_rules(tuple(deny), tuple(allow), tuple(dotfiles)).refuses(path)


@lru_cache(64)
def path_rules(deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...]) -> PathRules:
    """The rules of a policy, made once for all who ask by it."""
    return PathRules(deny, allow, dotfiles)


def _any_of(patterns: Iterable[str], above: str = "") -> Late | None:
    """One expression for folded paths that end in `/`; None for no pattern at all. Raises GlobFault. It is compiled
    when a path needs it: a hook judges one."""
    made = [above + expression(folded(pattern)) for pattern in patterns]
    return Late("|".join(made)) if made else None


def _and_their_looks(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns, and for one in foreign letters the plain ones that it looks like: paths are read both ways too."""
    given = tuple(patterns)
    if all(pattern.isascii() for pattern in given):
        return given
    from rightcall.text.alike import latin

    found = dict.fromkeys(given)
    for pattern in given:
        with suppress(GlobFault):  # a class of letters may lose its order that way; the pattern itself holds
            expression(latin(pattern))
            found[latin(pattern)] = None
    return tuple(found)


def _all_of(folder: str) -> Component:
    """The folders above a file taken together: the strictest rule, and whether any is named like a secret or hidden."""
    names = [component(name) for name in folder.split("/")]
    if OUTSIDE in names:
        return OUTSIDE
    rules = [one.rule for one in names if one.rule is not None]
    rule = "path:internal" if "path:internal" in rules else rules[0] if rules else None
    found = Component(rule, any(one.secret for one in names), any(one.hidden for one in names))
    return PLAIN if found == PLAIN else found


def _whole(path: str) -> str:
    """A path as patterns are matched against it."""
    if path and "//" not in path and "/." not in path and path[0] != "." and path[-1] != "/":
        return folded(path) + "/"
    return "".join(f"{part}/" for part in folded(path).split("/") if part not in ("", "."))


def _readings(whole: str) -> tuple[str, ...]:
    """What is denied is denied also to whoever takes a backslash for a separator, or one letter for another."""
    if whole.isascii():
        return (whole, _whole(whole.replace("\\", "/"))) if "\\" in whole else (whole,)
    from rightcall.text.alike import latin  # late: hardly any path needs it

    found = (whole, _whole(latin(whole)))
    return (*found, *(_whole(one.replace("\\", "/")) for one in found)) if "\\" in found[1] else found
