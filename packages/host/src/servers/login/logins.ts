import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { CredentialStore, NetworkOptions, Revocation } from '@jackfield/sdk/client/auth'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import { NoSurfaceError, type QuestionQueue } from '../../core/inbox/question-queue.ts'
import type { Recorder } from '../../log/store/activity-log.ts'
import { FixableError } from '../../shared/failures.ts'
import { canonical, isRecord, parsed } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { HostEvent, HttpServerConfig, Inbox, LoginService } from '../../types/index.ts'
import type { Login } from './login.ts'
import type { LoginPage, SignInNeeded } from './sign-in-needed.ts'

/** The login-related part of a connection. */
interface LoginConnection {
  signIn(): Promise<void>
  /** Connects with the tokens that are stored. */
  reconnect(): Promise<void>
  signOut(): Promise<Revocation>
}

/** The name recorded for an answer given by a login in another program. */
const otherWindow = 'a sign-in in another window'

interface LoginsDeps {
  /** Default: in memory. */
  store?: CredentialStore | undefined
  open?: ((url: URL) => Promise<void>) | undefined
  /** How requests to authorization servers are sent. */
  network?: NetworkOptions | undefined
  questions: QuestionQueue & Pick<Inbox, 'list' | 'answer'>
  recorder: Recorder
  redactor: SecretRedactor
  connection: (server: string) => LoginConnection
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

/** Logins to servers, after consent. */
export class Logins implements LoginService {
  readonly #deps: LoginsDeps
  #store: CredentialStore | undefined
  readonly #logins = new Map<string, { login: Login; config: string }>()
  /** Servers already asked about in this run, so that not every connection attempt asks again. */
  readonly #askedServers = new Set<string>()
  /** The pages that users agreed to and that are about to be opened. */
  readonly #agreed = new Map<string, LoginPage>()
  /** Open questions with their follow-up. */
  readonly #pending = new Map<string, Promise<void>>()
  /** Withdraw the open questions. */
  readonly #openQuestions = new Map<string, AbortController>()
  readonly #signIns = new Map<string, Promise<void>>()
  /** The last opened page of each server. */
  readonly #pages = new Map<string, LoginPage>()

  constructor(deps: LoginsDeps) {
    this.#deps = deps
  }

  /** The credentials for a server; undefined if its configuration contains credentials or disables the login. */
  async of(server: string, config: HttpServerConfig): Promise<Login | undefined> {
    const hasAuthorization = Object.keys(config.headers ?? {}).some(
      (name) => name.toLowerCase() === 'authorization',
    )
    if (config.auth === false || hasAuthorization) return undefined
    // Loaded on demand: few servers require a login, and the module is large.
    const [{ createLogin }, { memoryStore }] = await Promise.all([
      import('./login.ts'),
      import('@jackfield/sdk/client/auth'),
    ])
    const key = canonical({ url: config.url, auth: config.auth })
    const known = this.#logins.get(server)
    if (known?.config === key) return known.login
    const { open, network, emit, redactor, store = memoryStore() } = this.#deps
    this.#store ??= withRedactedTokens(store, redactor)
    const login = createLogin({
      server,
      config,
      store: this.#store,
      open,
      network,
      ask: async (page, signal) => {
        if ((await this.#ask(server, page, signal)) !== otherWindow) return
        // Another program completed the login, so no page was approved here.
        throw new McpError('UNAUTHORIZED', 'You signed in from another window meanwhile. Try again')
      },
      agreedTo: (page) => this.#agreedTo(server, page),
      onPage: (page) => {
        this.#pages.set(server, page)
        emit({ type: 'login', server, url: page.url, issuer: page.issuer })
      },
    })
    this.#logins.set(server, { login, config: key })
    return login
  }

  /** A server requires a login: the user is asked once, and the server is connected after they agree. */
  needed(server: string, { page }: SignInNeeded): void {
    const { questions, signal, emit } = this.#deps
    if (this.#askedServers.has(server) || this.#openQuestions.has(server) || !questions.canAsk('login'))
      return
    this.#askedServers.add(server)
    const stablePage = withoutLoginParameters(page)
    const answered = new AbortController()
    this.#openQuestions.set(server, answered)
    const pending = this.#ask(server, stablePage, AbortSignal.any([signal, answered.signal]))
      .finally(() => this.#openQuestions.delete(server))
      .then(async (by) => {
        if (by === otherWindow) {
          this.askAgain(server)
          return this.#deps.connection(server).reconnect()
        }
        this.#agreed.set(server, stablePage)
        await this.#signInOnce(server)
        this.#answerOtherQuestions(server)
      })
      .catch((error: unknown) => {
        if (!signal.aborted && !answered.signal.aborted)
          emit({ type: 'warning', server, message: reasonOf(error) })
      })
      .finally(() => {
        this.#agreed.delete(server)
        // With the tokens of another program it may ask again.
        if (this.#pending.get(server) === pending) this.#pending.delete(server)
      })
    this.#pending.set(server, pending)
  }

  /** The server is connected, so a pending login is not needed. */
  ready(server: string): void {
    this.#openQuestions.get(server)?.abort(new McpError('CANCELLED', `you are signed in at ${server} now`))
  }

  pending(server: string): Promise<void> | undefined {
    return this.#pending.get(server)
  }

  /** Allows the question to be asked again, because the user requested a connection. */
  askAgain(server: string): void {
    this.#askedServers.delete(server)
  }

  async signIn(server: string): Promise<void> {
    const { recorder } = this.#deps
    const row = recorder.open({ kind: 'login', server, summary: `You sign in at ${server}`, detail: {} })
    // The user requested it, so no question is asked.
    this.#askedServers.add(server)
    try {
      await this.#signInOnce(server)
      row.close('ok', {})
      this.#answerOtherQuestions(server)
    } catch (error) {
      row.close('error', { reason: reasonOf(error) })
      throw error
    }
  }

  async signOut(server: string): Promise<Revocation> {
    const { connection, recorder, redactor } = this.#deps
    const revocation = redactor.value(await connection(server).signOut())
    this.#askedServers.add(server)
    const summary = `You signed out of ${server}${revocationNote(revocation)}`
    recorder.note({ kind: 'login', server, summary, detail: { revocation } }, 'ok')
    return revocation
  }

  /** A user who requested the login agreed to any page; all others to the one shown. */
  #agreedTo(server: string, page: LoginPage): boolean {
    const agreed = this.#agreed.get(server)
    return agreed === undefined || pageIdentity(agreed) === pageIdentity(page)
  }

  /** A second login would end the connection of the first, so it waits. */
  #signInOnce(server: string): Promise<void> {
    const known = this.#signIns.get(server)
    if (known !== undefined) return known
    const signIn = this.#deps
      .connection(server)
      .signIn()
      .finally(() => this.#signIns.delete(server))
    this.#signIns.set(server, signIn)
    return signIn
  }

  /** Answers the questions of other programs about this login, since they use the same tokens. */
  #answerOtherQuestions(server: string): void {
    const { questions } = this.#deps
    const page = this.#pages.get(server)
    if (page === undefined) return
    for (const { id, question } of questions.list({ server })) {
      if (question.kind !== 'login' || pageIdentity(question) !== pageIdentity(page)) continue
      try {
        questions.answer(id, { verdict: 'allow' }, otherWindow)
      } catch {
        // It was answered or withdrawn meanwhile.
      }
    }
  }

  /** Asks, and returns who agreed. @throws McpError 'UNAUTHORIZED' if the question was declined or cancelled */
  async #ask(server: string, page: LoginPage, signal: AbortSignal): Promise<string> {
    const { questions, recorder } = this.#deps
    const { issuer, scopes } = page
    const row = recorder.open({
      kind: 'login',
      server,
      summary: `${server} wants you to sign in at ${issuer}`,
      detail: { issuer, scopes, surface: questions.names },
    })
    try {
      const id = randomUUID()
      const { answer, by } = await questions.ask(
        { kind: 'login', id, cause: { server }, ...page },
        { signal, activity: row.id },
      )
      row.close(answer.verdict === 'allow' ? 'ok' : 'denied', { by })
      if (answer.verdict === 'allow') return by
    } catch (error) {
      row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      const reason =
        error instanceof NoSurfaceError
          ? 'no person can be asked here'
          : signal.aborted
            ? 'the question was not answered in time'
            : reasonOf(error)
      throw new McpError('UNAUTHORIZED', `It requires a sign-in at ${issuer}, and ${reason}`, {
        cause: error,
      })
    }
    throw new FixableError('UNAUTHORIZED', `You refused to sign in at ${issuer}`, [
      { action: 'sign-in', server },
    ])
  }
}

function revocationNote(revocation: Revocation): string {
  switch (revocation.outcome) {
    case 'revoked':
      return `, and the tokens are revoked`
    case 'failed':
      return `, but the tokens could not be revoked: ${revocation.reason}`
    default:
      return ''
  }
}

const loginParameters = ['state', 'code_challenge', 'code_challenge_method', 'nonce']

/** The page without the parameters unique to one login. */
function withoutLoginParameters(page: LoginPage): LoginPage {
  return { ...page, url: withoutParameters(loginParameters, page) }
}

/** The page's identity, independent of the redirect port and client id. */
function pageIdentity(page: LoginPage): string {
  return withoutParameters([...loginParameters, 'client_id', 'redirect_uri'], page)
}

function withoutParameters(names: readonly string[], page: LoginPage): string {
  const url = new URL(page.url)
  for (const name of names) url.searchParams.delete(name)
  return url.href
}

/** The secrets in tokens and registrations, with the replacement of each. */
const storedSecrets = { accessToken: 'accessToken', refreshToken: 'refreshToken', secret: 'clientSecret' }

/** Wraps the store so that every token is registered for redaction. */
function withRedactedTokens(store: CredentialStore, redactor: SecretRedactor): CredentialStore {
  const registerSecrets = (text: string | undefined): void => {
    const value = parsed(text ?? '')
    if (!isRecord(value)) return
    for (const part of [value, value['registration']]) {
      if (!isRecord(part)) continue
      for (const [member, name] of Object.entries(storedSecrets)) {
        const secret = part[member]
        if (typeof secret === 'string') redactor.add(secret, name)
      }
    }
  }
  return {
    async get(key) {
      const text = await store.get(key)
      registerSecrets(text)
      return text
    },
    set(key, value) {
      registerSecrets(value)
      return store.set(key, value)
    },
    delete: (key) => store.delete(key),
    exclusive: (key, work, signal) => store.exclusive(key, work, signal),
  }
}
