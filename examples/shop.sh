#!/bin/sh
# A small repository to look at with the code tools: `sh examples/shop.sh` makes the folder `shop`, once.
# Names and dates are fixed and nobody's git settings count, so commits have the same ids everywhere.
set -e
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_DEFAULT_HASH=sha1

commit() { # name, date, message; everything is committed
    git add --all
    GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$1@shop.example GIT_AUTHOR_DATE=$2 \
        GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=$1@shop.example GIT_COMMITTER_DATE=$2 git commit -q -m "$3"
}

if [ -e shop ]; then
    [ -f shop/orders.py ] && [ -d shop/.git ] && echo 'shop is there already; it stays as it is.' >&2 && exit 0
    echo 'there is a shop here that is not this one: go to another folder, or move it away.' >&2
    exit 1
fi
mkdir shop
cd shop
git -c init.defaultBranch=main -c init.templateDir= init -q
mkdir conf data
cat > order.py <<'END'
"""Orders of a shop."""

from decimal import Decimal


class Order:
    """What somebody wants."""

    def __init__(self) -> None:
        self.lines: list[Decimal] = []

    def add(self, price: Decimal, pieces: int = 1) -> None:
        self.lines.append(price * pieces)
END
printf '# Shop\n\nTODO: say what this is.\n' > README.md
printf '*.log\n' > .gitignore
printf 'PASSWORD=hunter2\n' > conf/.env
printf 'Andr\351\nZo\353\n' > data/customers.txt
commit Ada 2024-05-01T09:00:00Z 'Orders and their lines'

cat >> order.py <<'END'

    def total(self) -> Decimal:
        return sum(self.lines, Decimal(0))  # TODO: taxes
END
commit Grace 2024-05-03T15:30:00Z 'Orders know their total

Taxes are still missing.'

git checkout -q -b taxes
printf 'RATES = {"NO": 25, "CH": 8.1}  # TODO: more countries\n' > taxes.py
commit Ada 2024-05-06T08:15:00Z 'Taxes by country'

git checkout -q main
git mv order.py orders.py
commit Grace 2024-05-10T11:00:00Z 'There is more than one order'

GIT_COMMITTER_DATE=2024-05-12T10:00:00Z GIT_AUTHOR_DATE=2024-05-12T10:00:00Z git -c user.name=Ada \
    -c user.email=Ada@shop.example merge -q --no-ff -m 'Merge the taxes' taxes

# Since then: a change that is not committed, a new file, and files that nobody should see or search.
printf '# Shop\n\nIt sells what is ordered.\n' > README.md
printf 'TODO: call Grace\n' > notes.txt
printf 'TODO written by a machine\n' > debug.log
printf '\211PNG\r\n\032\n\0\0\0\r' > logo.png
ln -s orders.py latest.py
