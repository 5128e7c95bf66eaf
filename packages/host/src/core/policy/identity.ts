import type { Tool } from '@jackfield/sdk'
import { fingerprint } from '../../shared/fingerprint.ts'
import { oneLine } from '../../shared/text.ts'
import type { ServerConfig } from '../../types/index.ts'

const maxOriginCharacters = 400

/**
 * The identity of a server, independent of its name: its command with the names of its variables, or its address. Grants belong
 * to the identity, so another program with the same name does not get them.
 */
export function serverIdentity(config: ServerConfig): string {
  if ('url' in config) return fingerprint({ url: config.url })
  return fingerprint({
    command: config.command,
    args: config.args ?? [],
    env: Object.keys(config.env ?? {}).sort(),
    cwd: config.cwd ?? null,
  })
}

/** The identity of a server for display: its command line, or its address. */
export function serverOrigin(config: ServerConfig): string {
  const text = 'url' in config ? config.url : [config.command, ...(config.args ?? [])].join(' ')
  return oneLine(text).slice(0, maxOriginCharacters)
}

/** By tool object, since a list keeps its tools until it is fetched again. */
const definitions = new WeakMap<Tool, string>()

/** The tool definition as users and models see it. Any change makes it a different tool for grants. */
export function toolDefinition(tool: Tool): string {
  const known = definitions.get(tool)
  if (known !== undefined) return known
  const definition = fingerprint({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.inputSchema,
    outputSchema: tool.outputSchema,
    annotations: tool.annotations,
    icons: tool.icons,
  })
  definitions.set(tool, definition)
  return definition
}
