import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { defined } from '@jackfield/sdk/internal'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import { matchesGlob } from '../shared/text.ts'
import type {
  ConfigInput,
  ConfigLayer,
  ConfigProblem,
  FieldOrigin,
  ServerConfig,
  ServerOrigin,
} from '../types/index.ts'
import { type ConfigDocument, readDocument } from './document.ts'
import { Draft } from './draft.ts'
import { entryDraft } from './formats/entry.ts'
import { formOf, type ReadServers } from './formats/index.ts'
import { type JackfieldSection, readSection } from './jackfield-section.ts'
import { ConfigError, createReader, kindOf, member, pathOf, pathText, type Reader } from './reader.ts'
import {
  readAddition,
  readServer,
  type ServerAddition,
  type ServerReading,
  withAddition,
} from './server-entry.ts'
import { type ConfigEnvironment, fromEnvironment, partsOf } from './variables.ts'

/** A parsed configuration: unusable entries are left out and reported. Variables of servers are not expanded. */
export interface HostConfig extends JackfieldSection {
  /** The servers of the configuration, by name. */
  servers: Record<string, ServerConfig>
  /** The source of each server, by name. */
  origins: Record<string, ServerOrigin>
  /** The source of each global setting of the `jackfield` section: `limits.callTimeoutMs`, `log.days`. */
  settings: FieldOrigin[]
  /** The named profiles of the file; `ConfigOptions` chooses one. */
  profiles: Record<string, Profile>
  /** Additions of `jackfield.servers` to servers, also to those of other files. */
  additions: Record<string, ServerAddition>
  /** Problems of entries that were left out, and warnings. */
  problems: ConfigProblem[]
}

/** The source of a configuration: for messages, relative folders and variables. */
export interface ConfigOptions {
  /** File name for messages; its extension selects the format (`.json`, `.jsonc`, `.toml`, `.yaml`). */
  file?: string
  /** Environment for variables of the `jackfield` section. Default `process.env`. */
  env?: ConfigEnvironment
  /** Trust level of the file. Default `named`. */
  layer?: ConfigLayer
  /** Value of `${workspaceFolder}`. Default: the folder the file belongs to. */
  workspace?: string
  /** Value of `${userHome}` and `~`. Default: the user's home folder. */
  home?: string
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
 * Parses the common form, `{ "mcpServers": { name: { command, args, env, cwd } | { url, headers } } }` with an optional
 * `jackfield` section, and the forms of other applications: VS Code, Codex, Goose, Zed, OpenCode and `server.json`.
 *
 * An unusable entry is left out and reported in `problems`; the others remain. Throws a ConfigError if the text cannot be parsed,
 * or if any part of the policy is invalid, since the rest alone might allow what the whole forbids.
 */
export function parseConfig(text: string, options: ConfigOptions = {}): HostConfig {
  const file = options.file ?? 'config'
  const env = options.env ?? process.env
  const document = readDocument(text, file)
  const problems: ConfigProblem[] = []
  const folder = options.file === undefined ? process.cwd() : dirname(resolve(options.file))
  const workspace = options.workspace ?? workspaceOf(folder)
  const folders = { workspace, home: options.home ?? homedir() }
  const now = { env, folders, foreign: options.layer === 'project' }
  const reading: ServerReading = { file, folder, problems, now }
  const source = {
    file: options.file === undefined ? file : resolve(options.file),
    layer: options.layer ?? ('named' as const),
    workspace,
  }

  const form = formOf(document.value, file)
  const readServers: ReadServers = form?.read(document.value, file, workspace) ?? noServers(document.value)
  for (const { path, severity, message } of readServers.problems)
    problems.push({ file, path: pathText(path), severity, message })
  const drafts = extended(readServers.drafts, reading)
  const servers = new Map<string, ServerConfig>()
  const origins = new Map<string, ServerOrigin>()
  for (const draft of drafts) {
    const config = readServer(draft, reading)
    if (config === undefined) continue
    const inputs = usedInputs(config, readServers.inputs)
    servers.set(draft.name, { ...config, from: { ...source, ...(inputs.length > 0 && { inputs }) } })
    const line = document.lineOf(draft.path)
    origins.set(draft.name, {
      file: source.file,
      format: form?.name ?? 'mcpServers',
      layer: source.layer,
      path: pathText(draft.path),
      ...(line !== undefined && { line }),
      fields: fieldsOf(config, draft, source.file, document),
      overridden: [],
    })
    if (config.disabled !== true) warnUnset(config, draft, env, readServers.inputs, reading)
  }

  const section = readOwn(document, file, folder, problems, now)
  for (const [name, addition] of Object.entries(section.additions)) {
    const config = servers.get(name)
    if (config !== undefined) servers.set(name, withAddition(config, addition))
  }
  for (const problem of problems) {
    const line = document.lineOf(pathOf(problem.path))
    if (line !== undefined) problem.line = line
  }
  return {
    servers: Object.fromEntries(servers),
    origins: Object.fromEntries(origins),
    ...section,
    settings: settingsOf(document, source.file),
    problems,
  }
}

/** The global settings of a file. */
function settingsOf(document: ConfigDocument, file: string): FieldOrigin[] {
  const own = document.value['jackfield']
  const placed = (path: readonly string[]): FieldOrigin => {
    const line = document.lineOf(['jackfield', ...path])
    const field = pathText(path)
    return { field, file, path: pathText(['jackfield', ...path]), ...(line !== undefined && { line }) }
  }
  if (!isRecord(own)) return []
  return [
    ...(own['defaultVerdict'] === undefined ? [] : [placed(['defaultVerdict'])]),
    ...['limits', 'log'].flatMap((name) =>
      Object.keys(isRecord(own[name]) ? own[name] : {}).map((key) => placed([name, key])),
    ),
  ]
}

/** The folder that files such as `.vscode/mcp.json` belong to. */
function workspaceOf(folder: string): string {
  return ['.vscode', '.cursor', '.roo', '.gemini', '.zed', '.codex'].includes(basename(folder))
    ? dirname(folder)
    : folder
}

function noServers(document: JsonRecord): ReadServers {
  const hint = isRecord(document['servers'])
    ? ''
    : ' Known are also the forms of VS Code, Codex, Goose, Zed and OpenCode.'
  const message = `is missing, so there are no servers.${hint}`
  return { drafts: [], inputs: [], problems: [{ path: ['mcpServers'], severity: 'error', message }] }
}

/** Resolves `extends` with the entry of the same file that it names. */
function extended(drafts: Draft[], { file, problems }: ServerReading): Draft[] {
  const byName = new Map(drafts.map((draft) => [draft.name, draft]))
  return drafts.flatMap((draft) => {
    const chain = [draft]
    for (let last: Draft | undefined = draft; last?.has('extends'); ) {
      const base: unknown = last.entry['extends']
      const next: Draft | undefined = typeof base === 'string' ? byName.get(base) : undefined
      if (next === undefined || chain.includes(next)) {
        const message =
          next === undefined
            ? 'must be the name of another server in this file'
            : 'refers to itself, so there is no server to extend'
        problems.push({ file, path: last.at('extends'), severity: 'error', message })
        return []
      }
      chain.push(next)
      last = next
    }
    return [chain.length === 1 ? draft : merged(draft, chain)]
  })
}

/** Variables and headers are merged; everything else is replaced. */
function merged(draft: Draft, chain: readonly Draft[]): Draft {
  const whole = new Draft(draft.name, draft.path)
  for (const part of chain.toReversed()) {
    for (const [key, value] of Object.entries(part.entry)) {
      if (key === 'extends' || (key === 'disabled' && part !== draft)) continue
      if (isRecord(value)) {
        for (const [name, item] of Object.entries(value))
          whole.setIn(key, name, item, part.placeOf([key, name]))
      } else whole.set(key, value, part.placeOf([key]))
    }
    whole.warnings.push(...part.warnings)
    whole.faults.push(...part.faults)
  }
  return whole
}

function usedInputs(config: ServerConfig, inputs: readonly ConfigInput[]): ConfigInput[] {
  const ids = new Set<string>()
  for (const { text } of textsOf(config)) {
    const read = partsOf(text)
    if ('parts' in read) for (const part of read.parts) if (part.kind === 'input') ids.add(part.name)
  }
  return [...ids].map((id) => inputs.find((input) => input.id === id) ?? { id })
}

/** Every text of a server that may contain variables, with its field. */
export function textsOf(config: ServerConfig): { field: (string | number)[]; text: string }[] {
  const texts: { field: (string | number)[]; text: string | undefined }[] =
    'url' in config
      ? [
          { field: ['url'], text: config.url },
          ...Object.entries(config.headers ?? {}).map(([name, text]) => ({ field: ['headers', name], text })),
          ...(config.auth
            ? [
                { field: ['auth', 'clientId'], text: config.auth.clientId },
                { field: ['auth', 'clientSecret'], text: config.auth.clientSecret },
              ]
            : []),
        ]
      : [
          { field: ['command'], text: config.command },
          ...(config.args ?? []).map((text, index) => ({ field: ['args', index], text })),
          ...Object.entries(config.env ?? {}).map(([name, text]) => ({ field: ['env', name], text })),
          { field: ['envFile'], text: config.envFile },
          { field: ['cwd'], text: config.cwd },
        ]
  return texts.flatMap(({ field, text }) => (text === undefined ? [] : [{ field, text }]))
}

function fieldsOf(config: ServerConfig, draft: Draft, file: string, document: ConfigDocument): FieldOrigin[] {
  const { from: _from, ...rest } = config
  return Object.entries(rest).flatMap(([name, value]): FieldOrigin[] => {
    const fields: (string | number)[][] = Array.isArray(value)
      ? value.map((_, index) => [name, index])
      : isRecord(value)
        ? Object.keys(value).map((key) => [name, key])
        : [[name]]
    return fields.map((field) => {
      const path = draft.placeOf(field)
      const line = document.lineOf(path)
      return { field: pathText(field), file, path: pathText(path), ...(line !== undefined && { line }) }
    })
  })
}

/** Reports what would keep the server from starting. */
function warnUnset(
  config: ServerConfig,
  draft: Draft,
  env: ConfigEnvironment,
  inputs: readonly ConfigInput[],
  { file, problems }: ServerReading,
): void {
  for (const { field, text } of textsOf(config)) {
    const read = partsOf(text)
    for (const part of 'parts' in read ? read.parts : []) {
      const unset = part.kind === 'env' ? fromEnvironment(part, env) : undefined
      const message =
        unset !== undefined && 'problem' in unset
          ? unset.problem
          : part.kind === 'input' && !inputs.some(({ id }) => id === part.name)
            ? `${part.written} is not among the "inputs" of this file, so you are asked for it without a description`
            : part.kind === 'secret' && field[0] === 'args'
              ? `${part.written} is in the arguments, which every program can read. Put it into "env" if the server reads it from there`
              : undefined
      if (message !== undefined)
        problems.push({ file, path: draft.at(...field), severity: 'warning', message })
    }
  }
}

function readOwn(
  document: ConfigDocument,
  file: string,
  folder: string,
  problems: ConfigProblem[],
  now: ServerReading['now'],
): JackfieldSection & Pick<HostConfig, 'profiles' | 'additions'> {
  const value = document.value['jackfield']
  const policyProblems: ConfigProblem[] = []
  const policy = createReader({ file, problems: policyProblems, now })
  const other = createReader({ file, problems, now })
  const { profiles, servers, ...rest }: JsonRecord = isRecord(value) ? value : {}
  const section = readSection(isRecord(value) ? rest : value, 'jackfield', folder, policy, other)
  if (policyProblems.length > 0) {
    for (const problem of policyProblems) {
      const line = document.lineOf(pathOf(problem.path))
      if (line !== undefined) problem.line = line
    }
    const reported = policyProblems
      .map(({ path, message, line }) => `${line === undefined ? '' : `line ${line}: `}${path} ${message}`)
      .join('; ')
    throw new ConfigError(file, `the policy is invalid: ${reported}`, policyProblems)
  }
  return {
    ...section,
    profiles: readProfiles(profiles, 'jackfield.profiles', other),
    additions: readAdditions(servers, { file, folder, problems, now }, other),
  }
}

function readAdditions(value: unknown, reading: ServerReading, reader: Reader): HostConfig['additions'] {
  const path = ['jackfield', 'servers']
  if (value !== undefined && !isRecord(value)) {
    reader.problem(member('jackfield', 'servers'), `must be an object, not ${kindOf(value)}`)
    return {}
  }
  return Object.fromEntries(
    Object.entries(value ?? {}).flatMap(([name, entry]) => {
      const addition = readAddition(entryDraft(name, entry, [...path, name]), reading)
      return addition === undefined ? [] : [[name, addition] as const]
    }),
  )
}

/** Selects configured servers by names or globs. */
export interface Profile {
  /** Default: all that are not disabled. A disabled server that is named in full is enabled. */
  servers?: string[]
  /** Names or globs of servers that the profile leaves out. Default none. */
  without?: string[]
}

function readProfiles(value: unknown, path: string, reader: Reader): Record<string, Profile> {
  const entries = reader.record(value, path) ?? {}
  return Object.fromEntries(
    Object.entries(entries).flatMap(([name, item]) => {
      const at = member(path, name)
      const entry = reader.record(item ?? null, at)
      if (entry === undefined) return []
      for (const key of Object.keys(entry)) {
        if (key !== 'servers' && key !== 'without')
          reader.warning(member(at, key), 'is not used. Known are servers, without')
      }
      const servers = reader.texts(entry['servers'], member(at, 'servers'))
      const without = reader.texts(entry['without'], member(at, 'without'))
      return [[name, defined({ servers, without })] as const]
    }),
  )
}

/** Applies a profile: servers outside it are disabled. */
export function inProfile(
  servers: Record<string, ServerConfig>,
  { servers: wanted, without = [] }: Profile,
): Record<string, ServerConfig> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, config]) => {
      const chosen = wanted === undefined || wanted.some((glob) => matchesGlob(glob, name))
      if (!chosen || without.some((glob) => matchesGlob(glob, name)))
        return [name, { ...config, disabled: true }]
      return [name, wanted?.includes(name) ? { ...config, disabled: false } : config]
    }),
  )
}
