import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { defined } from '@jackfield/sdk/internal'
import { readErrorReason } from '../shared/files.ts'
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
import { detectFormat, type ReadServers } from './formats/index.ts'
import { type JackfieldSection, readSection } from './jackfield-section.ts'
import { ConfigError, createReader, member, pathOf, pathText, type Reader, typeText } from './reader.ts'
import {
  readAddition,
  readServer,
  type ServerAddition,
  type ServerParseContext,
  textsOf,
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
    throw new ConfigError(file, `${readErrorReason(error)}. Name a file with "mcpServers" in it.`)
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
  const lookup = { env, folders, foreign: options.layer === 'project' }
  const reading: ServerParseContext = { file, folder, problems, lookup }
  const source = {
    file: options.file === undefined ? file : resolve(options.file),
    layer: options.layer ?? ('named' as const),
    workspace,
  }

  const format = detectFormat(document.value, file)
  const readServers: ReadServers =
    format?.read(document.value, file, workspace) ?? noServersFound(document.value)
  for (const { path, severity, message } of readServers.problems)
    problems.push({ file, path: pathText(path), severity, message })
  const drafts = resolveExtends(readServers.drafts, reading)
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
      format: format?.name ?? 'mcpServers',
      layer: source.layer,
      path: pathText(draft.path),
      ...(line !== undefined && { line }),
      fields: fieldsOf(config, draft, source.file, document),
      overridden: [],
    })
    if (config.disabled !== true) warnUnresolvedVariables(config, draft, env, readServers.inputs, reading)
  }

  const section = readJackfieldSection(document, file, folder, problems, lookup)
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
  const section = document.value['jackfield']
  const settingOrigin = (path: readonly string[]): FieldOrigin => {
    const line = document.lineOf(['jackfield', ...path])
    const field = pathText(path)
    return { field, file, path: pathText(['jackfield', ...path]), ...(line !== undefined && { line }) }
  }
  if (!isRecord(section)) return []
  return [
    ...(section['defaultVerdict'] === undefined ? [] : [settingOrigin(['defaultVerdict'])]),
    ...['limits', 'log'].flatMap((name) =>
      Object.keys(isRecord(section[name]) ? section[name] : {}).map((key) => settingOrigin([name, key])),
    ),
  ]
}

/** The folder that files such as `.vscode/mcp.json` belong to. */
function workspaceOf(folder: string): string {
  return ['.vscode', '.cursor', '.roo', '.gemini', '.zed', '.codex'].includes(basename(folder))
    ? dirname(folder)
    : folder
}

function noServersFound(document: JsonRecord): ReadServers {
  const hint = isRecord(document['servers'])
    ? ''
    : ' Known are also the forms of VS Code, Codex, Goose, Zed and OpenCode.'
  const message = `is missing, so there are no servers.${hint}`
  return { drafts: [], inputs: [], problems: [{ path: ['mcpServers'], severity: 'error', message }] }
}

/** Resolves `extends` with the entry of the same file that it names. */
function resolveExtends(drafts: Draft[], { file, problems }: ServerParseContext): Draft[] {
  const byName = new Map(drafts.map((draft) => [draft.name, draft]))
  return drafts.flatMap((draft) => {
    const chain = [draft]
    for (let current: Draft | undefined = draft; current?.has('extends'); ) {
      const base: unknown = current.entry['extends']
      const next: Draft | undefined = typeof base === 'string' ? byName.get(base) : undefined
      if (next === undefined || chain.includes(next)) {
        const message =
          next === undefined
            ? 'must be the name of another server in this file'
            : 'refers to itself, so there is no server to extend'
        problems.push({ file, path: current.sourceText('extends'), severity: 'error', message })
        return []
      }
      chain.push(next)
      current = next
    }
    return [chain.length === 1 ? draft : mergeChain(draft, chain)]
  })
}

/** Variables and headers are merged; everything else is replaced. */
function mergeChain(draft: Draft, chain: readonly Draft[]): Draft {
  const mergedDraft = new Draft(draft.name, draft.path)
  for (const part of chain.toReversed()) {
    for (const [key, value] of Object.entries(part.entry)) {
      if (key === 'extends' || (key === 'disabled' && part !== draft)) continue
      if (isRecord(value)) {
        for (const [name, item] of Object.entries(value))
          mergedDraft.setIn(key, name, item, part.sourcePath([key, name]))
      } else mergedDraft.set(key, value, part.sourcePath([key]))
    }
    mergedDraft.warnings.push(...part.warnings)
    mergedDraft.errors.push(...part.errors)
  }
  return mergedDraft
}

function usedInputs(config: ServerConfig, inputs: readonly ConfigInput[]): ConfigInput[] {
  const ids = new Set<string>()
  for (const { text } of textsOf(config)) {
    const parsed = partsOf(text)
    if ('parts' in parsed) for (const part of parsed.parts) if (part.kind === 'input') ids.add(part.name)
  }
  return [...ids].map((id) => inputs.find((input) => input.id === id) ?? { id })
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
      const path = draft.sourcePath(field)
      const line = document.lineOf(path)
      return { field: pathText(field), file, path: pathText(path), ...(line !== undefined && { line }) }
    })
  })
}

/** Reports what would keep the server from starting. */
function warnUnresolvedVariables(
  config: ServerConfig,
  draft: Draft,
  env: ConfigEnvironment,
  inputs: readonly ConfigInput[],
  { file, problems }: ServerParseContext,
): void {
  for (const { field, text } of textsOf(config)) {
    const parsed = partsOf(text)
    for (const part of 'parts' in parsed ? parsed.parts : []) {
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
        problems.push({ file, path: draft.sourceText(...field), severity: 'warning', message })
    }
  }
}

function readJackfieldSection(
  document: ConfigDocument,
  file: string,
  folder: string,
  problems: ConfigProblem[],
  lookup: ServerParseContext['lookup'],
): JackfieldSection & Pick<HostConfig, 'profiles' | 'additions'> {
  const value = document.value['jackfield']
  const policyProblems: ConfigProblem[] = []
  const policyReader = createReader({ file, problems: policyProblems, lookup })
  const settingsReader = createReader({ file, problems, lookup })
  const { profiles, servers, ...rest }: JsonRecord = isRecord(value) ? value : {}
  const section = readSection(
    isRecord(value) ? rest : value,
    'jackfield',
    folder,
    policyReader,
    settingsReader,
  )
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
    profiles: readProfiles(profiles, 'jackfield.profiles', settingsReader),
    additions: readAdditions(servers, { file, folder, problems, lookup }, settingsReader),
  }
}

function readAdditions(value: unknown, reading: ServerParseContext, reader: Reader): HostConfig['additions'] {
  const path = ['jackfield', 'servers']
  if (value !== undefined && !isRecord(value)) {
    reader.problem(member('jackfield', 'servers'), `must be an object, not ${typeText(value)}`)
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
      const profilePath = member(path, name)
      const entry = reader.record(item ?? null, profilePath)
      if (entry === undefined) return []
      for (const key of Object.keys(entry)) {
        if (key !== 'servers' && key !== 'without')
          reader.warning(member(profilePath, key), 'is not used. Known are servers, without')
      }
      const servers = reader.texts(entry['servers'], member(profilePath, 'servers'))
      const without = reader.texts(entry['without'], member(profilePath, 'without'))
      return [[name, defined({ servers, without })] as const]
    }),
  )
}

/** Applies a profile: servers outside it are disabled. */
export function applyProfile(
  servers: Record<string, ServerConfig>,
  { servers: included, without = [] }: Profile,
): Record<string, ServerConfig> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, config]) => {
      const chosen = included === undefined || included.some((glob) => matchesGlob(glob, name))
      if (!chosen || without.some((glob) => matchesGlob(glob, name)))
        return [name, { ...config, disabled: true }]
      return [name, included?.includes(name) ? { ...config, disabled: false } : config]
    }),
  )
}
