import { McpError } from '@jackfield/sdk'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import type { Recorder } from '../../log/store/activity-log.ts'
import type { ListKey, TrustRow, TrustTable, TrustWriter } from '../../log/store/trust-table.ts'
import type { TrustGate } from '../../servers/catalog.ts'
import type { ServerConnection } from '../../servers/connections/connection.ts'
import { FixableError } from '../../shared/failures.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  DefinitionChange,
  HostEvent,
  ServerTrust,
  TrustedItem,
  TrustItem,
  TrustService,
} from '../../types/index.ts'
import type { QuestionQueue } from '../inbox/question-queue.ts'
import { ChangeReview, changesOf, describeItems, stateOf } from './changes.ts'
import {
  addsMembers,
  type Definition,
  type DefinitionKind,
  Definitions,
  isAgreed,
  keyOf,
  TrustRowCache,
  withRevision,
} from './definitions.ts'
import { type Neighbours, neighboursOf, scanDefinition, serverFindings } from './scan.ts'

interface TrustDeps {
  table: TrustTable
  /** The configured servers, by name. */
  servers: () => ReadonlyMap<string, ServerConnection>
  /** Names of servers whose changes are accepted and reported. */
  unpinned: readonly string[]
  questions: QuestionQueue
  recorder: Recorder
  redactor: SecretRedactor
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

interface CheckedRevision extends Pick<ServerConnection, 'lists' | 'client'> {
  /** The last negotiated revision. */
  revision: string | undefined
}

const hostClosed = 'The host is closed'

/** Pins the definitions of servers and quarantines changed ones until the user accepts them. */
export class Trust implements TrustService {
  readonly #deps: TrustDeps
  readonly #rowCache: TrustRowCache
  readonly #definitions: Definitions
  readonly #changeReview: ChangeReview
  /** Results by connection: an unchanged list needs no second check. */
  readonly #checked = new WeakMap<ServerConnection, CheckedRevision>()
  /** Why never accepted definitions are disabled; computed once, since lists ask repeatedly. */
  readonly #unaccepted = new WeakMap<Definition, string>()

  constructor(deps: TrustDeps) {
    this.#deps = deps
    this.#rowCache = new TrustRowCache(deps.table)
    this.#definitions = new Definitions(deps.redactor)
    this.#changeReview = new ChangeReview(deps, (identity, rows, verdict) =>
      this.#settle(identity, rows, verdict),
    )
  }

  /** Compares a server's definitions with the accepted ones, once after each fetch of its lists. */
  check(connection: ServerConnection): void {
    const { lists, client, name } = connection
    const identity = this.#identity(connection)
    const isPinned = !this.#deps.unpinned.includes(name)
    const last = this.#checked.get(connection)
    if (this.#deps.signal.aborted || (last?.lists === lists && last.client === client)) return
    const revision = client?.server.revision ?? last?.revision
    this.#checked.set(connection, { lists, client, revision })
    const result = checkLists({
      connection,
      identity,
      revision,
      rowCache: this.#rowCache,
      definitions: this.#definitions,
      profile: this.#profile(name),
      at: new Date().toISOString(),
      isDangerous: (definition) =>
        isPinned &&
        scanDefinition(definition, this.#neighbours(name)).some(({ severity }) => severity === 'danger'),
    })
    this.#store(name, result)
    if (result.removed.length > 0) {
      const summary = `${name} no longer offers: ${describeItems(result.removed)}`
      this.#deps.recorder.note(
        { kind: 'drift', server: name, summary, detail: { gone: result.removed } },
        'noted',
      )
    }
    const accepted = isPinned ? [] : this.#acceptChanges(name, identity)
    if (result.rows.length + result.removed.length > 0)
      this.#deps.emit({ type: 'trust', server: name, ...(accepted.length > 0 && { accepted }) })
    this.#review(
      name,
      identity,
      result.rows.some((row) => stateOf(row) === 'quarantined'),
    )
  }

  /** Accepts the changes of a server whose definitions are not pinned, and returns them. */
  #acceptChanges(server: string, identity: string): DefinitionChange[] {
    const rows = this.#rowCache.rows(identity)
    const changed = [...rows.values()].filter((row) => row.listed && stateOf(row) === 'quarantined')
    if (changed.length === 0) return []
    const changes = changed.flatMap((row) => changesOf(row, rows.values()))
    this.#write(identity, changed, (row, at) => ({ ...row, agreed: { ...row.seen, at } }))
    const summary = `${describeItems(changed)} of ${server} changed; its definitions are not pinned`
    const items = changed.map(({ what, name, seen }) => ({ what, name, hash: seen.hash }))
    this.#deps.recorder.note({ kind: 'drift', server, summary, detail: { items } }, 'accepted')
    return changes
  }

  /** The key of definitions: those of a typed command are separate from those of a configured server. */
  #identity({ name, identity }: Pick<ServerConnection, 'name' | 'identity'>): string {
    return this.#deps.unpinned.includes(name) ? fingerprint(`unpinned ${identity}`) : identity
  }

  /** Asks about pending changes on a newly attached surface. */
  askAgain(): void {
    for (const server of this.#deps.servers().values())
      this.#review(server.name, this.#identity(server), false)
  }

  /** Decisions on the definitions of servers. */
  gate(connection: ServerConnection): TrustGate {
    if (this.#deps.signal.aborted) return () => hostClosed
    this.check(connection)
    const { name } = connection
    const identity = this.#identity(connection)
    // Another program on the store may have decided meanwhile.
    if (this.#changeReview.hasOpenQuestion(identity)) this.#review(name, identity, false)
    const rows = this.#rowCache.rows(identity)
    const revision = this.#checked.get(connection)?.revision
    return (what, entry) => this.#refusal(name, this.#definitions.of(what, entry), rows, revision)
  }

  /** Why a tool may not be called; undefined if it may. */
  disabledReason(server: string, tool: string): string | undefined {
    const connection = this.#deps.servers().get(server)
    const definition = connection?.lists.tools.find(({ name }) => name === tool)
    return connection === undefined || definition === undefined
      ? undefined
      : this.gate(connection)('tool', definition)
  }

  /**
   * Checks that a prompt or resource may be used.
   * @throws McpError 'INVALID' with the reason if it is disabled
   */
  refuse(connection: ServerConnection, what: 'prompt' | 'resource', name: string): void {
    const definition =
      what === 'prompt'
        ? connection.lists.prompts.find((prompt) => prompt.name === name)
        : connection.lists.resources.find((resource) => resource.uri === name)
    const reason = definition && this.gate(connection)(what, definition)
    if (reason === undefined) return
    throw new FixableError('INVALID', `The ${what} ${name} of ${connection.name} is disabled: ${reason}`, [
      { action: 'review', server: connection.name },
    ])
  }

  /** Decides by URI whether a resource may be shown, also while its server is not connected. */
  usableResources(connection: ServerConnection): (uri: string) => boolean {
    const gate = this.gate(connection)
    const byUri = new Map(connection.lists.resources.map((resource) => [resource.uri, resource]))
    const rows = this.#rowCache.rows(this.#identity(connection))
    return (uri) => {
      const resource = byUri.get(uri)
      if (resource !== undefined) return gate('resource', resource) === undefined
      const row = rows.get(keyOf({ what: 'resource', name: uri }))
      return row === undefined || stateOf(row) === 'pinned'
    }
  }

  /** A server's instructions, if they are accepted. */
  instructions(connection: ServerConnection): string | undefined {
    const text = connection.client?.server.instructions
    if (text === undefined || this.#deps.signal.aborted) return undefined
    this.check(connection)
    const definition = this.#definitions.instructions(text)
    const rows = this.#rowCache.rows(this.#identity(connection))
    const refusal = this.#refusal(connection.name, definition, rows, undefined)
    return refusal === undefined ? this.#deps.redactor.text(text) : undefined
  }

  servers(): ServerTrust[] {
    const configured = [...this.#deps.servers().values()]
    const identities = new Set(configured.map((server) => this.#identity(server)))
    return [
      ...configured.map(({ name }) => this.server(name)),
      ...this.#rowCache
        .servers()
        .filter(({ identity }) => !identities.has(identity))
        .map(({ identity }) => this.server(identity)),
    ]
  }

  /** The states of a server's definitions: as `server`, without changes and findings, whose search takes milliseconds. */
  states(connection: ServerConnection): { identity: string; items: ItemState[] } {
    const identity = this.#identity(connection)
    const items = [...this.#rowCache.rows(identity).values()].toSorted(byKindAndName).map(stateItem)
    return this.#deps.redactor.value({ identity, items })
  }

  server(nameOrIdentity: string): ServerTrust {
    const { name: server, identity, configured, since } = this.#find(nameOrIdentity)
    const rows = this.#rowCache.rows(identity)
    const neighbours = this.#neighbours(server)
    // Rows stored before a secret was known may contain it.
    return this.#deps.redactor.value({
      server,
      identity,
      configured,
      ...(since !== undefined && { since }),
      findings: configured ? serverFindings(server, this.#deps.servers().keys()) : [],
      items: [...rows.values()].toSorted(byKindAndName).map((row) => {
        const { what, name, seen, listed } = row
        return {
          ...stateItem(row),
          listed,
          changes: changesOf(row, rows.values()),
          findings: scanDefinition({ what, name, ...seen }, neighbours),
        }
      }),
    })
  }

  accept(server: string, items?: readonly TrustItem[]): TrustItem[] {
    return this.#decide(server, 'accepted', this.#selectRows(server, items), (row, at) => {
      const { blocked: _, ...rest } = row
      return { ...rest, agreed: { ...row.seen, at } }
    })
  }

  block(server: string, items?: readonly TrustItem[]): TrustItem[] {
    return this.#decide(server, 'blocked', this.#selectRows(server, items), (row) => ({
      ...row,
      blocked: row.seen.hash,
    }))
  }

  reset(server: string, items?: readonly TrustItem[]): TrustItem[] {
    const { name, identity } = this.#find(server)
    const rows =
      items === undefined ? [...this.#rowCache.rows(identity).values()] : this.#selectRows(server, items)
    const forgotten = rows.map(({ what, name }) => ({ what, name }))
    const summary = `The accepted definitions of ${name} were forgotten: ${items === undefined ? 'everything' : describeItems(forgotten)}`
    const row = this.#deps.recorder.open({
      kind: 'drift',
      server: name,
      summary,
      detail: { items: forgotten },
    })
    try {
      this.#rowCache.write(identity, (writer) => {
        if (items === undefined) writer.forget(identity)
        else for (const row of rows) writer.remove(identity, row)
      })
    } catch (error) {
      row.close('error', { reason: reasonOf(error) })
      throw error
    }
    row.close('reset')
    for (const connection of this.#connectionsOf(identity)) {
      this.#checked.delete(connection)
      this.check(connection)
    }
    this.#changed(identity)
    return forgotten
  }

  /** The rows to change: those named, or all pending ones. */
  #selectRows(server: string, items: readonly TrustItem[] | undefined): TrustRow[] {
    const { name, identity } = this.#find(server)
    const rows = this.#rowCache.rows(identity)
    if (items === undefined) return [...rows.values()].filter((row) => stateOf(row) === 'quarantined')
    return items.map((item) => {
      const row = rows.get(keyOf(item))
      if (row !== undefined) return row
      throw new McpError('INVALID', `${name} never had a ${item.what} named ${JSON.stringify(item.name)}`)
    })
  }

  #decide(
    server: string,
    outcome: 'accepted' | 'blocked',
    rows: readonly TrustRow[],
    change: (row: TrustRow, at: string) => TrustRow,
  ): TrustItem[] {
    const { name, identity } = this.#find(server)
    if (rows.length === 0) return []
    const items = rows.map(({ what, name, seen }) => ({ what, name, hash: seen.hash }))
    const summary = `${describeItems(items)} of ${name} ${items.length === 1 ? 'is' : 'are'} ${outcome}`
    const row = this.#deps.recorder.open({ kind: 'drift', server: name, summary, detail: { items } })
    try {
      this.#write(identity, rows, change)
    } catch (error) {
      row.close('error', { reason: reasonOf(error) })
      throw error
    }
    row.close(outcome)
    this.#changed(identity)
    return items.map(({ what, name }) => ({ what, name }))
  }

  /** The user's answer about these exact definitions; later changes are unaffected. */
  #settle(identity: string, askedRows: readonly TrustRow[], verdict: 'accept' | 'block'): void {
    const rows = this.#rowCache.rows(identity)
    const unchangedRows = askedRows.flatMap((row) => {
      const now = rows.get(keyOf(row))
      return now !== undefined && now.seen.hash === row.seen.hash ? [now] : []
    })
    this.#write(identity, unchangedRows, (row, at) =>
      verdict === 'accept' ? { ...row, agreed: { ...row.seen, at } } : { ...row, blocked: row.seen.hash },
    )
    this.#changed(identity)
  }

  #write(identity: string, rows: readonly TrustRow[], change: (row: TrustRow, at: string) => TrustRow): void {
    const at = new Date().toISOString()
    this.#rowCache.write(identity, (writer) => {
      for (const row of rows) writer.row(identity, change(row, at))
    })
  }

  #store(server: string, { identity, rows, removed, write }: ListCheck): void {
    if (write === undefined) return
    try {
      this.#rowCache.write(identity, (writer: TrustWriter) => write(writer))
    } catch (error) {
      const names = describeItems([...rows, ...removed])
      const message = `Definitions of ${server} could not be pinned (${names}), so they stay disabled: ${reasonOf(error)}`
      this.#deps.emit({ type: 'warning', server, message })
    }
  }

  /** Emits the event of a decision, and asks about the remaining changes. */
  #changed(identity: string): void {
    for (const { name } of this.#connectionsOf(identity)) {
      this.#deps.emit({ type: 'trust', server: name })
      this.#review(name, identity, false)
    }
    this.#deps.emit({ type: 'catalog' })
  }

  #review(server: string, identity: string, isNew: boolean): void {
    const rows = this.#rowCache.rows(identity)
    const waiting = [...rows.values()].filter((row) => row.listed && stateOf(row) === 'quarantined')
    this.#changeReview.review({
      server,
      identity,
      isNew,
      waiting,
      notify: () => {
        const neighbours = this.#neighbours(server)
        return {
          changes: waiting.flatMap((row) => changesOf(row, rows.values())),
          findings: waiting.flatMap(({ what, name, seen }) =>
            scanDefinition({ what, name, ...seen }, neighbours),
          ),
        }
      },
    })
  }

  #connectionsOf(identity: string): ServerConnection[] {
    return [...this.#deps.servers().values()].filter((server) => this.#identity(server) === identity)
  }

  #find(nameOrIdentity: string): { name: string; identity: string; configured: boolean; since?: string } {
    if (this.#deps.signal.aborted) throw new McpError('CONNECTION_CLOSED', hostClosed)
    const known = this.#rowCache.servers()
    const connection = this.#deps.servers().get(nameOrIdentity)
    const identity =
      (connection && this.#identity(connection)) ??
      known.findLast(({ label }) => label === nameOrIdentity)?.identity ??
      known.find((server) => nameOrIdentity.length >= 8 && server.identity.startsWith(nameOrIdentity))
        ?.identity
    if (identity === undefined) {
      const names = [...this.#deps.servers().keys(), ...known.map(({ label }) => label)]
      const knownServers =
        names.length === 0 ? 'No server is known' : `There are: ${[...new Set(names)].join(', ')}`
      throw new McpError(
        'NOT_FOUND',
        `There is no server ${JSON.stringify(nameOrIdentity)}. ${knownServers}.`,
      )
    }
    const seen = known.find((server) => server.identity === identity)
    return {
      name: connection?.name ?? seen?.label ?? nameOrIdentity,
      identity,
      configured: connection !== undefined,
      ...(seen !== undefined && { since: seen.at }),
    }
  }

  #neighbours(server: string): Neighbours {
    const tools = [...this.#deps.servers().values()].map((connection) => {
      const { name } = connection
      const names = [...this.#rowCache.rows(this.#identity(connection)).values()].filter(
        (row) => row.what === 'tool' && row.listed,
      )
      return [name, names.map((row) => row.name)] as const
    })
    return neighboursOf(server, new Map(tools))
  }

  /** Why a definition is disabled, in words that a model may read; undefined if it is enabled. */
  #refusal(
    server: string,
    definition: Definition,
    rows: ReadonlyMap<string, TrustRow>,
    revision: string | undefined,
  ): string | undefined {
    const row = rows.get(keyOf(definition))
    const agreed = row !== undefined && isAgreed(row, definition, revision)
    const hash = agreed ? row.agreed?.hash : definition.hash
    if (row?.blocked !== undefined && row.blocked === hash) return 'the person blocked it'
    if (agreed) return undefined
    if (row?.agreed !== undefined) {
      const fields = new Set(changesOf(row, []).map(({ field }) => field?.split(/[.[]/)[0] ?? 'definition'))
      const what = fields.size === 0 ? 'definition' : [...fields].join(', ')
      return `its ${what} changed since the person accepted it, and the change is not accepted yet`
    }
    // The finding's message quotes the text, which no model should read.
    let reason = this.#unaccepted.get(definition)
    if (reason === undefined) {
      const dangerous = scanDefinition(definition, this.#neighbours(server)).find(
        ({ severity }) => severity === 'danger',
      )
      reason =
        dangerous === undefined
          ? 'it is new'
          : `its text looks like an attack on the model (${dangerous.code})`
      this.#unaccepted.set(definition, reason)
    }
    return `${reason}, and the person has not accepted it`
  }

  /** Definitions can depend on the host's capabilities, so they are stored by profile. */
  #profile(server: string): string {
    const { questions } = this.#deps
    const kinds = (['elicitation', 'sampling-request', 'roots', 'app'] as const).filter((kind) =>
      questions.canAsk(kind),
    )
    return [server, ...kinds, ...(questions.canOpenUrls ? ['url'] : [])].join(' ')
  }
}

const kindOrder: readonly DefinitionKind[] = ['instructions', 'tool', 'prompt', 'template', 'resource']

type ItemState = Pick<TrustedItem, 'what' | 'name' | 'state' | 'since'>

function stateItem(row: TrustRow): ItemState {
  const { what, name, agreed, seen } = row
  const state = stateOf(row)
  return { what, name, state, since: (state === 'pinned' ? agreed : seen)?.at ?? seen.at }
}

function byKindAndName(one: TrustRow, other: TrustRow): number {
  return kindOrder.indexOf(one.what) - kindOrder.indexOf(other.what) || (one.name < other.name ? -1 : 1)
}

interface ListCheckOptions {
  connection: ServerConnection
  /** The key under which the server is stored. */
  identity: string
  /** The negotiated revision, if any. */
  revision: string | undefined
  rowCache: TrustRowCache
  definitions: Definitions
  /** Lists of one server are compared under the same profile only. */
  profile: string
  /** ISO 8601. */
  at: string
  /** Whether a definition must not be pinned without a question, even at first use. */
  isDangerous: (definition: Definition) => boolean
}

interface ListCheck {
  identity: string
  /** Definitions that are new or changed. */
  rows: TrustRow[]
  /** Definitions that were listed before. */
  removed: TrustItem[]
  /** Stores the result; undefined if there is nothing to store. */
  write: ((writer: TrustWriter) => void) | undefined
}

/**
 * Compares a server's definitions with the stored ones. On first sight a list is pinned; later, new and changed items are only
 * recorded. Resources change with data, so new ones are pinned too.
 */
function checkLists(options: ListCheckOptions): ListCheck {
  const { connection, identity, revision, rowCache, definitions, profile, at, isDangerous } = options
  const { lists, client, name: label } = connection
  const known = rowCache.rows(identity)
  const rows: TrustRow[] = []
  const removed: TrustRow[] = []
  const forgotten: TrustItem[] = []
  const newNames: { key: ListKey; names: string[] }[] = []

  for (const [what, now] of definitions.all(lists, client?.server)) {
    const key = { identity, what, profile }
    const before = rowCache.names(key)
    const listedBefore = new Set(before)
    const isFirst = (name: string): boolean =>
      before === undefined || what === 'resource' || listedBefore.has(name)
    for (const definition of now.values()) {
      const row = known.get(keyOf(definition))
      const seen = {
        hash: definition.hash,
        content: definition.content,
        at,
        ...(revision !== undefined && { revisions: [revision] }),
      }
      if (row === undefined) {
        const pinned = isFirst(definition.name) && !isDangerous(definition)
        rows.push({ what, name: definition.name, seen, listed: true, ...(pinned && { agreed: seen }) })
      } else if (
        row.agreed !== undefined &&
        isAgreed(row, definition, revision) &&
        !(addsMembers(row.agreed, definition, revision) && isDangerous(definition))
      ) {
        const agreed = withRevision(row.agreed, definition, revision)
        if (agreed !== row.agreed || row.seen.hash !== agreed.hash || !row.listed) {
          rows.push({ ...row, agreed, seen: agreed, listed: true })
        }
      } else if (row.seen.hash !== definition.hash) {
        rows.push({ ...row, seen, listed: true })
      } else if (!row.listed) {
        rows.push({ ...row, listed: true })
      }
    }
    for (const name of listedBefore) {
      const row = now.has(name) ? undefined : known.get(keyOf({ what, name }))
      if (row === undefined) continue
      if (isStored(what, row)) removed.push({ ...row, listed: false })
      else forgotten.push({ what, name })
    }
    const changed =
      before === undefined || before.length !== now.size || before.some((name) => !now.has(name))
    if (changed) newNames.push({ key, names: [...now.keys()] })
  }

  const write = (writer: TrustWriter): void => {
    writer.server({ identity, label, at })
    for (const row of [...rows, ...removed]) writer.row(identity, row)
    for (const item of forgotten) writer.remove(identity, item)
    for (const { key, names } of newNames) writer.names(key, names)
  }
  const isUnchanged = rows.length + removed.length + forgotten.length + newNames.length === 0
  return {
    identity,
    rows,
    removed: removed.map(({ what, name }) => ({ what, name })),
    write: isUnchanged ? undefined : write,
  }
}

/** Whether a removed definition stays stored: those with a decision do, except resources, which change often. */
function isStored(what: DefinitionKind, row: TrustRow): boolean {
  return what !== 'resource' && (row.agreed !== undefined || row.blocked !== undefined)
}
