import { createHash } from 'node:crypto'
import { type Hand, json, listen, type Seen } from './server.ts'

type Params = Record<string, string | undefined>

interface Login {
  readonly challenge: string
  readonly redirectUri: string
  readonly resource: string | null
  readonly scope: string | null
}

/** An authorization server written by hand, for what a sound one never does. Every refresh token is good once. */
export interface Authority extends Hand {
  readonly issuer: string
  /** Access tokens that are good now, with their scopes. */
  readonly good: Map<string, string>
  /** Refresh tokens that are good now. */
  readonly refreshable: Set<string>
  /** The members of its metadata that differ from the usual ones; undefined leaves one out. */
  metadata: Record<string, unknown>
  /** Where its metadata is; undefined for the place of RFC 8414. */
  metadataPath: string | undefined
  /** The parameters of the redirect that differ from the usual ones; undefined leaves one out. */
  callback: Params
  /** What its token endpoint answers that differs from the usual. */
  token: Record<string, unknown>
  /** Takes over every well-known place where it returns true. */
  onMetadata: (seen: Seen) => boolean
  /** Takes over the token endpoint where it returns true. */
  onToken: (seen: Seen) => boolean
  /** Takes over the registration endpoint where it returns true. */
  onRegister: (seen: Seen) => boolean
  /** Takes over the revocation endpoint where it returns true. */
  onRevoke: (seen: Seen) => boolean
  /** Ends every access token. */
  expireAll(): void
}

/** @param path of the issuer, such as `/tenant1` */
export async function authority(path = ''): Promise<Authority> {
  const logins = new Map<string, Login>()
  const good = new Map<string, string>()
  const refreshable = new Set<string>()
  let count = 0

  const hand = await listen((seen) => {
    const { pathname } = seen.url
    if (pathname.includes('/.well-known/') && self.onMetadata(seen)) return
    if (pathname === (self.metadataPath ?? `/.well-known/oauth-authorization-server${path}`))
      return describe(seen)
    if (pathname === `${path}/register`) return self.onRegister(seen) || registered(seen)
    if (pathname === `${path}/authorize`) return signedIn(seen)
    if (pathname === `${path}/token`) return self.onToken(seen) || token(seen)
    if (pathname === `${path}/revoke`) return self.onRevoke(seen) || revoked(seen)
    json(seen.res, { error: 'not_found' }, 404)
  })
  const issuer = `${hand.origin}${path}`

  function describe({ res }: Seen): void {
    json(res, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      ...self.metadata,
    })
  }

  function registered({ res, body }: Seen): void {
    const asked: object = JSON.parse(body)
    json(res, { ...asked, client_id: `client-${++count}` }, 201)
  }

  function signedIn({ params, res }: Seen): void {
    const redirectUri = params.get('redirect_uri') ?? ''
    const code = `code-${++count}`
    logins.set(code, {
      challenge: params.get('code_challenge') ?? '',
      redirectUri,
      resource: params.get('resource'),
      scope: params.get('scope'),
    })
    const back = new URL(redirectUri)
    const given: Params = { code, state: params.get('state') ?? undefined, iss: issuer, ...self.callback }
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) back.searchParams.set(name, value)
    }
    res.writeHead(302, { location: back.href }).end()
  }

  function token({ params, res }: Seen) {
    const grant = params.get('grant_type')
    const login = logins.get(params.get('code') ?? '')
    logins.delete(params.get('code') ?? '')
    const refresh = params.get('refresh_token') ?? ''
    const verifier = createHash('sha256')
      .update(params.get('code_verifier') ?? '')
      .digest('base64url')
    const proven =
      login?.challenge === verifier &&
      login.redirectUri === params.get('redirect_uri') &&
      login.resource === params.get('resource')
    const sound =
      grant === 'authorization_code' ? proven : grant !== 'refresh_token' || refreshable.delete(refresh)
    if (!sound) return json(res, { error: 'invalid_grant', error_description: 'used up' }, 400)
    json(res, { ...issue(login?.scope ?? params.get('scope') ?? ''), ...self.token })
  }

  function revoked({ params, res }: Seen): void {
    const token = params.get('token') ?? ''
    good.delete(token)
    refreshable.delete(token)
    res.writeHead(200).end()
  }

  function issue(scope: string): Record<string, unknown> {
    const access = `access-${++count}-secret`
    const refresh = `refresh-${count}-secret`
    good.set(access, scope)
    refreshable.add(refresh)
    return { access_token: access, token_type: 'Bearer', expires_in: 3600, refresh_token: refresh }
  }

  const self: Authority = {
    ...hand,
    issuer,
    good,
    refreshable,
    metadata: {},
    metadataPath: undefined,
    callback: {},
    token: {},
    onMetadata: () => false,
    onToken: () => false,
    onRegister: () => false,
    onRevoke: () => false,
    expireAll: () => good.clear(),
  }
  return self
}
