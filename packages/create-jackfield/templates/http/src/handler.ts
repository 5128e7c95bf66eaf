import { bearer, type VerifyToken } from '@jackfield/sdk/auth'
import { serveHttp } from '@jackfield/sdk/http'
import { createServer } from './server.ts'

/** How the server is reached, and who issues its access tokens. */
export interface HandlerOptions {
  /** The URL of the endpoint as clients reach it, which is the audience of access tokens. */
  resource: string
  /** The authorization server. */
  issuer: string
  /** Verifies an access token. */
  verify: VerifyToken
  /** Secrets of at least 32 bytes that encrypt the state of open questions, the same on every node. */
  keys?: string[]
}

/** Serves the notes over HTTP to callers with an access token. */
export function createHandler({ resource, issuer, verify, keys }: HandlerOptions) {
  return serveHttp(createServer(), {
    allowedHosts: [new URL(resource).host],
    authenticate: bearer({
      resource,
      authorizationServers: [issuer],
      verify,
      scopes: { required: ['notes:read'], implied: { 'notes:write': ['notes:read'] } },
    }),
    ...(keys === undefined ? {} : { keys }),
  })
}
