import { isRecord, type JsonRecord } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'

/** Members that other products use for themselves and that do not affect the server. */
const ignoredFields = new Set([
  'name',
  'description',
  'icon',
  'icons',
  'iconPath',
  'gallery',
  'version',
  'id',
  'source',
  'registry',
  '$schema',
])
const unchangedFields = [
  'command',
  'cwd',
  'envFile',
  'disabled',
  'type',
  'era',
  'lazy',
  'connectTimeoutMs',
  'callTimeoutMs',
  'sleepAfterMs',
]
const jackfieldFields = ['roots', 'labels', 'extends']
const approvalFields = new Set([
  'autoApprove',
  'alwaysAllow',
  'trust',
  'approvalMode',
  'default_tools_approval_mode',
])

/** The unit of `timeout` in a file: seconds in some products, milliseconds in most. */
export type TimeoutUnit = 'seconds' | 'milliseconds'

/** Parses an entry of `mcpServers`, in all forms used by products. */
export function entryDraft(
  name: string,
  entry: unknown,
  path: Path,
  timeoutUnit: TimeoutUnit = 'milliseconds',
): Draft {
  const draft = new Draft(name, path)
  if (!isRecord(entry)) return draft.addError(path, notAnEntry(entry))
  for (const [key, value] of Object.entries(entry))
    readEntry(draft, key, value, [...path, key], timeoutUnit, entry)
  return draft
}

/** The error message for an entry that is no object. */
export function notAnEntry(value: unknown): string {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
  return `must be an object with "command" or "url", not ${kind}`
}

function readEntry(
  draft: Draft,
  key: string,
  value: unknown,
  from: Path,
  timeoutUnit: TimeoutUnit,
  entry: JsonRecord,
): void {
  if (key === 'sandbox') readSandbox(draft, value, from)
  else if (unchangedFields.includes(key) || jackfieldFields.includes(key)) draft.set(key, value, from)
  else if (key === 'args') readList(draft, 'args', value, from)
  else if (key === 'env' || key === 'headers') draft.group(key, value, from)
  // With several of these present, Gemini's own reader uses httpUrl.
  else if (key === 'url' || key === 'serverUrl' || key === 'httpUrl') draft.set('url', value, from)
  else if (key === 'transport' || key === 'transportType') {
    if (typeof value === 'string') draft.set('type', value, from)
    else draft.addWarning(from, unusedField)
  } else if (key === 'enabled') draft.set('disabled', typeof value === 'boolean' ? !value : value, from)
  else if (key === 'timeout') {
    const ms = typeof value === 'number' && timeoutUnit === 'seconds' ? Math.round(value * 1000) : value
    if (value !== 0) draft.set('callTimeoutMs', ms, from)
  } else if (key === 'tools') readTools(draft, value, from)
  else if (key === 'includeTools' || key === 'enabledTools') draft.setIn('tools', 'only', value, from)
  else if (key === 'excludeTools' || key === 'disabledTools') {
    if (!Array.isArray(value) || value.length > 0) draft.setIn('tools', 'without', value, from)
  } else if (key === 'auth' || key === 'oauth') readAuth(draft, value, from)
  else if (approvalFields.has(key))
    draft.addWarning(from, 'is not used: calls are asked about here, or allowed by your rules')
  else if (!ignoredFields.has(key) && !(key === 'alwaysLoad' && alwaysLoad(draft, entry[key], from)))
    draft.addWarning(from, unusedField)
}

/** The warning for a member that has no effect. */
export const unusedField = 'is not used by Jackfield'

function readList(draft: Draft, name: string, value: unknown, from: Path): void {
  if (!Array.isArray(value) || value.length === 0) draft.set(name, value, from)
  else for (const [index, item] of value.entries()) draft.add(name, item, [...from, index])
}

/** `{ read, write, network }`, or VS Code's `{ filesystem: { allowWrite }, network: { allowedDomains } }`. */
function readSandbox(draft: Draft, value: unknown, from: Path): void {
  if (!isRecord(value) || (!isRecord(value['filesystem']) && !isRecord(value['network']))) {
    draft.set('sandbox', value, from)
    return
  }
  const { filesystem, network } = value
  if (isRecord(filesystem)) {
    draft.setIn('sandbox', 'read', filesystem['allowRead'], [...from, 'filesystem', 'allowRead'])
    draft.setIn('sandbox', 'write', filesystem['allowWrite'], [...from, 'filesystem', 'allowWrite'])
  }
  if (isRecord(network))
    draft.setIn('sandbox', 'network', network['allowedDomains'], [...from, 'network', 'allowedDomains'])
}

/** `{ only, without, always }`, or a plain list of names, where `*` means all of them. */
function readTools(draft: Draft, value: unknown, from: Path): void {
  if (!Array.isArray(value)) draft.group('tools', value, from)
  else if (!value.includes('*')) draft.setIn('tools', 'only', value, from)
}

function alwaysLoad(draft: Draft, value: unknown, from: Path): boolean {
  if (value === true) draft.setIn('tools', 'always', ['*'], from)
  return typeof value === 'boolean'
}

const authNames: Readonly<Record<string, string>> = {
  clientId: 'clientId',
  CLIENT_ID: 'clientId',
  client_id: 'clientId',
  clientSecret: 'clientSecret',
  CLIENT_SECRET: 'clientSecret',
  client_secret: 'clientSecret',
  scopes: 'scopes',
  scope: 'scopes',
}

function readAuth(draft: Draft, value: unknown, from: Path): void {
  if (!isRecord(value)) {
    if (value !== true) draft.set('auth', value, from)
    return
  }
  if (value['enabled'] === false) {
    draft.set('auth', false, [...from, 'enabled'])
    return
  }
  for (const [key, item] of Object.entries(value)) {
    const name = Object.hasOwn(authNames, key) ? authNames[key] : undefined
    const scopes = name === 'scopes' && typeof item === 'string' ? item.split(/\s+/).filter(Boolean) : item
    if (name !== undefined) draft.setIn('auth', name, scopes, [...from, key])
    else if (key !== 'enabled') draft.addWarning([...from, key], unusedField)
  }
}

/** The content of a file, in one form for all formats. */
export interface ReadServers {
  drafts: Draft[]
  inputs: ConfigInput[]
  /** A problem with the whole file. */
  problems: { path: Path; severity: 'error' | 'warning'; message: string }[]
}

/** The content of a file that has only servers by name. */
export function serversByName(
  servers: unknown,
  draftOf: (name: string, entry: unknown) => Draft,
): ReadServers {
  const entries = isRecord(servers) ? Object.entries(servers) : []
  return { drafts: entries.map(([name, entry]) => draftOf(name, entry)), inputs: [], problems: [] }
}

/** A configuration file format. */
export interface ConfigFormat {
  /** The product, or the key that identifies the format. */
  readonly name: string
  /** Whether a document has this format. */
  matches(document: JsonRecord, file: string): boolean
  /** The content that applies to this working folder. Values are not validated here. */
  read(document: JsonRecord, file: string, workspace: string): ReadServers
}
