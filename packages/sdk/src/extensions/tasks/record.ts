import { readJson } from '../../jsonrpc/exact-json.ts'
import type { JsonObject, JsonRpcErrorObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { revisions } from '../../protocol/revisions.ts'
import type { InputRequests, Question } from '../../protocol/server-requests.ts'
import type { Exchange, Peer } from '../../request/exchange.ts'
import { answerTo } from '../../request/input-responses.ts'
import { emptyJournal, type Journal } from '../../request/live-run.ts'
import type { TaskRow } from './store.ts'

/** Where a task stands; the last three are final. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A question that waits for its answer. */
export interface OpenQuestion {
  /** Its key in the journal, which may be used again; the key on the wire never is. */
  readonly name: string
  readonly question: Question
}

/** Who asked for a task, as far as its handler may want to know later. */
interface StoredPeer extends Omit<Peer, 'revision' | 'scopes' | 'logLevel' | 'info'> {
  readonly version: ProtocolVersion
  readonly scopes: readonly string[] | 'any'
  readonly info?: Peer['info']
}

/** How far a task got. */
export interface TaskProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

interface TaskBody {
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** The newest progress its handler reported. */
  readonly progress?: TaskProgress
  /** Milliseconds since 1970. */
  readonly updatedAt: number
  /** How often somebody began to work on it after another had let go. */
  readonly takeovers: number
  readonly params: JsonObject
  readonly peer: StoredPeer
  readonly journal: Journal
  /** Answers to the journal's last questions, by their key in it. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Questions that wait for an answer, by their key on the wire. */
  readonly questions: Readonly<Record<string, OpenQuestion>>
  /** Every key that was ever used on the wire. */
  readonly keys: readonly string[]
  readonly result?: JsonObject
  readonly error?: JsonRpcErrorObject
}

/** One task with everything known about it. Changes make a new one. */
export interface TaskRecord extends Omit<TaskRow, 'body'>, TaskBody {}

export interface NewTask {
  readonly id: string
  readonly exchange: Exchange
  readonly holder: string
  readonly heldUntil: number
  readonly ttlMs: number
  /** What the request remembers from before it became a task. */
  readonly journal?: Journal | undefined
}

export function newRecord({ id, exchange, holder, heldUntil, ttlMs, journal }: NewTask): TaskRecord {
  const now = Date.now()
  const { requestState: _state, inputResponses: _responses, task: _task, ...params } = exchange.params
  return {
    id,
    version: 1,
    owner: ownerOf(exchange.peer),
    createdAt: now,
    expiresAt: now + ttlMs,
    running: true,
    holder,
    heldUntil,
    status: 'working',
    updatedAt: now,
    takeovers: 0,
    params,
    peer: stored(exchange.peer),
    journal: journal ?? emptyJournal(),
    answers: {},
    questions: {},
    keys: [],
  }
}

/**
 * Whose tasks a peer's are: its principal's; those of the one who owns both ends; or, without either, those of its network
 * address, which limits how many there are and nothing else.
 */
export function ownerOf({
  principal,
  scopes,
  quotaKey,
}: Pick<Peer, 'principal' | 'scopes' | 'quotaKey'>): string {
  if (principal !== null) return `principal:${principal}`
  if (scopes === 'any') return 'local'
  return quotaKey === undefined ? anonymous : `${anonymous} ${quotaKey}`
}

const anonymous = 'nobody'

/** Whether tasks of this owner are found by their ids alone, since the caller was not authenticated. */
export function isAnonymous(owner: string): boolean {
  return owner === anonymous || owner.startsWith(`${anonymous} `)
}

/** Whether a peer may see a task: the same principal; the one who owns both ends; or, without either, every peer that has the id. */
export function maySee(peer: Peer, { owner }: Pick<TaskRecord, 'owner'>): boolean {
  const own = ownerOf(peer)
  return owner === own || (isAnonymous(owner) && isAnonymous(own))
}

function stored({ principal, scopes, clientId, claims, revision, capabilities, info }: Peer): StoredPeer {
  return {
    principal,
    scopes: scopes === 'any' ? 'any' : [...scopes],
    claims,
    capabilities,
    version: revision.version,
    ...(clientId === undefined ? {} : { clientId }),
    ...(info === undefined ? {} : { info }),
  }
}

/** The peer a task's handler sees. */
export function peerOf({ peer: { version, scopes, info, ...rest } }: TaskRecord): Peer {
  return {
    ...rest,
    scopes: scopes === 'any' ? 'any' : new Set(scopes),
    revision: revisions[version],
    info,
    logLevel: undefined,
  }
}

export function isOver({ status }: Pick<TaskRecord, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** A task without what only one that still runs needs. */
function spent({ params: { name }, ...record }: TaskRecord): TaskRecord {
  return { ...record, running: false, params: { name }, journal: emptyJournal(), answers: {}, questions: {} }
}

export function completed(record: TaskRecord, result: JsonObject): TaskRecord {
  const { statusMessage: _message, ...rest } = spent(record)
  return { ...rest, status: 'completed', result }
}

export function failed(record: TaskRecord, error: JsonRpcErrorObject): TaskRecord {
  return { ...spent(record), status: 'failed', statusMessage: error.message, error }
}

export function cancelled(record: TaskRecord): TaskRecord {
  return { ...spent(record), status: 'cancelled', statusMessage: 'Cancelled by request' }
}

/**
 * The handler asked and was left behind: its questions wait, each under a key this task never used before. One that
 * only put something by goes on at once.
 */
export function asked(record: TaskRecord, requests: InputRequests, journal: Journal): TaskRecord {
  const keys = new Set(record.keys)
  const questions = Object.entries(requests).map(([name, question]): [string, OpenQuestion] => {
    let key = name
    for (let n = 2; keys.has(key); n++) key = `${name}_${n}`
    keys.add(key)
    return [key, { name, question }]
  })
  return {
    ...record,
    ...(questions.length === 0 ? {} : { status: 'input_required', running: false }),
    journal,
    answers: {},
    questions: Object.fromEntries(questions),
    keys: [...keys],
  }
}

/**
 * Takes answers to open questions; others are left alone. Once none is open, the task goes on.
 * @throws RpcError -32602 for an answer that does not fit its question
 */
export function answered(record: TaskRecord, responses: JsonObject): TaskRecord | undefined {
  const open = Object.entries(record.questions)
  const fit = open.filter(([key]) => Object.hasOwn(responses, key))
  if (record.status !== 'input_required' || fit.length === 0) return undefined
  const taken = fit.map(([key, { name, question }]): [string, unknown] => [
    name,
    answerTo(question, responses[key], key),
  ])
  const left = open.filter(([key]) => !Object.hasOwn(responses, key))
  return {
    ...record,
    answers: Object.fromEntries([...Object.entries(record.answers), ...taken]),
    questions: Object.fromEntries(left),
    ...(left.length === 0 ? { status: 'working', running: true } : {}),
  }
}

export function toRow(record: TaskRecord): TaskRow {
  const { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, ...body } = record
  return {
    id,
    version,
    owner,
    createdAt,
    expiresAt,
    running,
    holder,
    heldUntil,
    body: JSON.stringify(body),
  }
}

/** @throws TypeError for a row this extension did not write */
export function fromRow({ body, ...row }: TaskRow): TaskRecord {
  const parsed: unknown = readJson(body)
  if (!isBody(parsed)) throw new TypeError(`The stored task ${row.id} is not one this version can read`)
  return { ...row, ...parsed }
}

function isBody(value: unknown): value is TaskBody {
  return (
    isObject(value) &&
    typeof value['status'] === 'string' &&
    isObject(value['params']) &&
    isObject(value['journal']) &&
    isObject(value['questions']) &&
    isObject(value['peer']) &&
    typeof value['peer']['version'] === 'string' &&
    Object.hasOwn(revisions, value['peer']['version'])
  )
}
