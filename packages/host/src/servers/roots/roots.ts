import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { McpError, type Root } from '@jackfield/sdk'
import type { AskContext, Client } from '@jackfield/sdk/client'
import { NoSurfaceError, type QuestionQueue, unansweredError } from '../../core/inbox/question-queue.ts'
import type { Recorder } from '../../log/store/activity-log.ts'
import type { RootsConsent, RootsTable, SeenFolder } from '../../log/store/roots-table.ts'
import { FixableError } from '../../shared/failures.ts'
import { expandHome } from '../../shared/files.ts'
import { canonical } from '../../shared/json.ts'
import { orAborted } from '../../shared/signals.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  Cause,
  FolderPreview,
  HostEvent,
  HostOptions,
  OpenFolder,
  RootsService,
  ServerConfig,
  ServerRoots,
} from '../../types/index.ts'
import {
  canBeOffered,
  inspectFolder,
  isAvailable,
  OpenFolders,
  previewOf,
  sameFolder,
  uriOf,
} from './folders.ts'

/** The server data that roots need. */
interface RootsServer {
  readonly config: ServerConfig
  readonly identity: string
  readonly client: Client | undefined
}

interface RootsDeps {
  options: Pick<HostOptions, 'roots' | 'workspace' | 'home'>
  table: RootsTable
  questions: QuestionQueue
  recorder: Recorder
  /** The origin of a question. */
  find: (server: string, asked: AskContext['cause']) => { cause: Cause; row: number | null }
  servers: () => ReadonlyMap<string, RootsServer>
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

/** An open question, and the number of waiting requests. */
interface OpenRootsQuestion {
  readonly done: Promise<void>
  readonly withdraw: AbortController
  waiting: number
}

/** Interval in milliseconds of checking whether another program or a command has decided an open question. */
const pollMs = 100
/** Maximum questions caused by one request. */
const maxRounds = 3
/** Folders for which a decision is stored. */
const maxDecided = 1_000

/** The roots of each server: only folders that the user allowed. */
export class Roots {
  readonly service: RootsService
  readonly folders: OpenFolders
  readonly #deps: RootsDeps
  readonly #home: string
  readonly #poller: Poller
  /** The folders visible to servers at their last request. */
  readonly #lastSeen = new Map<string, string>()
  /** Open questions by identity, so that a server with two names or connections causes one question. */
  readonly #openQuestions = new Map<string, OpenRootsQuestion>()
  /** Servers whose last request failed because no surface could show the question. */
  readonly #unanswered = new Set<string>()

  constructor(deps: RootsDeps) {
    const { options, table, signal } = deps
    const { roots, workspace, home = homedir() } = options
    this.#deps = deps
    this.#home = home
    this.folders = new OpenFolders({ table, roots, workspace, home })
    this.#poller = new Poller(() => this.#poll(), signal)
    this.service = new LiveRootsService(this, deps, this.#home)
  }

  /** Whether `roots/list` of a server can be answered, which decides whether the capability is declared. */
  canAnswer(server: string): boolean {
    const { config, identity } = this.server(server)
    const given = this.folders.of(config)
    if (given.length === 0) return false
    if (this.#deps.questions.canAsk('roots')) return true
    const consent = this.#consent(identity)
    const offered = new Set(consent?.offered.map(({ uri }) => uri))
    return consent?.verdict === 'allow' && given.every(({ uri }) => offered.has(uri))
  }

  /**
   * Answers `roots/list` with the allowed folders; asks about new ones. Missing folders are left out, and a server that got an
   * answer is notified when its folders change.
   */
  async answer(server: string, context: AskContext): Promise<Root[]> {
    const { recorder, questions, find, table } = this.#deps
    const { cause, row: causeRow } = find(server, context.cause)
    const { identity, client } = this.server(server)
    const previous = await this.stateOf(server)
    const row = recorder.open({
      kind: 'roots',
      server,
      cause: causeRow,
      summary: `${server} asks for the open folders`,
      detail: { cause, roots: previous.offered.map(rootOf), surface: questions.names },
    })
    table.noteAsked(identity, client?.server.era ?? 'stateless', new Date().toISOString())
    const asked = needsQuestion(previous)
    const first = asked && !this.#openQuestions.has(identity)
    this.#unanswered.delete(server)
    try {
      let current = previous
      // A shared question may be about other folders than these, which are asked about next.
      for (let round = 0; round < maxRounds && needsQuestion(current); round += 1) {
        await this.#askOnce(server, current, cause, row.id, context.signal)
        current = await this.stateOf(server)
      }
      this.#lastSeen.set(server, keyOf(current))
      this.#poller.begin()
      const missing = current.missing.map(({ uri }) => uri)
      const denied = current.consent?.verdict === 'deny'
      row.close(denied ? 'denied' : 'ok', { asked: first, ...(missing.length > 0 && { missing }) })
      if (first) this.#warnAboutSandbox(server, current)
      return current.allowed.map(rootOf)
    } catch (error) {
      row.close(context.signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      if (error instanceof NoSurfaceError) this.#unanswered.add(server)
      throw unansweredError('roots', 'No person could be asked whether to share folders', error)
    }
  }

  /** The real paths a server may see now. */
  async agreed(server: string): Promise<string[]> {
    const { allowed } = await this.stateOf(server)
    return allowed.flatMap(({ real }) => (real === undefined ? [] : [real]))
  }

  async stateOf(server: string): Promise<RootsState> {
    const { config, identity } = this.server(server)
    const folders = await inspectFolder(this.folders.of(config), this.surroundings())
    return rootsStateOf(folders, this.#consent(identity))
  }

  surroundings(): { home: string; excluded: string[] } {
    return { home: this.#home, excluded: this.#deps.table.excluded(this.folders.workspace) }
  }

  /** Stores the decision about the folders in the question. A decision about folders that are not open now is kept for later. */
  decide(
    server: string,
    offered: readonly OpenFolder[],
    agreed: readonly OpenFolder[] | undefined,
    by: string,
  ): void {
    const { identity } = this.server(server)
    const previous = this.#consent(identity)
    const keptDecisions = (folders: readonly SeenFolder[]): SeenFolder[] =>
      previous?.verdict === 'allow'
        ? folders.filter(({ uri }) => !offered.some((folder) => sameFolder(folder.uri, uri)))
        : []
    this.#deps.table.decide(identity, this.folders.workspace, {
      verdict: agreed === undefined ? 'deny' : 'allow',
      offered: [...keptDecisions(previous?.offered ?? []), ...offered.map(toSeenFolder)].slice(-maxDecided),
      agreed:
        agreed === undefined
          ? []
          : [...keptDecisions(previous?.agreed ?? []), ...agreed.map(toSeenFolder)].slice(-maxDecided),
      by,
      at: new Date().toISOString(),
    })
    this.#deps.emit({ type: 'roots' })
  }

  /** Notifies servers whose request no surface could show, so that they ask again. */
  askAgain(): void {
    for (const server of this.#unanswered) {
      const client = this.#deps.servers().get(server)?.client
      if (client === undefined) this.#unanswered.delete(server)
      else this.#notify(server, client)
    }
  }

  /** Notifies servers whose folders changed. */
  changed(): Promise<void> {
    this.#deps.emit({ type: 'roots' })
    return this.#poller.pollNow()
  }

  server(name: string): RootsServer {
    const connection = this.#deps.servers().get(name)
    if (connection === undefined) throw new McpError('NOT_FOUND', `There is no server "${name}"`)
    return connection
  }

  #consent(identity: string): RootsConsent | undefined {
    return this.#deps.table.consent(identity, this.folders.workspace)
  }

  /** Asks, or joins the open question. It is withdrawn when no request waits for it any more. */
  async #askOnce(
    server: string,
    standing: RootsState,
    cause: Cause,
    row: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { identity } = this.server(server)
    const openQuestion =
      this.#openQuestions.get(identity) ?? this.#open(identity, server, standing, cause, row)
    openQuestion.waiting += 1
    try {
      await orAborted(openQuestion.done, signal)
    } finally {
      openQuestion.waiting -= 1
      if (openQuestion.waiting === 0) {
        this.#removeQuestion(identity, openQuestion)
        openQuestion.withdraw.abort(signal.reason)
      }
    }
  }

  #open(
    identity: string,
    server: string,
    standing: RootsState,
    cause: Cause,
    row: number,
  ): OpenRootsQuestion {
    const withdraw = new AbortController()
    const done = this.#ask(server, standing, cause, row, withdraw.signal).finally(() =>
      this.#removeQuestion(identity, openQuestion),
    )
    done.catch(() => {})
    const openQuestion: OpenRootsQuestion = { done, withdraw, waiting: 0 }
    this.#openQuestions.set(identity, openQuestion)
    return openQuestion
  }

  #removeQuestion(identity: string, openQuestion: OpenRootsQuestion): void {
    if (this.#openQuestions.get(identity) === openQuestion) this.#openQuestions.delete(identity)
  }

  async #ask(
    server: string,
    standing: RootsState,
    cause: Cause,
    row: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { offered, consent } = standing
    const folders = await previewsOf(standing)
    const answered = await this.#unlessDecided(server, consent, signal, (until) =>
      this.#deps.questions.ask(
        { kind: 'roots', id: randomUUID(), cause, roots: offered.map(rootOf), folders },
        { signal: until, activity: row },
      ),
    )
    if (answered === undefined) return
    const { answer, by } = answered
    if (answer.verdict === 'deny') return this.decide(server, offered, undefined, by)
    // Only folders in the question can be allowed.
    const allowedUris = answer.roots?.map(({ uri }) => uri)
    this.decide(
      server,
      offered,
      offered.filter(({ uri }) => allowedUris?.includes(uri) ?? true),
      by,
    )
  }

  /** The user's answer; undefined once another program on this store, or a command, has decided it. */
  async #unlessDecided<T>(
    server: string,
    consent: RootsConsent | undefined,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { identity } = this.server(server)
    const decided = new AbortController()
    const timer = setInterval(() => {
      try {
        if (this.#consent(identity)?.at === consent?.at) return
      } catch {
        // An unreadable store is read again at the next check.
        return
      }
      decided.abort(new McpError('CANCELLED', 'It was decided elsewhere'))
    }, pollMs).unref()
    try {
      return await ask(AbortSignal.any([signal, decided.signal]))
    } catch (error) {
      if (!decided.signal.aborted || signal.aborted) throw error
      return undefined
    } finally {
      clearInterval(timer)
    }
  }

  async #poll(): Promise<void> {
    for (const [server, previous] of [...this.#lastSeen]) {
      const connection = this.#deps.servers().get(server)
      if (connection === undefined) {
        this.#lastSeen.delete(server)
        continue
      }
      const standing = await this.stateOf(server)
      const current = keyOf(standing)
      if (current === previous || this.#deps.signal.aborted) continue
      this.#lastSeen.set(server, current)
      this.#warnAboutSandbox(server, standing)
      if (connection.client !== undefined) await this.#notify(server, connection.client)
    }
  }

  #notify(server: string, client: Client): Promise<void> {
    return client.rootsChanged().catch((error: unknown) => {
      const message = `The server could not be notified that roots changed: ${reasonOf(error)}`
      this.#deps.emit({ type: 'warning', server, message })
    })
  }

  /** A sandbox contains the folders allowed when it was created. */
  #warnAboutSandbox(server: string, { allowed }: RootsState): void {
    const { config, client } = this.server(server)
    if (!('sandbox' in config) || !config.sandbox || client === undefined || allowed.length === 0) return
    this.#deps.emit({
      type: 'warning',
      server,
      message: 'Its sandbox was started before these folders were allowed; reconnect it to let it read them.',
    })
  }
}

function rootOf({ uri, name }: Root): Root {
  return { uri, ...(name !== undefined && { name }) }
}

function previewsOf({ offered, fresh, consent }: RootsState): Promise<FolderPreview[]> {
  return Promise.all(
    offered.map(async (folder) => ({
      ...(await previewOf(folder)),
      isNew: consent !== undefined && fresh.includes(folder),
    })),
  )
}

/** The visible folders of a server, to detect changes. */
function keyOf({ consent, allowed, fresh }: RootsState): string {
  if (consent?.verdict === 'deny') return 'none'
  return canonical([allowed.map(rootOf), fresh.map(rootOf)])
}

/** The public service: the user's view and decisions. */
class LiveRootsService implements RootsService {
  readonly #roots: Roots
  readonly #deps: Pick<RootsDeps, 'table' | 'recorder' | 'servers'>
  readonly #home: string

  constructor(roots: Roots, deps: Pick<RootsDeps, 'table' | 'recorder' | 'servers'>, home: string) {
    this.#roots = roots
    this.#deps = deps
    this.#home = home
  }

  list(): Promise<OpenFolder[]> {
    return inspectFolder(this.#roots.folders.all(), this.#roots.surroundings())
  }

  async add(folder: string, name?: string): Promise<OpenFolder> {
    const uri = uriOf(folder, this.#home)
    const all = this.#roots.folders.all()
    const existing = all.find((given) => sameFolder(given.uri, uri))
    const given = existing ?? { uri, ...(name !== undefined && { name }), from: 'added' as const }
    const preview = await inspectFolder(
      [...all.filter((other) => other !== existing), given],
      this.#roots.surroundings(),
    )
    const opened = preview.find((other) => other.uri === given.uri)
    const refusal = opened?.findings.find(({ severity }) => severity === 'refused')
    if (opened === undefined || refusal !== undefined) {
      throw new FixableError(
        'INVALID',
        `${folder} was not opened: ${refusal?.message ?? 'it does not exist'}`,
        refusal?.code === 'excluded' ? [{ action: 'include-folders' }] : [],
      )
    }
    if (existing !== undefined) return opened
    this.#deps.table.add(this.#roots.folders.workspace, uri, name)
    this.#note(null, `${uri} was opened to servers`, { uri })
    await this.#roots.changed()
    return opened
  }

  async remove(folder: string): Promise<boolean> {
    const uri = uriOf(folder, this.#home)
    const existing = this.#roots.folders.all().find((given) => sameFolder(given.uri, uri))
    if (existing === undefined) return false
    if (existing.from === 'added') this.#deps.table.remove(this.#roots.folders.workspace, existing.uri)
    else this.exclude(fileURLToPath(existing.uri).replace(/(.)\/$/, '$1'))
    this.#note(null, `${existing.uri} is no longer open to servers`, { uri: existing.uri })
    await this.#roots.changed()
    return true
  }

  excluded(): string[] {
    return this.#deps.table.excluded(this.#roots.folders.workspace)
  }

  exclude(pattern: string): void {
    this.#deps.table.exclude(this.#roots.folders.workspace, this.#pattern(pattern))
    this.#note(null, `Folders like ${pattern} are excluded`, { pattern })
    this.#roots.changed()
  }

  include(pattern: string): boolean {
    const done = this.#deps.table.include(this.#roots.folders.workspace, this.#pattern(pattern))
    if (done) {
      this.#note(null, `Folders like ${pattern} are no longer excluded`, { pattern })
      this.#roots.changed()
    }
    return done
  }

  servers(): Promise<ServerRoots[]> {
    return Promise.all([...this.#deps.servers().keys()].map((server) => this.#state(server)))
  }

  async preview(server: string): Promise<FolderPreview[]> {
    return previewsOf(await this.#roots.stateOf(server))
  }

  async allow(server: string, by: string, folders?: readonly string[]): Promise<Root[]> {
    const { offered } = await this.#roots.stateOf(server)
    const allowedUris = folders?.map((folder) => uriOf(folder, this.#home))
    const unknownRoot =
      allowedUris?.findIndex((uri) => !offered.some((folder) => sameFolder(folder.uri, uri))) ?? -1
    if (unknownRoot !== -1) {
      const open = offered.map(({ uri }) => fileURLToPath(uri)).join(', ')
      const folder = folders?.[unknownRoot] ?? ''
      throw new FixableError(
        'INVALID',
        `${folder} is not open to ${server}. ${open === '' ? 'Nothing is' : `Open are: ${open}`}`,
        [{ action: 'open-folder', folder }],
      )
    }
    const agreed = offered.filter(({ uri }) => allowedUris?.some((one) => sameFolder(one, uri)) ?? true)
    const roots = agreed.map(rootOf)
    // Stored first: a permission that is not stored does not apply.
    const count = agreed.length === 1 ? '1 folder' : `${agreed.length} folders`
    this.#note(server, `${server} may see ${count}`, { roots, by })
    this.#roots.decide(server, offered, agreed, by)
    await this.#roots.changed()
    return roots
  }

  async deny(server: string, by: string): Promise<void> {
    const { offered } = await this.#roots.stateOf(server)
    this.#roots.decide(server, offered, undefined, by)
    this.#note(server, `${server} may see no folder`, { by }, 'denied')
    await this.#roots.changed()
  }

  forget(server: string): boolean {
    const { identity } = this.#roots.server(server)
    const done = this.#deps.table.forget(identity, this.#roots.folders.workspace)
    if (done) {
      this.#note(server, `The decision about folders of ${server} was removed`, {}, 'revoked')
      this.#roots.changed()
    }
    return done
  }

  async #state(server: string): Promise<ServerRoots> {
    const { config, identity } = this.#roots.server(server)
    const standing = await this.#roots.stateOf(server)
    const { consent, allowed, offered } = standing
    const asked = this.#deps.table.asked(identity)
    const decided = consent?.verdict === 'deny' ? 'denied' : needsQuestion(standing) ? 'ask' : 'allowed'
    return {
      server,
      state: config.roots === false ? 'off' : consent === undefined ? 'ask' : decided,
      roots: allowed.map(rootOf),
      asks: needsQuestion(standing) ? offered.map(rootOf) : [],
      ...(asked !== undefined && { asked }),
    }
  }

  #pattern(rawPattern: string): string {
    const pattern = expandHome(rawPattern, this.#home)
    if (pattern === '' || (pattern.includes('/') && !isAbsolute(pattern) && !pattern.startsWith('*'))) {
      throw new McpError(
        'INVALID',
        `"${rawPattern}" is not a pattern of folders. Write a whole path (/home/me/secret), one with stars (**/secret), or a name (secret)`,
      )
    }
    return pattern
  }

  #note(server: string | null, summary: string, detail: Record<string, unknown>, outcome = 'ok'): void {
    this.#deps.recorder.note({ kind: 'roots', server, summary, detail }, outcome)
  }
}

/** The decisions about one server for the folders that are open now. */
interface RootsState {
  consent: RootsConsent | undefined
  /** The folders of a question. */
  offered: readonly OpenFolder[]
  /** Those not asked about before, or with another target at that time. */
  fresh: readonly OpenFolder[]
  /** Allowed folders that exist. */
  allowed: readonly OpenFolder[]
  /** Allowed folders that do not exist. */
  missing: readonly OpenFolder[]
}

function rootsStateOf(folders: readonly OpenFolder[], consent: RootsConsent | undefined): RootsState {
  const offered = folders.filter(canBeOffered)
  const agreed = offered.filter((folder) => hasSeen(consent?.agreed ?? [], folder))
  return {
    consent,
    offered,
    fresh: offered.filter((folder) => !hasSeen(consent?.offered ?? [], folder)),
    allowed: agreed.filter(isAvailable),
    missing: agreed.filter((folder) => !isAvailable(folder)),
  }
}

/** A refusal is valid until it is removed; an approval is valid for the folders in the question. */
function needsQuestion({ consent, offered, fresh }: RootsState): boolean {
  if (consent === undefined) return offered.length > 0
  return consent.verdict === 'allow' && fresh.length > 0
}

function toSeenFolder({ uri, real }: OpenFolder): SeenFolder {
  return { uri, real: real ?? null }
}

/** A folder that was missing may appear later, but not as a link to somewhere else. */
function hasSeen(seen: readonly SeenFolder[], folder: OpenFolder): boolean {
  const isLink = folder.findings.some(({ code }) => code === 'link')
  return seen.some(
    ({ uri, real }) =>
      sameFolder(uri, folder.uri) &&
      (folder.real === undefined || real === folder.real || (real === null && !isLink)),
  )
}

/** Interval in milliseconds of checking the folders that servers received as roots. */
const watchMs = 500

/** Repeats work after a start, sequentially, until the signal aborts. */
class Poller {
  readonly #poll: () => Promise<void>
  readonly #signal: AbortSignal
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined

  constructor(check: () => Promise<void>, signal: AbortSignal) {
    this.#poll = check
    this.#signal = signal
    signal.addEventListener('abort', () => clearInterval(this.#timer), { once: true })
  }

  begin(): void {
    if (this.#signal.aborted) return
    this.#timer ??= setInterval(() => {
      if (this.#polling === undefined) this.pollNow()
    }, watchMs).unref()
  }

  /** Checks immediately, after a running check. */
  pollNow(): Promise<void> {
    const polling = (this.#polling ?? Promise.resolve())
      .then(() => (this.#signal.aborted ? undefined : this.#poll()))
      .catch(() => {})
      .finally(() => {
        if (this.#polling === polling) this.#polling = undefined
      })
    this.#polling = polling
    return polling
  }
}
