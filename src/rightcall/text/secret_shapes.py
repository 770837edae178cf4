"""Secrets that are known by their shape, wherever they stand in a text. Every pattern takes linear time.

The table is the listed set of promise A-02, with the names of secret_names.py; docs/audit.md shows it, and a test keeps
both the same.
"""

import re
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

_FREE = r"(?<![A-Za-z0-9])"
"""What stands before is no part of the same word."""


def _mixed(token: str) -> bool:
    """Not merely words with hyphens: random characters have a digit or a capital among them."""
    return any(character.isdigit() or character.isupper() for character in token)


def _has_parts(token: str) -> bool:
    return "." in token


def _is_login(token: str) -> bool:
    """`name:password` in Base64."""
    try:
        return b":" in b64decode(token.encode() + b"==")
    except ValueError:
        return False


class Shape(NamedTuple):
    """One kind of secret. Its first group is what is hidden, or all of it where there is none."""

    name: str
    signs: tuple[str, ...]
    """One of these stands in every text that holds it; quicker to look for than the pattern."""
    pattern: re.Pattern[str]
    sure: Callable[[str], bool] | None = None
    """Says no to what only looks like one."""


def _shape(name: str, signs: str, pattern: str, sure: Callable[[str], bool] | None = None) -> Shape:
    return Shape(name, tuple(signs.split()), re.compile(f"{_FREE}(?:{pattern})"), sure)


SHAPES: tuple[Shape, ...] = (
    _shape("JSON web token", "eyJ", r"eyJ[\w-]{8,}+(?:\.[\w-]*+){0,4}", _has_parts),
    _shape("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    _shape("GitHub fine-grained token", "github_pat_", r"github_pat_\w{20,}+"),
    _shape("GitLab token", "glpat- glptt- gldt- glrt- glcbt- glsoat- glft-",
           r"gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[\w-]{16,}+"),
    _shape("Slack token", "xox xapp-", r"(?:xox[a-z]{1,2}|xapp)-[\w-]{10,}+", _mixed),
    _shape("Slack or Discord webhook", "hooks.slack.com/ /webhooks/",
           r"hooks\.slack\.com/(?:services|workflows)/([\w/-]{10,}+)|(?<=/webhooks/)(\d{10,}+/[\w-]{20,}+)"),
    _shape("OpenAI, Anthropic or OpenRouter key", "sk-", r"sk-[\w-]{20,}+", _mixed),
    _shape("RightCall token", "rct_", r"rct_[\w-]{20,}+"),
    _shape("Stripe key", "_live_ _test_ whsec_", r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}+"),
    _shape("Google API key", "AIza", r"AIza[\w-]{35}"),
    _shape("Google OAuth secret", "ya29. GOCSPX- 1//0", r"(?:ya29\.|GOCSPX-|1//0)[\w-]{20,}+"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _shape("PyPI token", "pypi-", r"pypi-[\w-]{32,}+", _mixed),
    _shape("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}+"),
    _shape("SendGrid key", "SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    _shape("Twilio key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _shape("Telegram bot token", ":AA", r"\d{6,12}:AA[\w-]{30,}+"),
    _shape("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _shape("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _shape("Docker, Linear, Notion, Figma or Supabase token", "dckr_pat_ lin_api_ ntn_ figd_ sbp_",
           r"(?:dckr_pat|lin_api|ntn|figd|sbp)_[\w-]{20,}+"),
    _shape("Groq, xAI, Replicate, Perplexity or Tavily key", "gsk_ xai- r8_ pplx- tvly-",
           r"(?:gsk_|xai-|r8_|pplx-|tvly-)[\w-]{20,}+", _mixed),
    _shape("Vault or Terraform token", "hvs. hvb. hvr. .atlasv1.",
           r"(?:hv[sbr]|[A-Za-z0-9]{14}\.atlasv1)\.[\w-]{20,}+"),
    _shape("Grafana, Sentry or New Relic key", "glsa_ glc_ sntrys_ NRAK-",
           r"(?:glsa_|glc_|sntrys_|NRAK-)[\w+/=-]{20,}+"),
    _shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-f]{32}"),
    _shape("Atlassian token", "ATATT3 ATBB", r"(?:ATATT3|ATBB)[\w=-]{20,}+"),
    _shape("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _shape("Azure client secret", "8Q~", r"\w{3}8Q~[\w~.-]{30,}+"),
    _shape("age secret key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    _shape("Bearer value", "earer EARER", r"(?:[Bb]earer|BEARER)[ \t]++([\w.~+/=-]{16,}+)", _mixed),
    _shape("Basic value", "asic ASIC", r"(?:[Bb]asic|BASIC)[ \t]++([A-Za-z0-9+/=]{15,}+)", _is_login),
    _shape("signature in an address", "sig= ignature=",
           r"(?<=[?&;])(?:sig|X-Amz-Signature|X-Goog-Signature|Signature)=([^&\s\"'<>\\\[]{15,}+)"),
)  # fmt: skip

SIGNS: tuple[tuple[str, Shape], ...] = tuple((sign, shape) for shape in SHAPES for sign in shape.signs)

LONG_WORD = re.compile(r"[A-Za-z0-9_-]{15}")
"""Stands in every one of them."""

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:(?=-----)|\Z)(?:-----END [A-Z0-9 ]{0,60}-----)?"
)
"""PEM and OpenSSH; without an end, everything up to the next line of hyphens."""

LOGIN = re.compile(r"(?<=://)([^\s/?#@:\"'<>\\]*+)(:[^\s/?#\"'<>\\]*)?(?=@)")
"""Name and password in an address: the password, or a long name without one."""

AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""Forty characters, hidden beside an AWS access key."""


def is_aws_secret(token: str) -> bool:
    """Not merely the hexadecimal name of a commit."""
    return not all(character in "0123456789abcdefABCDEF" for character in token)
