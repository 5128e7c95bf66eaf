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

/** How a login request is handled: rejected, with a question, or directly because the user already agreed. */
type LoginMode = 'quietly' | 'asking' | 'openly'

/** The login credentials of one server. */
export interface Login {
  readonly auth: Authorization
  /** Sets how logins are handled while `work` runs; at all other times the user is asked. */
  during<T>(mode: LoginMode, work: () => Promise<T>): Promise<T>
  /** Removes the tokens and revokes them at the authorization server. */
  revoke(): Promise<Revocation>
}

interface LoginOptions {
  /** The server's name, also used for its account. */
  server: string
  config: HttpServerConfig
  store: CredentialStore
  /** Asks whether the page may be opened. Rejects if the user refuses or cannot be asked. */
  ask: (page: LoginPage, signal: AbortSignal) => Promise<void>
  /** Whether the user agreed to this exact page. */
  agreedTo: (page: LoginPage) => boolean
  /** Opens a page. Default: the user's browser. */
  open?: ((url: URL) => Promise<void>) | undefined
  /** How requests to authorization servers are sent. Default: to the checked addresses. */
  network?: NetworkOptions | undefined
  /** Called with the opened page. */
  onPage: (page: LoginPage) => void
}

const loginTimeoutMs = 300_000

/** Creates credentials for a server. @throws McpError 'INVALID' if its login configuration is incomplete */
export function createLogin(options: LoginOptions): Login {
  const { config, server, store } = options
  /** The active modes, the latest last: one may end before another that started earlier. */
  const activeModes: { mode: LoginMode }[] = []
  const settings = config.auth === false || config.auth === undefined ? {} : config.auth
  const { scopes } = settings
  const auth = oauth({
    client: { name: 'Jackfield', ...registrationOf(settings) },
    redirect: redirectFor(options, () => activeModes.at(-1)?.mode ?? 'asking'),
    store,
    account: server,
    ...options.network,
    ...(scopes !== undefined && { scopes }),
  })
  return {
    auth,
    async during(mode, work) {
      const entry = { mode }
      activeModes.push(entry)
      try {
        return await work()
      } catch (error) {
        throw withSettingNames(error)
      } finally {
        activeModes.splice(activeModes.indexOf(entry), 1)
      }
    },
    revoke: () => auth.revoke(config.url),
  }
}

/** The same error, with the setting of the configuration instead of the option of the SDK. */
function withSettingNames(error: unknown): unknown {
  if (!(error instanceof McpError) || error.details['missing'] !== 'client') return error
  const { code, details } = error
  const message = error.message.replace(
    /give it in client\.registered(, or omit that option)?$/,
    (_, isOptional?: string) =>
      `name it in the configuration of the server: "auth": { "issuer", "clientId" }${isOptional === undefined ? '' : ', or remove "auth" there'}`,
  )
  return new McpError(code, message, { cause: error, details })
}

function registrationOf({
  clientId,
  clientSecret,
  issuer,
}: Exclude<HttpServerConfig['auth'], false | undefined>) {
  if (clientId === undefined) return {}
  if (issuer === undefined) {
    throw new McpError(
      'INVALID',
      'Its configuration names a "clientId" without the "issuer" it is registered at. Add "issuer" to "auth", so that the client is used only there',
    )
  }
  return { registered: { issuer, clientId, ...(clientSecret !== undefined && { clientSecret }) } }
}

/** Opens the browser only after the user agreed to the page. */
function redirectFor(
  { ask, agreedTo, open = openBrowser, onPage }: LoginOptions,
  mode: () => LoginMode,
): Redirect {
  return {
    async begin(last) {
      const loginMode = mode()
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
          if (loginMode === 'quietly') throw new SignInNeeded(page)
          // Other programs with the same credentials wait for this login, so it has a time limit.
          const timeoutSignal = AbortSignal.any([signal, AbortSignal.timeout(loginTimeoutMs)])
          if (loginMode === 'asking' || !agreedTo(page)) await ask(page, timeoutSignal)
          return session.open(url, signal)
        },
      }
    },
  }
}
