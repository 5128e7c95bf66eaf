import { readJson } from '../../jsonrpc/exact-json.ts'
import type { JsonObject, JsonRpcErrorObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { revisions } from '../../protocol/revisions.ts'
import type { InputRequests, Question } from '../../protocol/server-requests.ts'
import type { Exchange, Peer } from '../../request/exchange.ts'
import { answerTo } from '../../request/input-responses.ts'
import { defined } from '../../request/object-members.ts'
import { emptyJournal, type Journal } from '../../request/state.ts'
import type { NewTask, TaskRow, TaskUpdate } from './store.ts'

/** The status of a task; the last three are final. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface OpenQuestion {
  /** Its key in the journal, which may be reused; its key on the wire is not. */
  readonly name: string
  readonly question: Question
}

/** The peer that created a task, as stored. */
interface StoredPeer extends Omit<Peer, 'revision' | 'scopes' | 'logLevel' | 'info'> {
  readonly version: ProtocolVersion
  readonly scopes: readonly string[] | 'any'
  readonly info?: Peer['info']
}

export interface TaskProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

interface TaskBody {
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** The latest progress of its handler. */
  readonly progress?: TaskProgress
  /** When a client could last see a change; 0 for none since its creation. In milliseconds since 1970. */
  readonly updatedAt: number
  /** How often its process ended unexpectedly. */
  readonly takeovers: number
  /** How often its handler asked to be repeated; absent for never. */
  readonly retries?: number
  readonly params: JsonObject
  readonly peer: StoredPeer
  readonly journal: Journal
  /** Answers to the journal's last questions, by journal key. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Open questions, by wire key. */
  readonly questions: Readonly<Record<string, OpenQuestion>>
  /** Every wire key used so far. */
  readonly keys: readonly string[]
  readonly result?: JsonObject
  readonly error?: JsonRpcErrorObject
}

/** A task. Immutable: changes create a new record. */
export interface TaskRecord extends Omit<TaskRow, 'body'>, TaskBody {}

/** The initial data of a task. */
interface TaskOrigin extends Omit<NewTask, 'owner' | 'body'> {
  readonly exchange: Exchange
  /** The journal of the request before it became a task. */
  readonly journal: Journal | undefined
}

export function newTask({ exchange, journal, ...task }: TaskOrigin): NewTask {
  const { requestState: _state, inputResponses: _responses, task: _task, ...params } = exchange.params
  const body: TaskBody = {
    status: 'working',
    updatedAt: 0,
    takeovers: 0,
    params,
    peer: storedPeer(exchange.peer),
    journal: journal ?? emptyJournal(),
    answers: {},
    questions: {},
    keys: [],
  }
  return { ...task, owner: ownerOf(exchange.peer), body: JSON.stringify(body) }
}

/** The owner of a peer's tasks: its principal, the local user, or an anonymous network address, which only counts for quotas. */
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

/** Whether tasks of this owner are accessible by their ids alone. */
export function isAnonymous(owner: string): boolean {
  return owner === anonymous || owner.startsWith(`${anonymous} `)
}

/** Whether a peer may access a task: the same owner, or any anonymous peer for an anonymous task. */
export function canSee(peer: Peer, { owner }: Pick<TaskRecord, 'owner'>): boolean {
  const peerOwner = ownerOf(peer)
  return owner === peerOwner || (isAnonymous(owner) && isAnonymous(peerOwner))
}

function storedPeer({ principal, scopes, clientId, claims, revision, capabilities, info }: Peer): StoredPeer {
  return {
    principal,
    scopes: scopes === 'any' ? 'any' : [...scopes],
    claims,
    capabilities,
    version: revision.version,
    ...defined({ clientId, info }),
  }
}

export function peerOf({ peer: { version, scopes, info, ...rest } }: TaskRecord): Peer {
  return {
    ...rest,
    scopes: scopes === 'any' ? 'any' : new Set(scopes),
    revision: revisions[version],
    info,
    logLevel: undefined,
  }
}

export function isFinal({ status }: Pick<TaskRecord, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** A task without the data only a running one needs. */
function finished({ params: { name }, ...record }: TaskRecord): TaskRecord {
  return { ...record, running: false, params: { name }, journal: emptyJournal(), answers: {}, questions: {} }
}

export function completed(record: TaskRecord, result: JsonObject): TaskRecord {
  const { statusMessage: _message, ...rest } = finished(record)
  return { ...rest, status: 'completed', result }
}

export function failed(record: TaskRecord, error: JsonRpcErrorObject): TaskRecord {
  return { ...finished(record), status: 'failed', statusMessage: error.message, error }
}

export function cancelled(record: TaskRecord): TaskRecord {
  return { ...finished(record), status: 'cancelled', statusMessage: 'Cancelled by request' }
}

/** Stores the handler's questions under wire keys that were not used before. Without questions it runs again at once. */
export function withQuestions(record: TaskRecord, requests: InputRequests, journal: Journal): TaskRecord {
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
 * Adds answers to open questions, ignoring others. Once none is open, the task runs again.
 * @throws RpcError -32602 for an answer that does not match its question
 */
export function withAnswers(record: TaskRecord, responses: JsonObject): TaskRecord | undefined {
  const open = Object.entries(record.questions)
  const matching = open.filter(([key]) => Object.hasOwn(responses, key))
  if (record.status !== 'input_required' || matching.length === 0) return undefined
  const accepted = matching.map(([key, { name, question }]): [string, unknown] => [
    name,
    answerTo(question, responses[key], key),
  ])
  const remaining = open.filter(([key]) => !Object.hasOwn(responses, key))
  return {
    ...record,
    answers: Object.fromEntries([...Object.entries(record.answers), ...accepted]),
    questions: Object.fromEntries(remaining),
    ...(remaining.length === 0 ? { status: 'working', running: true } : {}),
  }
}

/** A change of a task, and how long it is held from now on. */
export interface TaskEdit extends TaskRecord {
  readonly holdMs?: number
}

/** The next version of a task in its stored form. */
export function toUpdate(edit: TaskEdit): TaskUpdate {
  const { id, version, running, holder, holdMs } = edit
  return { id, version: version + 1, running, holder, holdMs, body: bodyOf(edit) }
}

/** The part of a task that is stored as JSON. */
export function bodyOf(edit: TaskEdit): string {
  const {
    id: _id,
    version: _version,
    owner: _owner,
    createdAt: _createdAt,
    expiresAt: _expiresAt,
    running: _running,
    holder: _holder,
    heldUntil: _heldUntil,
    holdMs: _holdMs,
    ...body
  } = edit
  return JSON.stringify(body)
}

/** @throws TypeError for a row with an unknown format */
export function fromRow({ body, ...row }: TaskRow): TaskRecord {
  const parsed: unknown = readJson(body)
  if (!isBody(parsed)) throw new TypeError(`The stored task ${row.id} has a format this version cannot read`)
  return { ...row, ...parsed, updatedAt: Math.max(parsed.updatedAt, row.createdAt) }
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
