import { randomBytes, timingSafeEqual } from 'node:crypto'
import { jwt, type VerifyToken } from '@jackfield/sdk/auth'
import { createHandler } from './handler.ts'

const { ISSUER, RESOURCE_URL, STATE_KEY, HOST = '127.0.0.1', PORT = '3000' } = process.env
const resource = RESOURCE_URL ?? `http://127.0.0.1:${PORT}/mcp`
const keys = STATE_KEY === undefined ? {} : { keys: [STATE_KEY] }

if (ISSUER === undefined && HOST !== '127.0.0.1') {
  console.error(
    'Set ISSUER to the URL of your authorization server. Without it the server listens on 127.0.0.1 only, with a token for development.',
  )
  process.exit(2)
}

// For development, one token that changes with every start, unless DEV_TOKEN sets it.
const token = process.env.DEV_TOKEN ?? randomBytes(24).toString('base64url')
// No server answers at this URL. A client that tries to log in without the token shows it in its error.
const developmentIssuer = new URL('/no-issuer-is-set', resource).href

const handler =
  ISSUER === undefined
    ? createHandler({ resource, issuer: developmentIssuer, verify: verifyDevelopmentToken, ...keys })
    : createHandler({ resource, issuer: ISSUER, verify: jwt({ issuer: ISSUER }), ...keys })
const { url, close } = await handler.listen({ port: Number(PORT), host: HOST }).catch((error: Error) => {
  console.error(`${error.message}. Set the address with the variables HOST and PORT.`)
  process.exit(1)
})
console.log(`Serving ${url}`)
if (ISSUER === undefined) {
  console.log(`No ISSUER is set: the only valid token is ${token}. Call a tool with:

npx jackfield call ${url} add text=Hello --header "Authorization: Bearer ${token}"
`)
}
process.once('SIGINT', close)
process.once('SIGTERM', close)

/** Accepts the one token for development. */
async function verifyDevelopmentToken(received: string): ReturnType<VerifyToken> {
  const [expected, actual] = [Buffer.from(token), Buffer.from(received)]
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return undefined
  return {
    iss: developmentIssuer,
    sub: 'developer',
    aud: resource,
    exp: Math.floor(Date.now() / 1000) + 3600,
    scope: 'notes:write',
  }
}
