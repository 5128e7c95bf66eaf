import { McpError } from '@jackfield/sdk'
import {
  type Authorization,
  type CredentialStore,
  type NetworkOptions,
  oauth,
  type Redirect,
  type Revocation,
} from '@jackfield/sdk/client/auth'
import { loopback, openBrowser } from '@jackfield/sdk/client/auth/node'
import type { HttpServerConfig } from '../../types/index.ts'
import { type LoginPage, pageAt, SignInNeeded } from './sign-in-needed.ts'

/** How a request for a login is met: not at all, by asking the person, or by going ahead, since they agreed. */
type LoginMode = 'quietly' | 'asking' | 'openly'

/** The credentials for one server. */
export interface Login {
  readonly auth: Authorization
  /** How logins are handled while `work` runs; at all other times the person is asked. */
  during<T>(mode: LoginMode, work: () => Promise<T>): Promise<T>
  /** Removes the tokens and revokes them at the authorization server. */
  revoke(): Promise<Revocation>
}

interface LoginOptions {
  /** The name of the server, which is also the name of the account there. */
  server: string
  config: HttpServerConfig
  store: CredentialStore
  /** Asks the person whether the page may be opened. Rejects if they refuse or cannot be asked. */
  ask: (page: LoginPage, signal: AbortSignal) => Promise<void>
  /** Whether the person agreed to this very page where they agreed to a login. */
  agreedTo: (page: LoginPage) => boolean
  /** Opens a page for the person. Default: their browser. */
  open?: ((url: URL) => Promise<void>) | undefined
  /** How requests to authorization servers leave. Default: to the addresses that were checked. */
  network?: NetworkOptions | undefined
  /** Called with the opened page. */
  onPage: (page: LoginPage) => void
}

const loginTimeoutMs = 300_000

/** Makes credentials for a server. @throws McpError 'INVALID' where the configuration of its sign-in is incomplete */
export function createLogin(options: LoginOptions): Login {
  const { config, server, store } = options
  /** The active modes, the latest last: one may end before another that started earlier. */
  const under: { mode: LoginMode }[] = []
  const settings = config.auth === false || config.auth === undefined ? {} : config.auth
  const { scopes } = settings
  const auth = oauth({
    client: { name: 'Jackfield', ...registeredIn(settings) },
    redirect: redirectFor(options, () => under.at(-1)?.mode ?? 'asking'),
    store,
    account: server,
    ...options.network,
    ...(scopes !== undefined && { scopes }),
  })
  return {
    auth,
    async during(mode, work) {
      const mine = { mode }
      under.push(mine)
      try {
        return await work()
      } finally {
        under.splice(under.indexOf(mine), 1)
      }
    },
    revoke: () => auth.revoke(config.url),
  }
}

function registeredIn({
  clientId,
  clientSecret,
  issuer,
}: Exclude<HttpServerConfig['auth'], false | undefined>) {
  if (clientId === undefined) return {}
  if (issuer === undefined) {
    throw new McpError(
      'INVALID',
      'Its configuration names a "clientId" without the "issuer" it is registered at. Add "issuer" to "auth", so that the client goes nowhere else',
    )
  }
  return { registered: { issuer, clientId, ...(clientSecret !== undefined && { clientSecret }) } }
}

/** The person's own browser, but only once they agreed to the page. */
function redirectFor(
  { ask, agreedTo, open = openBrowser, onPage }: LoginOptions,
  mode: () => LoginMode,
): Redirect {
  return {
    async begin(last) {
      const way = mode()
      const session = await loopback({
        timeoutMs: loginTimeoutMs,
        open,
        onUrl: (url) => onPage(pageAt(url)),
      }).begin(last)
      return {
        uri: session.uri,
        close: () => session.close(),
        async open(url, signal) {
          const page = pageAt(url)
          if (way === 'quietly') throw new SignInNeeded(page)
          // Other programs with the same credentials wait for this login, so it has a time limit.
          const soon = AbortSignal.any([signal, AbortSignal.timeout(loginTimeoutMs)])
          if (way === 'asking' || !agreedTo(page)) await ask(page, soon)
          return session.open(url, signal)
        },
      }
    },
  }
}
