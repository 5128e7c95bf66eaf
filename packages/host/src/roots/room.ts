import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { ErrorCode, McpError, type Root, RpcError } from '@jackfield/sdk'
import type { AskContext, Client } from '@jackfield/sdk/client'
import type { Asker } from '../inbox/asker.ts'
import { canonical } from '../json.ts'
import type { Recorder, RootsConsent, RootsTable } from '../store/index.ts'
import { reasonOf } from '../text.ts'
import type { Cause, HostEvent, HostOptions, OpenFolder, RootsDesk, ServerConfig } from '../types/index.ts'
import { Desk } from './desk.ts'
import { lookAt, previewOf } from './look.ts'
import { OpenFolders } from './open-folders.ts'
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

/** Which server is told of which folders: nothing before the person agreed, and never more than they agreed to. */
export class Roots {
  readonly desk: RootsDesk
  readonly folders: OpenFolders
  readonly #deps: RootsDeps
  readonly #home: string
  readonly #watch: Watch
  /** What servers that asked could see then. */
  readonly #seen = new Map<string, string>()
  readonly #asking = new Map<string, Promise<void>>()

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
    const first = asked && !this.#asking.has(server)
    try {
      if (asked) await this.#askOnce(server, before, cause, row.id, context.signal)
      const now = asked ? await this.standing(server) : before
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

  /** Keeps what the person decided about what they were shown. */
  decide(
    server: string,
    offered: readonly OpenFolder[],
    agreed: readonly OpenFolder[] | undefined,
    by: string,
  ): void {
    this.#deps.table.decide(this.server(server).identity, this.folders.workspace, {
      verdict: agreed === undefined ? 'deny' : 'allow',
      offered: offered.map(seenAs),
      agreed: (agreed ?? []).map(seenAs),
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

  #askOnce(
    server: string,
    standing: Standing,
    cause: Cause,
    row: number,
    signal: AbortSignal,
  ): Promise<void> {
    const asking =
      this.#asking.get(server) ??
      this.#ask(server, standing, cause, row, signal).finally(() => this.#asking.delete(server))
    this.#asking.set(server, asking)
    return asking
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
    const { answer, by } = await this.#deps.asker.ask(
      { kind: 'roots', id: randomUUID(), cause, roots: offered.map(rootOf), folders },
      { signal, activity: row },
    )
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
