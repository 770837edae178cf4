// A protected server of the official TypeScript SDK: it believes the tokens of the provider RIGHTCALL_ISSUER. Its
// address goes out as the first line; the line `refuse` makes it refuse every token that it has seen. It ends with its
// standard input.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const npm = createRequire(`${process.env.RIGHTCALL_NPM_BIN}/../`)
const load = (name) => import(pathToFileURL(npm.resolve(name)))
const { default: express } = await load('express')
const { createRemoteJWKSet, jwtVerify } = await load('jose')
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js')
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js')
const { requireBearerAuth } = await load('@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js')
const { mcpAuthMetadataRouter, getOAuthProtectedResourceMetadataUrl } = await load('@modelcontextprotocol/sdk/server/auth/router.js')
const { InvalidTokenError } = await load('@modelcontextprotocol/sdk/server/auth/errors.js')
const { z } = await load('zod')

const issuer = process.env.RIGHTCALL_ISSUER
const oauthMetadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri))
const seen = new Set()
let refused = new Set()

function serverFor(auth) {
  const server = new McpServer({ name: 'protected', version: '1.0.0' })
  server.registerTool('whoami', {}, () => ({
    content: [{ type: 'text', text: `${auth.extra.subject} ${auth.scopes.join(' ')}` }],
  }))
  server.registerTool('write', { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text: `wrote ${text}` }],
  }))
  return server
}

const app = express()
const listening = app.listen(0, '127.0.0.1', () => {
  const url = new URL(`http://127.0.0.1:${listening.address().port}/mcp`)
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url)
  const verifier = {
    async verifyAccessToken(token) {
      const found = await jwtVerify(token, keys, { issuer, audience: url.href }).catch((error) => {
        throw new InvalidTokenError(error.message)
      })
      if (refused.has(token)) throw new InvalidTokenError('revoked')
      seen.add(token)
      const { client_id, scope = '', exp, sub } = found.payload
      return { token, clientId: client_id, scopes: scope.split(' '), expiresAt: exp, extra: { subject: sub } }
    },
  }
  const needs = (scope) => requireBearerAuth({ verifier, requiredScopes: [scope], resourceMetadataUrl })
  app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: ['mcp:read'] }))
  app.use(express.json())
  app.post('/mcp', needs('mcp:read'), (request, response, next) =>
    request.body?.params?.name === 'write' ? needs('mcp:write')(request, response, next) : next())
  app.post('/mcp', async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await serverFor(request.auth).connect(transport)
    await transport.handleRequest(request, response, request.body)
  })
  app.all('/mcp', (_, response) => response.status(405).end())

  createInterface({ input: process.stdin })
    .on('line', () => { refused = new Set(seen); console.log('{}') })
    .on('close', () => process.exit())
  console.log(JSON.stringify({ url: url.href }))
})
