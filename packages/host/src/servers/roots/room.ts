import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { ErrorCode, McpError, type Root, RpcError } from '@jackfield/sdk'
import type { AskContext, Client } from '@jackfield/sdk/client'
import type { Asker } from '../../core/inbox/asker.ts'
import type { Recorder } from '../../log/store/recorder.ts'
import type { RootsConsent, RootsTable, SeenFolder } from '../../log/store/roots-table.ts'
import { canonical } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { Cause, HostEvent, HostOptions, OpenFolder, RootsDesk, ServerConfig } from '../../types/index.ts'
import { Desk } from './desk.ts'
import { lookAt, previewOf } from './look.ts'
import { OpenFolders, sameFolder } from './open-folders.ts'
import { mustAsk, type Standing, seenAs, standingOf } from './standing.ts'
import { Watch } from './watch.ts'

/** A server as this room needs it. */
export interface RootsServer {
  readonly config: ServerConfig
  readonly identity: string
  readonly client: Client | undefined
}

export interface RootsDeps {
  options: Pick<HostOptions, 'roots' | 'workspace' | 'home'>
  table: RootsTable
  asker: Asker
  recorder: Recorder
  /** Where a question comes from. */
  find: (server: string, asked: AskContext['cause']) => { cause: Cause; row: number | null }
  servers: () => ReadonlyMap<string, RootsServer>
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

/** A question that is open, and how many requests of the server wait for it. */
interface Asking {
  readonly done: Promise<void>
  readonly withdraw: AbortController
  waiting: number
}

/** Milliseconds between two looks whether an open question was decided elsewhere. */
const lookMs = 100
/** Questions that one request leads to at most. */
const maxRounds = 3
/** Folders that a decision is kept for. */
const maxDecided = 1_000

/** Which server is told of which folders: nothing before the person agreed, and never more than they agreed to. */
export class Roots {
  readonly desk: RootsDesk
  readonly folders: OpenFolders
  readonly #deps: RootsDeps
  readonly #home: string
  readonly #watch: Watch
  /** What servers that asked could see then. */
  readonly #seen = new Map<string, string>()
  /** Open questions by identity, so that one server under two names, or on two connections, is one question. */
  readonly #asking = new Map<string, Asking>()

  constructor(deps: RootsDeps) {
    const { options, table, signal } = deps
    const { roots, workspace, home = homedir() } = options
    this.#deps = deps
    this.#home = home
    this.folders = new OpenFolders({ table, roots, workspace, home })
    this.#watch = new Watch(() => this.#look(), signal)
    this.desk = new Desk(this, deps, this.#home)
  }

  /** Whether a server that asks now can be answered: only then is it told that it may ask. */
  canAnswer(server: string): boolean {
    const { config, identity } = this.server(server)
    const given = this.folders.of(config)
    if (given.length === 0) return false
    if (this.#deps.asker.can('roots')) return true
    const consent = this.#consent(identity)
    const offered = new Set(consent?.offered.map(({ uri }) => uri))
    return consent?.verdict === 'allow' && given.every(({ uri }) => offered.has(uri))
  }

  /**
   * Tells a server of the folders that the person agreed to, who is asked where some are new. Folders that are gone are
   * left out, and a server that was told hears when that changes.
   */
  async answer(server: string, context: AskContext): Promise<Root[]> {
    const { recorder, asker, find, table } = this.#deps
    const { cause, row: causeRow } = find(server, context.cause)
    const { identity, client } = this.server(server)
    const before = await this.standing(server)
    const row = recorder.open({
      kind: 'roots',
      server,
      cause: causeRow,
      summary: `${server} asks for the open folders`,
      detail: { cause, roots: before.offered.map(rootOf), surface: asker.names },
    })
    table.noteAsked(identity, client?.server.era ?? 'stateless', new Date().toISOString())
    const asked = mustAsk(before)
    const first = asked && !this.#asking.has(identity)
    try {
      let now = before
      // A shared question may be about other folders than these, which are asked about next.
      for (let round = 0; round < maxRounds && mustAsk(now); round += 1) {
        await this.#askOnce(server, now, cause, row.id, context.signal)
        now = await this.standing(server)
      }
      this.#seen.set(server, keyOf(now))
      this.#watch.begin()
      const missing = now.missing.map(({ uri }) => uri)
      const denied = now.consent?.verdict === 'deny'
      row.close(denied ? 'denied' : 'ok', { asked: first, ...(missing.length > 0 && { missing }) })
      if (first) this.#mindSandbox(server, now)
      return now.told.map(rootOf)
    } catch (error) {
      row.close(context.signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw new RpcError(ErrorCode.InternalError, 'Nobody could be asked whether to tell of folders')
    }
  }

  /** The real paths of what a server may know now. */
  async agreed(server: string): Promise<string[]> {
    const { told } = await this.standing(server)
    return told.flatMap(({ real }) => (real === undefined ? [] : [real]))
  }

  async standing(server: string): Promise<Standing> {
    const { config, identity } = this.server(server)
    const folders = await lookAt(this.folders.of(config), this.around())
    return standingOf(folders, this.#consent(identity))
  }

  around(): { home: string; excluded: string[] } {
    return { home: this.#home, excluded: this.#deps.table.excluded(this.folders.workspace) }
  }

  /**
   * Keeps what the person decided about what they were shown. A decision about folders that are not open now stays, so
   * that it need not be made again when they are.
   */
  decide(
    server: string,
    offered: readonly OpenFolder[],
    agreed: readonly OpenFolder[] | undefined,
    by: string,
  ): void {
    const { identity } = this.server(server)
    const before = this.#consent(identity)
    const earlier = (folders: readonly SeenFolder[]): SeenFolder[] =>
      before?.verdict === 'allow'
        ? folders.filter(({ uri }) => !offered.some((folder) => sameFolder(folder.uri, uri)))
        : []
    this.#deps.table.decide(identity, this.folders.workspace, {
      verdict: agreed === undefined ? 'deny' : 'allow',
      offered: [...earlier(before?.offered ?? []), ...offered.map(seenAs)].slice(-maxDecided),
      agreed:
        agreed === undefined
          ? []
          : [...earlier(before?.agreed ?? []), ...agreed.map(seenAs)].slice(-maxDecided),
      by,
      at: new Date().toISOString(),
    })
    this.#deps.emit({ type: 'roots' })
  }

  /** Tells servers whose folders are others now. */
  changed(): Promise<void> {
    this.#deps.emit({ type: 'roots' })
    return this.#watch.now()
  }

  server(name: string): RootsServer {
    const found = this.#deps.servers().get(name)
    if (found === undefined) throw new McpError('INVALID', `There is no server "${name}"`)
    return found
  }

  #consent(identity: string): RootsConsent | undefined {
    return this.#deps.table.consent(identity, this.folders.workspace)
  }

  /** Asks, or joins the question that is open. It is withdrawn when no request waits for it any more. */
  async #askOnce(
    server: string,
    standing: Standing,
    cause: Cause,
    row: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { identity } = this.server(server)
    const asking = this.#asking.get(identity) ?? this.#open(identity, server, standing, cause, row)
    asking.waiting += 1
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      await Promise.race([asking.done, aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
      asking.waiting -= 1
      if (asking.waiting === 0) {
        this.#over(identity, asking)
        asking.withdraw.abort(signal.reason)
      }
    }
  }

  #open(identity: string, server: string, standing: Standing, cause: Cause, row: number): Asking {
    const withdraw = new AbortController()
    const done = this.#ask(server, standing, cause, row, withdraw.signal).finally(() =>
      this.#over(identity, asking),
    )
    done.catch(() => {})
    const asking: Asking = { done, withdraw, waiting: 0 }
    this.#asking.set(identity, asking)
    return asking
  }

  #over(identity: string, asking: Asking): void {
    if (this.#asking.get(identity) === asking) this.#asking.delete(identity)
  }

  async #ask(
    server: string,
    standing: Standing,
    cause: Cause,
    row: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { offered, fresh, consent } = standing
    const folders = await Promise.all(
      offered.map(async (folder) => ({
        ...(await previewOf(folder)),
        isNew: consent !== undefined && fresh.includes(folder),
      })),
    )
    const answered = await this.#unlessDecided(server, consent, signal, (until) =>
      this.#deps.asker.ask(
        { kind: 'roots', id: randomUUID(), cause, roots: offered.map(rootOf), folders },
        { signal: until, activity: row },
      ),
    )
    if (answered === undefined) return
    const { answer, by } = answered
    if (answer.verdict === 'deny') return this.decide(server, offered, undefined, by)
    // Nothing beyond what was shown can be agreed to.
    const wanted = answer.roots?.map(({ uri }) => uri)
    this.decide(
      server,
      offered,
      offered.filter(({ uri }) => wanted?.includes(uri) ?? true),
      by,
    )
  }

  /** What the person answers; undefined once it was decided meanwhile: in another program on this store, or by a command. */
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
        // A store that cannot be read now is read again.
        return
      }
      decided.abort(new McpError('CANCELLED', 'It was decided elsewhere'))
    }, lookMs).unref()
    try {
      return await ask(AbortSignal.any([signal, decided.signal]))
    } catch (error) {
      if (!decided.signal.aborted || signal.aborted) throw error
      return undefined
    } finally {
      clearInterval(timer)
    }
  }

  async #look(): Promise<void> {
    for (const [server, before] of [...this.#seen]) {
      const found = this.#deps.servers().get(server)
      if (found === undefined) {
        this.#seen.delete(server)
        continue
      }
      const standing = await this.standing(server)
      const now = keyOf(standing)
      if (now === before || this.#deps.signal.aborted) continue
      this.#seen.set(server, now)
      this.#mindSandbox(server, standing)
      await found.client?.rootsChanged().catch((error: unknown) => {
        const message = `The server could not be told that roots changed: ${reasonOf(error)}`
        this.#deps.emit({ type: 'warning', server, message })
      })
    }
  }

  /** A sandbox shows what was agreed to when it was made. */
  #mindSandbox(server: string, { told }: Standing): void {
    const { config, client } = this.server(server)
    if (!('sandbox' in config) || !config.sandbox || client === undefined || told.length === 0) return
    this.#deps.emit({
      type: 'warning',
      server,
      message: 'Its sandbox was made before it was told of these folders; reconnect it to let it read them.',
    })
  }
}

function rootOf({ uri, name }: Root): Root {
  return { uri, ...(name !== undefined && { name }) }
}

/** What a server could see, so that a change of it can be noticed. */
function keyOf({ consent, told, fresh }: Standing): string {
  if (consent?.verdict === 'deny') return 'none'
  return canonical([told.map(rootOf), fresh.map(rootOf)])
}
