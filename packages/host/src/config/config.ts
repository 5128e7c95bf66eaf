import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isRecord } from '../json.ts'
import type { ServerConfig } from '../types/index.ts'
import type { ConfigEnvironment } from './expand.ts'
import { type JackfieldSection, readSection } from './jackfield-section.ts'
import { ConfigError, type ConfigProblem, member } from './problem.ts'
import { createReader, kindOf } from './reader.ts'
import { readServer } from './server-entry.ts'

/** A config as the host can use it: variables expanded, unusable entries left out and told of. */
export interface HostConfig extends JackfieldSection {
  servers: Record<string, ServerConfig>
  problems: ConfigProblem[]
}

/** Where a configuration comes from, for messages, relative folders and variables. */
export interface ConfigOptions {
  /** Names the text in messages; folders of roots are relative to where it lies. */
  file?: string
  /** Where variables are looked up. Default `process.env`. */
  env?: ConfigEnvironment
}

/** Reads a config file. The file is never written. Throws a ConfigError as `parseConfig` does. */
export async function loadConfig(
  file: string,
  options: Omit<ConfigOptions, 'file'> = {},
): Promise<HostConfig> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const reason =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EISDIR'
          ? 'this is a folder'
          : `cannot be read (${code})`
    throw new ConfigError(file, `${reason}. Name a file with "mcpServers" in it.`)
  }
  return parseConfig(text, { ...options, file })
}

/**
 * Reads the field's own form: `{ "mcpServers": { name: { command, args, env, cwd } | { url, headers } } }`, with
 * `disabled` per server and an optional `jackfield` section.
 *
 * An entry that cannot be used is left out and told of in `problems`; the others stand. Throws a ConfigError where
 * nothing can be made of the text, and where any part of the policy cannot be followed, since the rest alone might
 * allow what the whole forbids.
 */
export function parseConfig(text: string, options: ConfigOptions = {}): HostConfig {
  const file = options.file ?? 'config'
  const env = options.env ?? process.env
  const document = parse(text, file)
  const problems: ConfigProblem[] = []
  const top = createReader({ file, env, problems })

  const entries = top.record(document['mcpServers'], 'mcpServers') ?? {}
  if (document['mcpServers'] === undefined && document['jackfield'] === undefined) {
    const hint = isRecord(document['servers']) ? ' Rename "servers" to "mcpServers".' : ''
    top.problem('mcpServers', `is missing, so there are no servers.${hint}`)
  }
  const servers = Object.entries(entries).flatMap(([name, entry]) => {
    const path = member('mcpServers', name)
    if (name.trim() === '') {
      top.problem(path, 'needs a name')
      return []
    }
    const config = readServer(entry, path, { file, env, problems })
    return config === undefined ? [] : [[name, config] as const]
  })

  const folder = options.file === undefined ? process.cwd() : dirname(resolve(options.file))
  const policyProblems: ConfigProblem[] = []
  const policy = createReader({ file, env, problems: policyProblems })
  const section = readSection(document['jackfield'], 'jackfield', folder, policy, top)
  if (policyProblems.length > 0) {
    const told = policyProblems.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw new ConfigError(file, `the policy cannot be followed in full: ${told}`, policyProblems)
  }
  return { servers: Object.fromEntries(servers), ...section, problems }
}

function parse(text: string, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    // The parser's own message quotes the text around the mistake, which may be a secret.
    const told = error instanceof Error ? error.message : ''
    const place = /\(line \d+ column \d+\)/.exec(told) ?? /at position \d+/.exec(told)
    throw new ConfigError(
      file,
      `is not valid JSON${place === null ? '' : ` ${place[0]}`}. Comments and trailing commas are not allowed.`,
    )
  }
  if (!isRecord(value))
    throw new ConfigError(file, `must hold an object with "mcpServers", not ${kindOf(value)}`)
  return value
}
