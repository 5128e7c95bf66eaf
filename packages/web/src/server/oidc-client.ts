import { createCipheriv, createDecipheriv, createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { type AllowList, SignInError, type WebUser } from './users.ts'

/** Milliseconds for a request to the issuer. */
const requestMs = 10_000
/** Milliseconds within which a sign-in has to be completed. */
const signInMs = 600_000
/** Milliseconds after which the metadata of the issuer is read again: after success, and after a failure. */
const metadataMs = 3_600_000
const failureMs = 5_000
/** Milliseconds between two warnings about the issuer, because unauthenticated requests can cause them. */
const warningMs = 60_000
/** Sign-ins that are being completed at once. */
const maxExchanges = 32
/** Maximum length of the address to return to, which is part of the encrypted state. */
const maxReturnCharacters = 512
const nonceBytes = 12
const tagBytes = 16
/** The event of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds for which a logout token is accepted. */
const logoutTokenSeconds = 300
/** Valid values of `error` (RFC 6749, section 4.1.2.1). */
const errorCode = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,80}$/
const maxDescriptionCharacters = 200

export interface OidcClientOptions {
  /** As the issuer names itself: an https URL, or http on this machine. */
  issuer: string
  clientId: string
  /** Of a confidential client. Default: the client is public, and PKCE alone binds the code to it. */
  clientSecret?: string
  allow: AllowList
  redirectUri: string
  /** The address that the issuer redirects to after a logout. */
  signedOutUri: string
  /** Called with warnings for the operator. */
  onWarning: (message: string) => void
}

/** The data of a sign-in. It is encrypted into the `state` parameter, so that unfinished sign-ins use no memory. */
interface SignInState {
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
  /** SHA-256 of the secret of the browser that began the sign-in, base64url. */
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
  /** Encrypts states. It is not stored, so a sign-in that began before a restart has to begin again. */
  readonly #key = randomBytes(32)
  #metadata: { readonly loading: Promise<oauth.AuthorizationServer>; untilMs: number } | undefined
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

  /** Reads the metadata of the issuer. @throws SignInError if it cannot be reached, or its metadata names another issuer */
  async ready(): Promise<void> {
    await this.#issuerMetadata()
  }

  /**
   * Begins a sign-in and returns the address at the issuer. `browser`: the secret of the browser; `returnTo`: a path of the page;
   * `language`: the preferred language of the issuer's pages.
   * @throws SignInError if the issuer cannot be used
   */
  async begin(browser: string, returnTo: string, language: string): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#issuerMetadata()
    if (endpoint === undefined) throw this.#reportFailure('its metadata has no authorization endpoint')
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
      state: this.#encryptState({
        ...{ nonce, verifier },
        returnTo: returnTo.length <= maxReturnCharacters ? returnTo : '/',
        browser: digest(browser).toString('base64url'),
        expires: Date.now() + signInMs,
      }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /**
   * Completes a sign-in with the parameters of the callback. `browsers`: the secrets of the browser, one of which has to be that of
   * `begin`; this prevents login CSRF.
   * @throws SignInError if the sign-in is unknown or expired, the issuer refuses it, or the user is not allowed
   */
  async finish(
    parameters: URLSearchParams,
    browsers: readonly string[],
  ): Promise<{ user: WebUser; browser: string; returnTo: string }> {
    const state = parameters.get('state') ?? ''
    const signIn = this.#decryptState(state)
    const browser = signIn && browsers.find((candidate) => isBegunBy(signIn, candidate))
    if (signIn === undefined || browser === undefined || signIn.expires < Date.now())
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
      const user = await this.#exchange(parameters, state, signIn)
      if (this.#options.allow.has(user)) return { user, browser, returnTo: signIn.returnTo }
      const account = user.email === undefined ? `subject ${user.subject}` : `${user.email} (${user.subject})`
      this.#options.onWarning(`${account} signed in and is not allowed to. To allow it: --allow`)
      throw new SignInError(403, {
        en: 'You are signed in at the issuer, but may not use this host. Ask its operator to allow your account.',
        'zh-CN': '您已在身份提供方登录，但无权使用此主机。请联系其管理员开通您的账户。',
      })
    } finally {
      this.#exchanges--
    }
  }

  /** The address at the issuer that ends the session there; undefined if it has none, or cannot be reached. */
  async signOutUrl(): Promise<string | undefined> {
    const issuer = await this.#issuerMetadata().catch(() => undefined)
    if (issuer?.end_session_endpoint === undefined) return undefined
    const url = new URL(issuer.end_session_endpoint)
    url.searchParams.set('client_id', this.#options.clientId)
    url.searchParams.set('post_logout_redirect_uri', this.#options.signedOutUri)
    return url.href
  }

  /**
   * Verifies a logout token and returns a predicate for the users whose sessions it ends: those of one session at the issuer, or all
   * of a subject.
   * @throws SignInError if the token is not a valid one of the issuer for this client
   */
  async readLogout(token: string): Promise<(user: WebUser) => boolean> {
    const { jwks_uri: uri, issuer } = await this.#issuerMetadata()
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
    const issuer = await this.#issuerMetadata()
    const { redirectUri, allow } = this.#options
    try {
      const callbackParameters = oauth.validateAuthResponse(issuer, this.#client, parameters, state)
      const authentication = this.#authentication(issuer)
      const response = await oauth.authorizationCodeGrantRequest(
        issuer,
        this.#client,
        authentication,
        callbackParameters,
        redirectUri,
        verifier,
        this.#requestOptions(),
      )
      const tokens = await oauth.processAuthorizationCodeResponse(issuer, this.#client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      })
      await oauth.validateApplicationLevelSignature(issuer, response, this.#requestOptions())
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      if (claims === undefined) throw new Error('there is no ID token')
      let email = verifiedEmail(claims)
      if (email === undefined && allow.needsEmail && issuer.userinfo_endpoint !== undefined) {
        const userInfo = await oauth.userInfoRequest(
          issuer,
          this.#client,
          tokens.access_token,
          this.#requestOptions(),
        )
        email = verifiedEmail(await oauth.processUserInfoResponse(issuer, this.#client, claims.sub, userInfo))
      }
      const { iss: issuedBy, sub: subject, sid } = claims
      return {
        ...{ issuer: issuedBy, subject },
        ...(email !== undefined && { email }),
        ...(typeof sid === 'string' && { issuerSession: sid }),
      }
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError)
        throw new SignInError(403, {
          en: `The issuer did not sign you in: ${describeError(error)}`,
          'zh-CN': `身份提供方未能让您登录：${describeError(error)}`,
        })
      throw this.#reportFailure(
        error instanceof oauth.ResponseBodyError ? describeError(error) : reasonOf(error),
      )
    }
  }

  /** `client_secret_basic`, the default of OpenID Connect Core, section 9, unless the issuer does not support it. */
  #authentication({
    token_endpoint_auth_methods_supported: methods,
  }: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret } = this.#options
    if (clientSecret === undefined) return oauth.None()
    const isPostOnly = methods?.includes('client_secret_basic') === false
    return isPostOnly ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret)
  }

  #requestOptions(): { signal: AbortSignal; [oauth.allowInsecureRequests]: boolean } {
    return {
      signal: AbortSignal.timeout(requestMs),
      // An http issuer is on this machine, as the constructor checked.
      [oauth.allowInsecureRequests]: this.#options.issuer.startsWith('http:'),
    }
  }

  async #issuerMetadata(): Promise<oauth.AuthorizationServer> {
    const now = performance.now()
    if (this.#metadata === undefined || this.#metadata.untilMs <= now) {
      const metadata = { loading: this.#discover(), untilMs: now + metadataMs }
      metadata.loading.catch(() => {
        metadata.untilMs = performance.now() + failureMs
      })
      this.#metadata = metadata
    }
    return await this.#metadata.loading
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    try {
      const issuer = new URL(this.#options.issuer)
      const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...this.#requestOptions() })
      return await oauth.processDiscoveryResponse(issuer, response)
    } catch (error) {
      throw this.#reportFailure(reasonOf(error))
    }
  }

  /** Reports the reason to the operator and returns an error for the user without it. */
  #reportFailure(reason: string): SignInError {
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

  #encryptState(state: SignInState): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    const encrypted = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url')
  }

  #decryptState(text: string): SignInState | undefined {
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length <= nonceBytes + tagBytes) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes))
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
      const decrypted = [decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]
      const state: SignInState = JSON.parse(Buffer.concat(decrypted).toString('utf8'))
      return state
    } catch {
      return undefined
    }
  }
}

function isBegunBy({ browser }: SignInState, secret: string): boolean {
  return timingSafeEqual(digest(secret), Buffer.from(browser, 'base64url'))
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** The e-mail address if the issuer has verified it: an unverified one may belong to another person. */
function verifiedEmail({ email, email_verified }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof email === 'string' && email_verified === true ? email.toLowerCase() : undefined
}

/** The error code and description of the issuer, shortened. */
function describeError({
  error,
  error_description,
}: {
  error: string
  error_description?: string | undefined
}): string {
  const code = errorCode.test(error) ? error : 'an unreadable error'
  const text = (error_description ?? '').replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, maxDescriptionCharacters)
  return text === '' ? code : `${code} (${text})`
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
}
