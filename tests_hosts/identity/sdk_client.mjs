// The official TypeScript SDK's client, version 1 or 2 (the first argument), which logs in by itself at a server (the
// second) and calls a tool (the third). The link for the person goes out as a line; the address that the person came
// back to comes in as one.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline/promises'
import { pathToFileURL } from 'node:url'

const [, , version, url, tool] = process.argv
const npm = createRequire(`${process.env.RIGHTCALL_NPM_BIN}/../`)
const load = (name) => import(pathToFileURL(npm.resolve(name)))
const parts = version === '1'
  ? { ...await load('@modelcontextprotocol/sdk/client/index.js'), ...await load('@modelcontextprotocol/sdk/client/streamableHttp.js'), ...await load('@modelcontextprotocol/sdk/client/auth.js') }
  : await load('@modelcontextprotocol/client')
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = parts

const kept = {}
const login = {
  redirectUrl: 'http://127.0.0.1:9/callback',
  clientMetadata: {
    client_name: 'SDK',
    redirect_uris: ['http://127.0.0.1:9/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  state: () => crypto.randomUUID(),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier },
  codeVerifier: () => kept.verifier,
  redirectToAuthorization: (link) => console.log(link.href),
  saveDiscoveryState: (state) => { kept.discovery = state },
  discoveryState: () => kept.discovery,
}

const connected = async (authProvider) => {
  const client = new Client({ name: `sdk-${version}`, version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    const lines = createInterface({ input: process.stdin })
    const back = new URL(await new Promise((resolve) => lines.once('line', resolve)))
    lines.close()
    if (version === '1') await transport.finishAuth(back.searchParams.get('code'))
    else await transport.finishAuth(back.searchParams)
    return connected(authProvider)
  }
}

const client = await connected(login)
const result = await client.callTool({ name: tool, arguments: { text: 'hello' } })
console.log(JSON.stringify(result.content))
await client.close()
process.exit(0)
