"""Who is who: logins at servers that want one, and tokens that say who calls us.

    a server answers 401 ─▶ challenge ─▶ its metadata ─▶ who gives logins ─▶ register ─▶ a person says yes ─▶ vault
                            `discovery`  `documents`                       `registration`   `flows`         `logins`

Whatever is found on this way (challenges, documents, addresses, redirects) is a stranger's word. An address is judged
before it is asked, a document must name the place it came from, and who gave the first login is remembered: another
one needs a person. A token goes to the one server that it was given for.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.identity.documents import Reach, fetch_document
else:
    __getattr__, __dir__ = front(__name__, {"documents": "Reach fetch_document"})

__all__ = ["Reach", "fetch_document"]
