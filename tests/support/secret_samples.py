"""Secrets that never were any, for the tests of redaction. Put together from pieces, so that nobody's scanner takes
this file for a leak."""

MIXED = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xY"
HEX = "0123456789abcdef" * 4

SHAPES: dict[str, list[str]] = {
    "JSON web token": ["eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N"],
    "AWS access key": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A"],
    "GitHub token": [f"gh{letter}_" + MIXED for letter in "pousr"],
    "GitHub fine-grained token": ["github_" + "pat_11ABCDEFG0" + MIXED + "_" + MIXED],
    "GitLab token": ["glpat-" + "xY1_zzz-AAAbbbCCCddd", "gldt-" + MIXED],
    "Slack token": [
        "xoxb-" + "1234567890-abcdefABCDEF",
        "xoxp-" + "1-2-3-aBcDeF0123456789",
        "xapp-" + "1-A0-12-abcdef",
    ],
    "Slack or Discord webhook": [
        "https://hooks.slack.com/" + "services/T00000000/B00000000/" + MIXED,
        "https://discord.com/api/webhooks/1234567890123/" + MIXED,
    ],
    "OpenAI, Anthropic or OpenRouter key": [
        "sk-" + MIXED,
        "sk-proj-" + MIXED,
        "sk-ant-api03-" + MIXED,
        "sk-or-v1-" + HEX,
    ],
    "RightCall token": ["rct_" + MIXED * 2],
    "Stripe key": ["sk_" + "live_" + MIXED, "rk_" + "test_" + MIXED, "whsec_" + MIXED],
    "Google API key": ["AIza" + "SyA-1234567890abcdefghijklmnopqrstu"],
    "Google OAuth secret": ["ya29." + MIXED, "GOCSPX-" + MIXED, "1//0" + MIXED],
    "npm token": ["npm_" + MIXED + "aB12"],
    "PyPI token": ["pypi-" + "AgEIcHlwaS5vcmc" + MIXED],
    "Hugging Face token": ["hf_" + MIXED, "api_org_" + MIXED],
    "SendGrid key": ["SG." + MIXED[:22] + "." + MIXED + MIXED[:11]],
    "Twilio key": ["SK" + HEX[:32]],
    "Telegram bot token": ["123456789:" + "AA" + MIXED + "x"],
    "Databricks token": ["dapi" + HEX[:32]],
    "DigitalOcean token": ["dop_v1_" + HEX],
    "Docker, Linear, Notion, Figma or Supabase token": [
        word + MIXED for word in ("dckr_pat_", "lin_api_", "ntn_", "figd_", "sbp_")
    ],
    "Groq, xAI, Replicate, Perplexity or Tavily key": [
        word + MIXED for word in ("gsk_", "xai-", "r8_", "pplx-", "tvly-")
    ],
    "Vault or Terraform token": ["hvs." + MIXED, MIXED[:14] + ".atlasv1." + MIXED + MIXED],
    "Grafana, Sentry or New Relic key": ["glsa_" + MIXED + "_0123abcd", "sntrys_" + MIXED, "NRAK-" + MIXED.upper()],
    "Shopify token": ["shpat_" + HEX[:32]],
    "Atlassian token": ["ATATT3" + "xFfGF0" + MIXED, "ATBB" + MIXED],
    "Mailgun key": ["key-" + HEX[:32]],
    "Azure client secret": ["abc8Q~" + MIXED],
    "age secret key": ["AGE-SECRET-" + "KEY-1" + (MIXED + MIXED).upper()],
    "Bearer value": ["bearer " + MIXED],
    "Basic value": ["Basic " + "YW5uOmh1bnRlcjItbG9uZw=="],
    "signature in an address": ["https://a.example/b?sv=2022&sig=" + MIXED],
}
"""By the name of their shape."""

PRIVATE_KEY = "\n".join(
    ("-----BEGIN RSA " + "PRIVATE KEY-----", "MIIEowIBAAKCAQEA" + MIXED, "-----END RSA PRIVATE KEY-----")
)
