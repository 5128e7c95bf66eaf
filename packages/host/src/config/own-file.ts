import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { FixableError } from '../shared/failures.ts'
import { libraries } from '../shared/libraries.ts'
import { oneLine } from '../shared/text.ts'
import type { ConfigInput, ServerConfig } from '../types/index.ts'
import { parseConfig } from './config.ts'

/** Names of the servers in the person's own configuration. */
export async function ownServers(file: string): Promise<Record<string, ServerConfig>> {
  const text = await textOf(file)
  return text.trim() === '' ? {} : parseConfig(text, { file, layer: 'user' }).servers
}

/**
 * Adds a server to the person's own configuration; comments and everything else stay.
 * @throws McpError 'INVALID' where it has one of that name
 */
export async function addServer(file: string, name: string, config: ServerConfig): Promise<void> {
  if (Object.hasOwn(await ownServers(file), name)) {
    throw new FixableError(
      'INVALID',
      `${file} has a server "${oneLine(name)}" already. Choose another name, or uninstall that one first`,
      [{ action: 'uninstall', server: name }],
    )
  }
  await replace(file, withServers(await textOf(file), { [name]: config }))
}

/**
 * Takes a server out of the person's own configuration, and gives what stood there.
 * @throws McpError 'INVALID' where it has none of that name
 */
export async function removeServer(file: string, name: string): Promise<ServerConfig> {
  const servers = await ownServers(file)
  const config = servers[name]
  if (config === undefined) {
    const names = Object.keys(servers).map((one) => oneLine(one))
    const others = names.length === 0 ? 'It names none' : `It names: ${names.join(', ')}`
    throw new McpError('INVALID', `${file} has no server "${oneLine(name)}". ${others}.`)
  }
  const text = await textOf(file)
  const { applyEdits, modify } = libraries.jsonc
  const formattingOptions = { insertSpaces: true, tabSize: 2 }
  await replace(file, applyEdits(text, modify(text, ['mcpServers', name], undefined, { formattingOptions })))
  return config
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = join(dirname(file), `.config.${process.pid}.json`)
  await writeFile(draft, text, { mode: 0o600 })
  await rename(draft, file)
  await chmod(file, 0o600)
}

const formattingOptions = { insertSpaces: true, tabSize: 2 }

/** The text of the person's own configuration with more servers in it; comments and everything else stay. */
export function withServers(text: string, servers: Readonly<Record<string, ServerConfig>>): string {
  const { applyEdits, modify } = libraries.jsonc
  let whole = text.trim() === '' ? '{\n  "mcpServers": {}\n}\n' : text
  for (const [name, { from, ...entry }] of Object.entries(servers)) {
    whole = applyEdits(whole, modify(whole, ['mcpServers', name], entry, { formattingOptions }))
    for (const input of from?.inputs ?? []) whole = withInput(whole, input)
  }
  return whole
}

function withInput(text: string, input: ConfigInput): string {
  if (text.includes(`"id": ${JSON.stringify(input.id)}`)) return text
  const { applyEdits, modify } = libraries.jsonc
  const item = { type: 'promptString', ...input }
  return applyEdits(text, modify(text, ['inputs', -1], item, { formattingOptions, isArrayInsertion: true }))
}
