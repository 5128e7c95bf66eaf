import { McpError } from '@jackfield/sdk'
import { FixableError } from '../shared/failures.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import type { ServerConfig } from '../types/index.ts'
import { parseConfig } from './config.ts'
import { readDocument } from './document.ts'
import { type Edit, editText, replaceFile, textOfFile } from './edit.ts'

/** The file may contain literal secrets. */
const ownerOnlyMode = 0o600

/** The servers of the user's own configuration. */
export async function ownServers(file: string): Promise<Record<string, ServerConfig>> {
  const text = (await textOfFile(file)) ?? ''
  return text.trim() === '' ? {} : parseConfig(text, { file, layer: 'user' }).servers
}

/**
 * Adds servers to the user's own configuration; comments and formatting are kept.
 * @throws McpError 'CONFLICT' if a name exists; nothing is written then
 */
export async function addServers(
  file: string,
  servers: Readonly<Record<string, ServerConfig>>,
): Promise<void> {
  const currentServers = await ownServers(file)
  const existing = Object.keys(servers).find((name) => Object.hasOwn(currentServers, name))
  if (existing !== undefined) {
    throw new FixableError(
      'CONFLICT',
      `${file} has a server "${oneLine(existing)}" already. Choose another name, or uninstall that one first`,
      [{ action: 'uninstall', server: existing }],
    )
  }
  await replaceFile(file, withServers((await textOfFile(file)) ?? '', file, servers), ownerOnlyMode)
}

/**
 * Removes a server from the user's own configuration, and returns its entry.
 * @throws McpError 'NOT_FOUND' if there is none with that name
 */
export async function removeServer(file: string, name: string): Promise<ServerConfig> {
  const servers = await ownServers(file)
  const config = servers[name]
  if (config === undefined) {
    const names = Object.keys(servers).map((one) => oneLine(one))
    const availableText = names.length === 0 ? 'It has none' : `It has: ${names.join(', ')}`
    throw new McpError('NOT_FOUND', `${file} has no server "${oneLine(name)}". ${availableText}.`)
  }
  const text = (await textOfFile(file)) ?? ''
  await replaceFile(
    file,
    editText(text, file, [{ path: ['mcpServers', name], value: undefined }]),
    ownerOnlyMode,
  )
  return config
}

/** Adds servers, and the inputs that they use, to the text of a configuration. */
export function withServers(
  text: string,
  file: string,
  servers: Readonly<Record<string, ServerConfig>>,
): string {
  const inputs = text.trim() === '' ? [] : readDocument(text, file).value['inputs']
  const known = new Set(
    (Array.isArray(inputs) ? inputs : []).map((one: unknown) => isRecord(one) && one['id']),
  )
  const edits: Edit[] = []
  for (const [name, { from, ...entry }] of Object.entries(servers)) {
    edits.push({ path: ['mcpServers', name], value: entry })
    for (const input of from?.inputs ?? []) {
      if (!known.has(input.id))
        edits.push({ path: ['inputs', -1], value: { type: 'promptString', ...input } })
      known.add(input.id)
    }
  }
  return editText(text, file, edits)
}
