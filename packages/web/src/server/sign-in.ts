import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cookie } from './cookie.ts'
import type { OidcClient } from './oidc-client.ts'
import { isPageRoute } from './page-files.ts'
import {
  escapeHtml,
  type LocalizedText,
  languageOf,
  readBody,
  refuse,
  send,
  sendNotice,
} from './responses.ts'
import type { SessionStore } from './session-store.ts'
import { SignInError } from './users.ts'
import { maxWrongLogins, WrongLogins } from './wrong-logins.ts'

/** Prefix of a path of the page: opening it begins a sign-in that returns to that path. */
export const signInPath = '/sign-in'
/** The path of the redirect URI. */
export const callbackPath = '/oidc/callback'
/** Where the issuer leads to after a logout. */
export const signedOutPath = '/signed-out'

/** Where the issuer posts logout tokens. */
export const logoutPath = '/oidc/backchannel-logout'

const signInAgain: LocalizedText = {
  en: '<a href="/">Sign in again</a>.',
  'zh-CN': '<a href="/">重新登录</a>。',
}
const signedIn = {
  title: { en: 'Signed in', 'zh-CN': '已登录' },
  html: { en: 'The page opens at once.', 'zh-CN': '页面即将打开。' },
}
const signedOut = { title: { en: 'Signed out', 'zh-CN': '已退出登录' }, html: signInAgain }

const browserBytes = 32
const maxLogoutBytes = 16_384
/** Milliseconds for which the cookie of a sign-in is valid. */
const browserMs = 900_000

export interface SignInOptions {
  readonly client: OidcClient
  readonly sessions: SessionStore
  /** The origin of the page. */
  readonly origin: string
  readonly onWarning: (message: string) => void
}

/**
 * The addresses of a sign-in at an issuer. It ends with a login key in the fragment of the page's address, which the page uses as
 * that of a login link. The key is bound to the browser by a cookie, so that no link signs another browser in.
 */
export class SignIn {
  readonly #options: SignInOptions
  readonly #cookie = new Cookie('__Host-jackfield-sign-in', { sameSite: 'Lax' })
  readonly #failedSignIns = new WrongLogins()

  constructor(options: SignInOptions) {
    this.#options = options
  }

  /** Whether pages of other sites may lead to a path: the issuer does. */
  isOpenTo(path: string | undefined): boolean {
    return path === callbackPath || path === signedOutPath
  }

  /** The secrets in the sign-in cookies of a request. */
  browsersIn(request: IncomingMessage): string[] {
    return this.#cookie.valuesIn(request).filter((value) => /^[\w-]{43}$/.test(value))
  }

  /** Sends a browser to the issuer. */
  async begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [browser = randomBytes(browserBytes).toString('base64url')] = this.browsersIn(request)
    try {
      const location = await this.#options.client.begin(
        browser,
        this.#returnPath(request),
        languageOf(request),
      )
      const headers = { Location: location, 'Set-Cookie': this.#cookie.header(browser, browserMs) }
      send(response, 303, { headers })
    } catch (error) {
      this.#fail(response, error)
    }
  }

  /** Handles the redirect back from the issuer: sends the browser to the page with a login key. */
  async finish(request: IncomingMessage, response: ServerResponse, query: string): Promise<void> {
    const { client, sessions, origin, onWarning } = this.#options
    const browsers = this.browsersIn(request)
    const [browser = ''] = browsers
    const seconds = this.#failedSignIns.secondsToWait(browser)
    if (seconds !== undefined) {
      const texts = {
        en: `Too many sign-ins failed. Try again in ${seconds} s.`,
        'zh-CN': `登录失败次数过多，请在 ${seconds} 秒后重试。`,
      }
      return this.#fail(response, new SignInError(429, texts), { 'Retry-After': String(seconds) })
    }
    try {
      const { returnTo, ...account } = await client.finish(new URLSearchParams(query), browsers)
      const key = sessions.addLoginKey(account)
      // After a redirect the browser would still count as sent by the issuer's site, and would be refused.
      const headers = { Refresh: `0;url=${new URL(returnTo, origin).href}#k=${key}` }
      sendNotice(response, 200, signedIn, headers)
    } catch (error) {
      if (this.#failedSignIns.add(browser) === maxWrongLogins)
        onWarning(`${maxWrongLogins} sign-ins of one browser failed within a minute.`)
      this.#fail(response, error)
    }
  }

  /** Handles a back-channel logout of the issuer: calls `end` with the id of each session that its token names. */
  async logOut(request: IncomingMessage, response: ServerResponse, end: (id: string) => void): Promise<void> {
    const body = await readBody(request, response, maxLogoutBytes)
    if (body === undefined) return refuse(response, 413, `A logout has at most ${maxLogoutBytes} bytes.`)
    const token = new URLSearchParams(body.toString('utf8')).get('logout_token') ?? ''
    try {
      const isAffected = await this.#options.client.readLogout(token)
      for (const { id, user } of this.#options.sessions.list())
        if (user !== undefined && isAffected(user)) end(id)
      send(response, 200)
    } catch (error) {
      if (!(error instanceof SignInError)) throw error
      refuse(response, error.status, error.message)
    }
  }

  /** Sends the page that the issuer redirects to after a logout. */
  signedOut(response: ServerResponse): void {
    sendNotice(response, 200, signedOut)
  }

  /** The address to open after a logout: that of the issuer that ends its session, else a page of this server. */
  async afterLogout(): Promise<string> {
    return (await this.#options.client.signOutUrl()) ?? signedOutPath
  }

  /** The path after `/sign-in` if it is an address of the page, else `/`. */
  #returnPath({ url = '' }: IncomingMessage): string {
    const { origin } = this.#options
    const returnUrl = URL.parse(`${origin}${url.slice(signInPath.length)}`)
    return returnUrl?.origin === origin && isPageRoute(returnUrl.pathname) && returnUrl.pathname !== '//'
      ? `${returnUrl.pathname}${returnUrl.search}`
      : '/'
  }

  #fail(response: ServerResponse, error: unknown, headers: Readonly<Record<string, string>> = {}): void {
    if (!(error instanceof SignInError)) throw error
    const { en, 'zh-CN': chinese } = error.texts
    const html = {
      en: `${escapeHtml(en)} ${signInAgain.en}`,
      'zh-CN': `${escapeHtml(chinese)}${signInAgain['zh-CN']}`,
    }
    sendNotice(
      response,
      error.status,
      { title: { en: 'You are not signed in', 'zh-CN': '未登录' }, html },
      headers,
    )
  }
}
