import { createCipheriv, createDecipheriv, createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { type AllowList, SignInError, type WebUser } from './users.ts'

/** Milliseconds for a request to the issuer. */
const requestMs = 10_000
/** Milliseconds for which a person can be at the issuer. */
const signInMs = 600_000
/** Milliseconds after which the metadata of the issuer is read again: once they were read, and after a failure. */
const metadataMs = 3_600_000
const failureMs = 5_000
/** Milliseconds between two warnings about the issuer, because unauthenticated requests can cause them. */
const warningMs = 60_000
/** Sign-ins that are being completed at once. */
const maxExchanges = 32
/** Characters of the address to return to; the issuer gets it, encrypted, in the state. */
const longestReturn = 512
const nonceBytes = 12
const tagBytes = 16
/** What a logout token is about (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds for which a logout token is accepted. */
const logoutTokenSeconds = 300
/** What an issuer may put into `error` (RFC 6749, section 4.1.2.1). */
const errorCode = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,80}$/
const longestDescription = 200

export interface OidcClientOptions {
  /** As the issuer names itself: an https URL, or http on this machine. */
  issuer: string
  clientId: string
  /** Of a confidential client. Default: the client is public, and PKCE alone binds the code to it. */
  clientSecret?: string
  allow: AllowList
  redirectUri: string
  /** Where the issuer leads to after a logout. */
  signedOutUri: string
  /** Called with what the operator has to know. */
  onWarning: (message: string) => void
}

/** What a sign-in has to remember. It is the `state`, encrypted, so that unfinished sign-ins take no memory. */
interface SignInState {
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
  /** Hash of the secret of the browser that began. */
  readonly browser: string
  readonly expires: number
}

/**
 * Signs people in at an OpenID issuer: authorization code flow with PKCE, `state`, `nonce`, the `iss` parameter (RFC 9207), and an
 * ID token whose signature and claims are checked.
 */
export class OidcClient {
  readonly #options: OidcClientOptions
  readonly #client: oauth.Client
  /** Of this process: a sign-in that began before a restart has to begin again. */
  readonly #key = randomBytes(32)
  #metadata: { readonly found: Promise<oauth.AuthorizationServer>; untilMs: number } | undefined
  #keys: { readonly uri: string; readonly get: JWTVerifyGetKey } | undefined
  #warnedMs = Number.NEGATIVE_INFINITY
  #exchanges = 0

  /** @throws TypeError for an issuer that is neither https nor on this machine */
  constructor(options: OidcClientOptions) {
    const { protocol, hostname, hash, search } = new URL(options.issuer)
    const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
    if ((protocol !== 'https:' && !(protocol === 'http:' && isLocal)) || hash !== '' || search !== '')
      throw new TypeError(`The issuer ${options.issuer} has to be an https URL without a query.`)
    this.#options = options
    this.#client = { client_id: options.clientId }
  }

  /** Reads the metadata of the issuer. @throws SignInError where it cannot be reached, or is another one */
  async ready(): Promise<void> {
    await this.#issuer()
  }

  /** The address at the issuer where a browser signs in. `returnTo`: a path of the page; `language`: of the issuer's pages, if it has it. */
  async begin(browser: string, returnTo: string, language: string): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#issuer()
    if (endpoint === undefined) throw this.#failure('its metadata has no authorization endpoint')
    const nonce = oauth.generateRandomNonce()
    const verifier = oauth.generateRandomCodeVerifier()
    const url = new URL(endpoint)
    const parameters = {
      response_type: 'code',
      client_id: this.#options.clientId,
      redirect_uri: this.#options.redirectUri,
      ui_locales: language,
      scope: this.#options.allow.needsEmail ? 'openid email' : 'openid',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state: this.#seal({
        ...{ nonce, verifier },
        returnTo: returnTo.length <= longestReturn ? returnTo : '/',
        browser: digest(browser).toString('base64url'),
        expires: Date.now() + signInMs,
      }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /**
   * Completes a sign-in with what the issuer sent back. `browsers`: the secrets of the browser, of which one has to be that of
   * `begin`, which prevents login CSRF.
   * @throws SignInError
   */
  async finish(
    parameters: URLSearchParams,
    browsers: readonly string[],
  ): Promise<{ user: WebUser; browser: string; returnTo: string }> {
    const state = parameters.get('state') ?? ''
    const begun = this.#open(state)
    const browser = begun && browsers.find((one) => isOf(begun, one))
    if (begun === undefined || browser === undefined || begun.expires < Date.now())
      throw new SignInError(400, {
        en: 'This sign-in took longer than ten minutes, began before the server was started, or began in another browser.',
        'zh-CN': '此次登录超过了十分钟，或在服务器启动之前开始，或是在另一个浏览器中开始的。',
      })
    if (this.#exchanges >= maxExchanges)
      throw new SignInError(503, {
        en: 'Too many people sign in at this moment. Try again in a few seconds.',
        'zh-CN': '目前登录的人过多，请在几秒后重试。',
      })
    this.#exchanges++
    try {
      const user = await this.#exchange(parameters, state, begun)
      if (this.#options.allow.has(user)) return { user, browser, returnTo: begun.returnTo }
      const who = user.email === undefined ? `subject ${user.subject}` : `${user.email} (${user.subject})`
      this.#options.onWarning(`${who} signed in and is not allowed to. To allow it: --allow`)
      throw new SignInError(403, {
        en: 'You are signed in at the issuer, but may not use this host. Ask its operator to allow your account.',
        'zh-CN': '您已在身份提供方登录，但无权使用此主机。请联系其管理员开通您的账户。',
      })
    } finally {
      this.#exchanges--
    }
  }

  /** Where the session at the issuer is ended; undefined where the issuer has no such address, or cannot be reached. */
  async signOutUrl(): Promise<string | undefined> {
    const issuer = await this.#issuer().catch(() => undefined)
    if (issuer?.end_session_endpoint === undefined) return undefined
    const url = new URL(issuer.end_session_endpoint)
    url.searchParams.set('client_id', this.#options.clientId)
    url.searchParams.set('post_logout_redirect_uri', this.#options.signedOutUri)
    return url.href
  }

  /**
   * Whose sessions a logout token of the issuer ends: those of a session there, or all of a subject.
   * @throws SignInError for a token that is not one of the issuer for this client
   */
  async readLogout(token: string): Promise<(user: WebUser) => boolean> {
    const { jwks_uri: uri, issuer } = await this.#issuer()
    try {
      if (uri === undefined) throw new Error('the issuer publishes no keys')
      if (this.#keys?.uri !== uri) this.#keys = { uri, get: createRemoteJWKSet(new URL(uri)) }
      const { payload } = await jwtVerify(token, this.#keys.get, {
        ...{ issuer, audience: this.#options.clientId, maxTokenAge: logoutTokenSeconds },
      })
      const { events, nonce, sub, sid } = payload
      const isLogout = typeof events === 'object' && events !== null && logoutEvent in events
      // With a nonce it is an ID token.
      if (!isLogout || nonce !== undefined || (sub ?? sid) === undefined)
        throw new Error('it is no logout token')
      return (user) =>
        user.issuer === issuer &&
        (sub === undefined || user.subject === sub) &&
        (sid === undefined || user.issuerSession === sid)
    } catch (error) {
      const texts = { en: 'This is no valid logout token.', 'zh-CN': '此退出令牌无效。' }
      throw new SignInError(400, texts, { cause: error })
    }
  }

  async #exchange(
    parameters: URLSearchParams,
    state: string,
    { nonce, verifier }: SignInState,
  ): Promise<WebUser> {
    const issuer = await this.#issuer()
    const { redirectUri, allow } = this.#options
    try {
      const answer = oauth.validateAuthResponse(issuer, this.#client, parameters, state)
      const response = await oauth.authorizationCodeGrantRequest(
        ...[issuer, this.#client, this.#authentication(issuer), answer, redirectUri, verifier],
        this.#request(),
      )
      const tokens = await oauth.processAuthorizationCodeResponse(issuer, this.#client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      })
      await oauth.validateApplicationLevelSignature(issuer, response, this.#request())
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      if (claims === undefined) throw new Error('there is no ID token')
      let email = emailIn(claims)
      if (email === undefined && allow.needsEmail && issuer.userinfo_endpoint !== undefined) {
        const info = await oauth.userInfoRequest(issuer, this.#client, tokens.access_token, this.#request())
        email = emailIn(await oauth.processUserInfoResponse(issuer, this.#client, claims.sub, info))
      }
      const { iss: from, sub: subject, sid } = claims
      return {
        ...{ issuer: from, subject },
        ...(email !== undefined && { email }),
        ...(typeof sid === 'string' && { issuerSession: sid }),
      }
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError)
        throw new SignInError(403, {
          en: `The issuer did not sign you in: ${sentenceOf(error)}`,
          'zh-CN': `身份提供方未能让您登录：${sentenceOf(error)}`,
        })
      throw this.#failure(error instanceof oauth.ResponseBodyError ? sentenceOf(error) : reasonOf(error))
    }
  }

  /** By default the issuer's own, or the one that every server supports (OpenID Connect Core, section 9). */
  #authentication({
    token_endpoint_auth_methods_supported: methods,
  }: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret } = this.#options
    if (clientSecret === undefined) return oauth.None()
    const isPostOnly = methods?.includes('client_secret_basic') === false
    return isPostOnly ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret)
  }

  #request(): { signal: AbortSignal; [oauth.allowInsecureRequests]: boolean } {
    return {
      signal: AbortSignal.timeout(requestMs),
      // An http issuer is on this machine, as the constructor checked.
      [oauth.allowInsecureRequests]: this.#options.issuer.startsWith('http:'),
    }
  }

  async #issuer(): Promise<oauth.AuthorizationServer> {
    const now = performance.now()
    if (this.#metadata === undefined || this.#metadata.untilMs <= now) {
      const metadata = { found: this.#discover(), untilMs: now + metadataMs }
      metadata.found.catch(() => {
        metadata.untilMs = performance.now() + failureMs
      })
      this.#metadata = metadata
    }
    return await this.#metadata.found
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    try {
      const issuer = new URL(this.#options.issuer)
      const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...this.#request() })
      return await oauth.processDiscoveryResponse(issuer, response)
    } catch (error) {
      throw this.#failure(reasonOf(error))
    }
  }

  /** The person cannot do much about it, so the reason goes to the operator. */
  #failure(reason: string): SignInError {
    const now = performance.now()
    if (now - this.#warnedMs >= warningMs) {
      this.#warnedMs = now
      this.#options.onWarning(`A sign-in at the issuer ${this.#options.issuer} failed: ${reason}`)
    }
    return new SignInError(502, {
      en: 'The issuer cannot be reached, or its answer is not valid. Try again; if that does not help, the messages of the server say why.',
      'zh-CN': '无法连接身份提供方，或其响应无效。请重试；如果仍不成功，服务器的消息中会说明原因。',
    })
  }

  #seal(state: SignInState): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    const sealed = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  #open(text: string): SignInState | undefined {
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length <= nonceBytes + tagBytes) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes))
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
      const opened = [decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]
      const state: SignInState = JSON.parse(Buffer.concat(opened).toString('utf8'))
      return state
    } catch {
      return undefined
    }
  }
}

function isOf({ browser }: SignInState, secret: string): boolean {
  return timingSafeEqual(digest(secret), Buffer.from(browser, 'base64url'))
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** The e-mail address, if the issuer has verified it: an unverified one may belong to another person. */
function emailIn({ email, email_verified }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof email === 'string' && email_verified === true ? email.toLowerCase() : undefined
}

/** What the issuer says about an error, bounded. */
function sentenceOf({
  error,
  error_description,
}: {
  error: string
  error_description?: string | undefined
}): string {
  const code = errorCode.test(error) ? error : 'an unreadable error'
  const text = (error_description ?? '').replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, longestDescription)
  return text === '' ? code : `${code} (${text})`
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
}
