"""The OpenID provider of django-oauth-toolkit on a loopback port, as a program: it says its address in its first line,
takes orders as lines (`{"ttl": 1}`, `{"forget": true}`), and ends with its standard input. Nothing of it is shared with
the other provider: oauthlib and jwcrypto instead of Node.js, and the pages of Django."""

import json
import logging
import os
import sys
import threading
import time
from pathlib import Path
from socketserver import ThreadingMixIn
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from django.conf import settings
from jwcrypto import jwk, jwt

GIVEN = json.loads(os.environ["RIGHTCALL_PROVIDER"])
LOGIN = "<form method='post'>{% csrf_token %}{{ form.as_p }}<button type='submit'>Log in</button></form>"
KEY = jwk.JWK.generate(kty="RSA", size=2048)
APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "OPTIONS": {
        "loaders": [
            ("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN}),
            "django.template.loaders.app_directories.Loader",
        ],
        "context_processors": ["django.template.context_processors.request"],
    },
}


def sign(request: Any, refresh_token: bool = False) -> str:
    """An access token as in RFC 9068, which the toolkit leaves to whoever uses it."""
    user = getattr(request, "user", None)
    name = user.username if user is not None else request.client.client_id
    now = int(time.time())
    claims = {
        "iss": settings.OAUTH2_PROVIDER["OIDC_ISS_ENDPOINT"], "sub": name, "client_id": request.client.client_id,
        "aud": getattr(request, "resource", None) or [], "jti": uuid4().hex, "iat": now,
        "exp": now + int(request.expires_in), "scope": " ".join(request.scopes or ()),
        "groups": GIVEN["groups"].get(name, []),
    }  # fmt: skip
    token = jwt.JWT(header={"alg": "RS256", "typ": "at+jwt", "kid": KEY.thumbprint()}, claims=claims)
    token.make_signed_token(KEY)
    return token.serialize()


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def configure(issuer: str, folder: Path) -> None:
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # loopback
    methods = ["none", "client_secret_basic", "client_secret_post"]
    provider = {
        "ACCESS_TOKEN_GENERATOR": "django_provider.sign",
        "ALWAYS_RELOAD_OAUTHLIB_CORE": True,  # so that an order holds for the next request
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
        "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
        "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": methods,
        "OAUTH2_VALIDATOR_CLASS": "django_provider_claims.Claims",
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": issuer,
        "OIDC_RSA_PRIVATE_KEY": KEY.export_to_pem(private_key=True, password=None).decode(),
        "OIDC_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": methods,
        "PKCE_REQUIRED": True,
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
        "DEFAULT_SCOPES": GIVEN["scopes"],
        "SCOPES": {scope: scope for scope in ("openid", "email", "groups", *GIVEN["scopes"])},
        "ALLOW_LOCALHOST_LOOPBACK": True,
    }
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "provider.sqlite")}},
        INSTALLED_APPS=APPS,
        LOGIN_URL="/login/",
        MIDDLEWARE=MIDDLEWARE,
        OAUTH2_PROVIDER=provider,
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        ROOT_URLCONF="django_provider_urls",
        SECRET_KEY=uuid4().hex,
        TEMPLATES=[TEMPLATES],
        USE_TZ=True,
    )


def fill() -> None:
    """The tables, the people, and the clients that are registered beforehand."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from oauth2_provider.models import Application

    call_command("migrate", verbosity=0)
    for name in GIVEN["groups"]:
        User.objects.create_user(name, f"{name}@example.org", name)
    for client in GIVEN["clients"]:
        grants = client["grant_types"]
        Application.objects.create(
            client_id=client["client_id"],
            client_secret=client.get("client_secret", ""),
            client_type="confidential" if "client_secret" in client else "public",
            authorization_grant_type="client-credentials" if "client_credentials" in grants else "authorization-code",
            redirect_uris=" ".join(client["redirect_uris"]),
            algorithm="RS256",
        )


def answer(order: str, value: Any) -> None:
    from oauth2_provider.models import RefreshToken
    from oauth2_provider.settings import oauth2_settings

    if order == "ttl":
        oauth2_settings.ACCESS_TOKEN_EXPIRE_SECONDS = value
    elif order == "forget":
        for token in RefreshToken.objects.filter(revoked__isnull=True):
            token.revoke()


def views() -> None:
    """The modules that Django asks for by name."""
    from types import ModuleType

    from django.contrib.auth.views import LoginView
    from django.urls import include, path
    from oauth2_provider.oauth2_validators import OAuth2Validator

    class Claims(OAuth2Validator):
        oidc_claim_scope = None  # all of them, whatever was asked for

        def get_additional_claims(self, request: Any) -> dict[str, Any]:
            user = request.user
            return {"sub": user.username, "email": user.email, "groups": GIVEN["groups"].get(user.username, [])}

    urls, claims = ModuleType("django_provider_urls"), ModuleType("django_provider_claims")
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("login/", LoginView.as_view()),
        path("", include("oauth2_provider.urls", namespace="oauth2_provider")),
    ]
    claims.Claims = Claims  # type: ignore[attr-defined]
    sys.modules.update(django_provider_urls=urls, django_provider_claims=claims)


def say(told: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def main() -> None:
    sys.modules["django_provider"] = sys.modules["__main__"]
    logging.disable(logging.WARNING)
    with TemporaryDirectory() as folder:
        server = Server(("127.0.0.1", 0), Quiet)
        issuer = f"http://127.0.0.1:{server.server_port}"
        configure(issuer, Path(folder))
        django.setup()
        views()
        fill()
        from django.core.wsgi import get_wsgi_application

        server.set_app(get_wsgi_application())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        say({"issuer": issuer})
        for line in sys.stdin:
            for order, value in json.loads(line).items():
                answer(order, value)
            say({})
        server.shutdown()


if __name__ == "__main__":
    main()
