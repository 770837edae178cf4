"""Who is who: logins at servers that want one, and tokens that say who calls us.

    a server answers 401 ─▶ challenge ─▶ its metadata ─▶ who gives logins ─▶ register ─▶ a person says yes ─▶ vault
                                   `discovery`                              `registration`   `flows`         `logins`

Whatever is found on this way (challenges, documents, addresses, redirects) is a stranger's word. An address is judged
before it is asked, a document must name the place it came from, and who gave the first login is remembered: another
one needs a person. A token goes to the one server that it was given for.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.identity.discovery import Provider, Reach, discover_issuer, fetch_document, read_challenge
    from rightcall.identity.logins import Access, LoginNeeded, Wish, access_of, log_in_at, log_out
    from rightcall.identity.vault import Login, Vault, Want
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "discovery": "Provider Reach discover_issuer fetch_document read_challenge",
            "logins": "Access LoginNeeded Wish access_of log_in_at log_out",
            "vault": "Login Vault Want",
        },
    )

__all__ = [
    "Access", "Login", "LoginNeeded", "Provider", "Reach", "Vault", "Want", "Wish", "access_of", "discover_issuer",
    "fetch_document", "log_in_at", "log_out", "read_challenge",
]  # fmt: skip
