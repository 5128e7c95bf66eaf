import { McpError } from '@jackfield/sdk'
import { partsOf } from '../../config/variables.ts'
import { oneLine } from '../../shared/text.ts'
import type { NeededValue, ServerConfig } from '../../types/index.ts'

/** The text that stands in a configuration for a value: the name of the secret it is kept as, or the value itself. */
export function standIn(need: NeededValue, value: string): string {
  if (need.secret !== undefined) return `\${secret:${need.secret}}`
  const read = partsOf(value)
  if ('parts' in read && read.parts.every(({ kind }) => kind === 'text')) return value
  throw new McpError('INVALID', `The value of "${oneLine(need.id)}" reads like a variable: ${oneLine(value)}`)
}

/**
 * What was given for a value, or its default.
 * @throws McpError 'INVALID' where it is missing or does not fit
 */
export function given(
  need: NeededValue,
  values: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const { id, required, options, kind, multiple = false, min, max } = need
  const own = Object.hasOwn(values, id) ? (values[id] ?? []) : []
  const all = own.length > 0 ? own : need.default === undefined ? [] : [need.default]
  const fail = (why: string): never => {
    throw new McpError('INVALID', `"${oneLine(id)}" ${why}`)
  }
  if (all.length === 0) return required ? fail('is needed. Give it with --set, or in a terminal') : []
  if (all.length > 1 && !multiple) fail('takes one value')
  for (const value of all) {
    if (options !== undefined && !options.includes(value)) fail(`must be one of ${options.join(', ')}`)
    if (kind === 'boolean' && value !== 'true' && value !== 'false') fail('must be true or false')
    if (kind !== 'number') continue
    const number = Number(value)
    if (value.trim() === '' || !Number.isFinite(number)) fail('must be a number')
    if (min !== undefined && number < min) fail(`must be at least ${min}`)
    if (max !== undefined && number > max) fail(`must be at most ${max}`)
  }
  return all
}

/** The command line as it would be run, or the address. */
export function commandOf(config: ServerConfig): string {
  if ('url' in config) return config.url
  return [config.command, ...(config.args ?? [])].map(quoted).join(' ')
}

/** A server with every one of its texts replaced. */
export function mapTexts(config: ServerConfig, text: (given: string) => string): ServerConfig {
  const record = (all: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, text(value)]))
  if ('url' in config) {
    const { url, headers } = config
    return { ...config, url: text(url), ...(headers !== undefined && { headers: record(headers) }) }
  }
  const { args, env } = config
  return {
    ...config,
    command: text(config.command),
    ...(args !== undefined && { args: args.map(text) }),
    ...(env !== undefined && { env: record(env) }),
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
