"""The desk that a command works at: that of the root, beside the audit that its options name."""

from argparse import Namespace
from typing import TYPE_CHECKING

from rightcall.cli.store_options import database_of, policy_of, policy_path
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk


def desk_of(options: Namespace) -> "Desk":
    """Where changes are kept. Nothing is made by asking for it."""
    from rightcall.execute.write.desk import Desk
    from rightcall.executor_opening import desk_folder, existing_folder, guarded_paths
    from rightcall.fs.rules import path_rules
    from rightcall.fs.sight import Sight

    policy, database, root = policy_of(options), database_of(options), existing_folder(options.root)
    paths = policy.settings.paths
    denied = (*paths.deny, *guarded_paths(root, policy_path(options), database))
    return Desk(desk_folder(database, root), Sight(root, path_rules(denied, paths.allow, paths.dotfiles)), policy.write)


def believed_desk(options: Namespace) -> "Desk":
    """The same, for whoever tells what is on it. ConfigError where one is there and cannot be read or believed: it must
    not look like one on which nothing has happened."""
    from rightcall.execute.write.desk_opening import distrust

    desk = desk_of(options)
    if why := distrust(desk.folder):
        raise ConfigError(why)
    return desk
