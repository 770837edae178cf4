// The certified `oidc-provider` on a loopback port, in memory. Its address goes out as the first line; lines that come
// in are orders ({"ttl": 1}, {"forget": true}, {"secrets": true}), each answered with a line. It ends with its standard
// input.
import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const npm = createRequire(`${process.env.RIGHTCALL_NPM_BIN}/../`)
const { default: Provider } = await import(pathToFileURL(npm.resolve('oidc-provider')))
const { clients, groups, scopes } = JSON.parse(process.env.RIGHTCALL_PROVIDER)

const say = console.log
console.log = console.info = console.error // the provider's notices are no answers
let seconds = 3600
const refreshing = new Set()
const secrets = new Set() // whatever nobody but its owner may see
const SECRET = ['access_token', 'assertion', 'client_assertion', 'client_secret', 'code', 'code_verifier', 'device_code',
  'id_token', 'refresh_token', 'registration_access_token', 'token']
const note = (found) => SECRET.forEach((name) => typeof found?.[name] === 'string' && secrets.add(found[name]))

const server = createServer().listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients,
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: `${sub}@example.org`, groups: groups[sub] ?? [] }),
    }),
    claims: { openid: ['sub'], email: ['email'], groups: ['groups'] },
    conformIdTokenClaims: false, // the claims of the scopes are in the ID token, too
    extraTokenClaims: (_, token) => (token.accountId ? { groups: groups[token.accountId] ?? [] } : {}),
    scopes: ['openid', 'offline_access', 'email', 'groups', ...scopes],
    pkce: { required: (ctx) => ctx.oidc.route === 'authorization' },
    rotateRefreshToken: true,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    ttl: { AccessToken: () => seconds, ClientCredentials: () => seconds },
    features: {
      clientCredentials: { enabled: true },
      clientIdMetadataDocument: { enabled: false },
      deviceFlow: { enabled: true },
      devInteractions: { enabled: true }, // pages with a form for the name, and one for the consent
      dPoP: { enabled: true },
      introspection: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: scopes.join(' '),
          accessTokenTTL: seconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
      revocation: { enabled: true },
    },
  })
  provider.use(async (ctx, next) => {
    await next()
    note(ctx.oidc?.body)
    note(ctx.body)
    const back = ctx.response.get('location')
    if (back) note(Object.fromEntries(new URL(back, issuer).searchParams))
  })
  provider.on('refresh_token.saved', (token) => refreshing.add(token))
  provider.on('server_error', (_, error) => console.error(error))
  server.on('request', provider.callback())

  const answers = {
    ttl: (wanted) => { seconds = wanted },
    secrets: () => [...secrets],
    forget: async () => {
      await Promise.all([...refreshing].map((token) => token.destroy()))
      refreshing.clear()
    },
  }
  createInterface({ input: process.stdin })
    .on('line', async (line) => {
      const told = {}
      for (const [order, value] of Object.entries(JSON.parse(line))) told[order] = await answers[order](value)
      say(JSON.stringify(told))
    })
    .on('close', () => process.exit())
  say(JSON.stringify({ issuer }))
})
