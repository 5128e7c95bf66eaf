import { accessSync, constants, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type {
  ConfigLayer,
  ConfigProblem,
  FieldOrigin,
  SamplingLimits,
  SamplingSettings,
  ServerConfig,
  ServerOrigin,
} from '../types/index.ts'
import { applyProfile, type HostConfig, loadConfig, parseConfig } from './config.ts'
import { mergeLogSettings } from './jackfield-section.ts'
import { ConfigError } from './reader.ts'
import { entryOf, limitsOf } from './sampling-section.ts'
import { withAddition } from './server-entry.ts'
import type { ConfigEnvironment } from './variables.ts'

/** Which files are read. */
export interface LayerOptions {
  /** The working folder. */
  cwd: string
  /** Environment for variables, including `XDG_CONFIG_HOME` and `HOME`. Default `process.env`. */
  env?: ConfigEnvironment
  /** The user's home folder. */
  home: string
  /** Uses only these files; later ones override earlier ones. */
  files?: readonly string[]
  /** Also reads the files of other applications. Default false. */
  discover?: boolean
  /** Only the servers of this profile. */
  profile?: string
  /** Texts that replace files on disk, to preview a change. */
  texts?: ReadonlyMap<string, string>
}

/** One configuration file. */
export interface ConfigFile {
  /** The absolute path. */
  file: string
  /** How far the file is trusted, and its precedence. */
  layer: ConfigLayer
  /** The application it belongs to, if not this one. */
  app?: string
}

/** The merged files. */
export interface LayeredConfig extends HostConfig {
  /** The files that were read; the first has precedence. */
  files: ConfigFile[]
  /** Files that are invalid and were ignored. */
  broken: string[]
}

/** The path of the user's own configuration, which may not exist. */
export function userConfigFile(env: ConfigEnvironment, home: string): string {
  return join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'jackfield', 'config.json')
}

/** Every file that may be read, whether or not it exists; the first has precedence. */
export function configFiles(options: LayerOptions): ConfigFile[] {
  const { cwd, home, env = process.env } = options
  if (options.files !== undefined) {
    return options.files.map((file) => ({ file: resolve(cwd, file), layer: 'named' as const })).reverse()
  }
  const user = userConfigFile(env, home)
  return [
    ...['.mcp.json', 'jackfield.json', join('.vscode', 'mcp.json'), join('.cursor', 'mcp.json')].map(
      (name) => ({
        file: join(cwd, name),
        layer: 'project' as const,
      }),
    ),
    ...['', 'c'].map((suffix) => ({ file: `${user}${suffix}`, layer: 'user' as const })),
    ...['toml', 'yaml'].map((ending) => ({
      file: user.replace(/json$/, ending),
      layer: 'user' as const,
    })),
    ...(options.discover
      ? appFiles(env, home).map((found) => ({ ...found, layer: 'discovered' as const }))
      : []),
  ]
}

/**
 * Reads all existing files and merges them: a server defined in several files comes from the first alone. Files of the working
 * folder may forbid and ask, but allow nothing. No file is written.
 * An invalid file is left out and reported. Since it may have contained rules that forbid, nothing is then allowed without a
 * question.
 * @throws ConfigError for a named file that is invalid, for one that cannot be opened, for an invalid rule, and for an unknown
 * profile.
 */
export async function loadLayers(options: LayerOptions): Promise<LayeredConfig> {
  const { cwd, home, env = process.env, texts } = options
  const candidates = configFiles(options)
  const files =
    options.files === undefined
      ? candidates.filter(({ file }) => texts?.has(file) === true || isFile(file))
      : candidates
  const problems: ConfigProblem[] = []
  const parsedFiles: { from: ConfigFile; config: HostConfig }[] = []
  const brokenFiles: string[] = []
  for (const from of files) {
    try {
      const workspace = from.layer === 'named' ? undefined : cwd
      const reading = { env, home, layer: from.layer, ...(workspace !== undefined && { workspace }) }
      const text = texts?.get(from.file)
      const config =
        text === undefined
          ? await loadConfig(from.file, reading)
          : parseConfig(text, { ...reading, file: from.file })
      parsedFiles.push({ from, config: from.layer === 'project' ? withoutGrants(config, from.file) : config })
    } catch (error) {
      if (!(error instanceof ConfigError) || !isOptional(from, error)) throw error
      if (!isOfAnotherApp(from)) brokenFiles.push(from.file)
      problems.push({
        file: from.file,
        path: '',
        severity: 'error',
        message: error.message.slice(from.file.length + 2),
      })
    }
  }
  const merged = mergeFiles(parsedFiles, problems)
  if (brokenFiles.length > 0) {
    merged.rules = merged.rules.filter(({ verdict }) => verdict !== 'allow')
    if (merged.defaultVerdict === 'allow') merged.defaultVerdict = 'ask'
  }
  const profile = options.profile
  if (profile !== undefined) {
    const chosen = merged.profiles[profile]
    if (chosen === undefined) {
      const profileNames = Object.keys(merged.profiles)
      const availableText =
        profileNames.length === 0 ? 'There are none' : `There are: ${profileNames.join(', ')}`
      throw new ConfigError(
        files.map(({ file }) => file).join(', '),
        `no profile "${profile}". ${availableText}.`,
      )
    }
    merged.servers = applyProfile(merged.servers, chosen)
  }
  return { ...merged, files, broken: brokenFiles }
}

/** A readable file that is no configuration is left out. An invalid rule, or a file that cannot be opened, is an error. */
function isOptional(from: ConfigFile, { problems }: ConfigError): boolean {
  if (from.layer === 'named') return false
  return isOfAnotherApp(from) || (problems.length === 0 && isReadable(from.file))
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Rules in files of other applications are ignored. */
export function isOfAnotherApp({ file, layer }: ConfigFile): boolean {
  return layer === 'discovered' || (layer === 'project' && !/[\\/](?:\.mcp|jackfield)\.json$/.test(file))
}

/** The configuration of a working folder without settings that grant access: only the user's own file may have those. */
function withoutGrants(config: HostConfig, file: string): HostConfig {
  const problems = [...config.problems]
  const warnIgnored = (path: string, description: string): void => {
    const message = `${description} in a file of the working folder has no effect: write it into your own configuration`
    problems.push({ file, path, severity: 'warning', message })
  }
  const { rules, roots, models, limits, servers, origins, profiles, additions, defaultVerdict } = config
  const { maskedHeaders, ...log } = config.log
  const strictRules = rules.filter(({ verdict }) => verdict !== 'allow')
  if (strictRules.length < rules.length) warnIgnored('jackfield.rules', 'a rule that allows calls')
  if (defaultVerdict === 'allow') warnIgnored('jackfield.defaultVerdict', 'allowing everything')
  if (Object.keys(log).length > 0)
    warnIgnored('jackfield.log', `log settings (${Object.keys(log).join(', ')})`)
  for (const description of ignoredSettings(config.sampling)) warnIgnored('jackfield.sampling', description)
  // A script could put any text into the user's conversation as the model.
  const isScript = (id: string): boolean => id.trim().startsWith('script:')
  if (models.some(isScript)) warnIgnored('jackfield.models', 'a script in place of a model')
  const { models: facts, ...sampling } = config.sampling
  return {
    ...emptyConfig(),
    servers,
    origins,
    profiles,
    additions,
    rules: strictRules,
    roots,
    models: models.filter((id) => !isScript(id)),
    sampling: { ...sampling, ...(facts && { models: facts.filter(({ id }) => !isScript(id)) }) },
    limits,
    settings: config.settings.filter(({ field }) => !/^log\.(?!maskedHeaders)/.test(field)),
    log: maskedHeaders === undefined ? {} : { maskedHeaders },
    ...(defaultVerdict !== undefined && defaultVerdict !== 'allow' && { defaultVerdict }),
    problems,
  }
}

const strictness = ['deny', 'ask', 'allow'] as const

function mergeFiles(
  parsedFiles: readonly { from: ConfigFile; config: HostConfig }[],
  problems: ConfigProblem[],
): HostConfig {
  const servers = new Map<string, ServerConfig>()
  const origins = new Map<string, ServerOrigin>()
  for (const { config } of parsedFiles) {
    for (const [name, server] of Object.entries(config.servers)) {
      const origin = config.origins[name]
      const winningOrigin = origins.get(name)
      if (origin === undefined) continue
      if (winningOrigin !== undefined) {
        const { file, format, layer, line } = origin
        winningOrigin.overridden.push({ file, format, layer, ...(line !== undefined && { line }) })
        continue
      }
      servers.set(name, server)
      origins.set(name, origin)
    }
  }
  for (const [name, { layer, overridden }] of origins) {
    const userOrigin = layer === 'project' ? overridden.find((other) => other.layer === 'user') : undefined
    const server = servers.get(name)
    if (userOrigin !== undefined && server?.from !== undefined)
      servers.set(name, { ...server, from: { ...server.from, replaces: userOrigin.file } })
  }
  for (const { from, config } of parsedFiles.toReversed()) {
    for (const [name, addition] of Object.entries(config.additions)) {
      const server = servers.get(name)
      // A working folder's file cannot change servers of other files.
      if (server !== undefined && (from.layer !== 'project' || server.from?.file === from.file))
        servers.set(name, withAddition(server, addition))
    }
  }
  const verdicts = parsedFiles.map(({ config }) => config.defaultVerdict)
  const defaultVerdict = strictness.find((verdict) => verdicts.includes(verdict))
  const ascending = parsedFiles.toReversed().map(({ config }) => config)
  const projectConfigs = new Set(
    parsedFiles.filter(({ from }) => from.layer === 'project').map(({ config }) => config),
  )
  let merged = emptyConfig()
  for (const config of ascending)
    merged = { ...merged, ...config, limits: { ...merged.limits, ...config.limits } }
  return {
    ...merged,
    servers: Object.fromEntries(servers),
    origins: Object.fromEntries(origins),
    rules: parsedFiles.flatMap(({ config }) => config.rules),
    log: mergeLogSettings(parsedFiles.map(({ config }) => config.log)),
    settings: effectiveSettings(parsedFiles.flatMap(({ config }) => config.settings)),
    roots: uniqueRoots(parsedFiles.flatMap(({ config }) => config.roots)),
    models: parsedFiles.map(({ config }) => config.models).find((models) => models.length > 0) ?? [],
    sampling: mergeSampling(
      parsedFiles.map(({ from, config }) => ({
        settings: config.sampling,
        strict: from.layer === 'project' || from.layer === 'discovered',
      })),
    ),
    // A working folder's file cannot redefine a name that the user chose.
    profiles: mergeRecords(
      ascending
        .toSorted((a, b) => Number(projectConfigs.has(b)) - Number(projectConfigs.has(a)))
        .map(({ profiles }) => profiles),
    ),
    additions: mergeRecords(ascending.map(({ additions }) => additions)),
    ...(defaultVerdict !== undefined && { defaultVerdict }),
    problems: [...problems, ...parsedFiles.flatMap(({ config }) => config.problems)],
  }
}

function emptyConfig(): HostConfig {
  return parseConfig('{"mcpServers":{}}')
}

function mergeRecords<T>(records: readonly Record<string, T>[]): Record<string, T> {
  return Object.fromEntries(records.flatMap((record) => Object.entries(record)))
}

/** The effective value of a setting in several files; lists of headers are combined. */
function effectiveSettings(settings: readonly FieldOrigin[]): FieldOrigin[] {
  return settings.filter(
    ({ field }, index) =>
      field === 'log.maskedHeaders' || settings.findIndex((other) => other.field === field) === index,
  )
}

function uniqueRoots<T extends { uri: string }>(roots: readonly T[]): T[] {
  return [...new Map(roots.map((root) => [root.uri, root])).values()]
}

/**
 * Whether the file exists. If that cannot be determined it counts, since it may contain rules; reading it reports the problem.
 */
function isFile(file: string): boolean {
  try {
    return statSync(file).isFile()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
}

/** The content of a file, and whether it is strict: from a working folder, or of another application. */
interface SamplingLayer {
  settings: SamplingSettings
  strict: boolean
}

/** Merges settings, earlier files first; strict files can only lower limits and redact more. */
function mergeSampling(layers: readonly SamplingLayer[]): SamplingSettings {
  const own = layers.filter(({ strict }) => !strict).map(({ settings }) => settings)
  const strict = layers.filter((layer) => layer.strict).map(({ settings }) => settings)
  const names = new Set(layers.flatMap(({ settings }) => Object.keys(settings.servers ?? {})))
  const merged: SamplingSettings = {
    models: uniqueById([
      ...own.flatMap(({ models }) => models ?? []),
      ...strict
        .flatMap(({ models }) => models ?? [])
        .map(({ cost: _cost, currency: _currency, ...facts }) => facts),
    ]),
    limits: mergeLimits(own.map(({ limits }) => limits)),
    servers: Object.fromEntries(
      [...names].map((name) => {
        const entries = own.flatMap(({ servers }) => entryOf(servers, name) ?? [])
        const approve = entries.find((entry) => entry.approve !== undefined)?.approve
        const limits = mergeLimits(entries.map((entry) => entry.limits))
        const reviewOffline = reviewOfflineOf(
          entries,
          strict.flatMap((layer) => [layer, entryOf(layer.servers, name) ?? {}]),
        )
        return [name, { limits, ...(approve !== undefined && { approve }), ...reviewOffline }]
      }),
    ),
    ...reviewOfflineOf(own, strict),
  }
  const redact = [
    ...own.flatMap((settings) => settings.redact ?? []),
    ...strict.flatMap((settings) => settings.redact ?? []).filter((rule) => !('off' in rule && rule.off)),
  ]
  return {
    ...merged,
    redact,
    limits: lowerLimits(
      merged.limits,
      limitsOf('', { ...merged, servers: {} }),
      strict.map(({ limits }) => limits),
    ),
    servers: Object.fromEntries(
      Object.entries(merged.servers ?? {}).map(([name, entry]) => [
        name,
        {
          ...entry,
          limits: lowerLimits(
            entry.limits,
            limitsOf(name, merged),
            strict.map(({ servers }) => entryOf(servers, name)?.limits),
          ),
        },
      ]),
    ),
  }
}

/** Settings of a strict file without effect, for a warning. */
function ignoredSettings({ servers, redact, models, reviewOffline }: SamplingSettings): string[] {
  const settings = [{ reviewOffline }, ...Object.values(servers ?? {})]
  return [
    ...(settings.some((entry) => entry.reviewOffline === false) ? ['"reviewOffline": false'] : []),
    ...(Object.values(servers ?? {}).some(({ approve }) => approve !== undefined)
      ? ['approval of sampling']
      : []),
    ...(redact?.some((rule) => 'off' in rule && rule.off) ? ['disabling a redaction'] : []),
    ...(models?.some(({ cost }) => cost !== undefined) ? ['the price of a model'] : []),
  ]
}

/** The first of the user's own settings; a strict file can only require the review. */
function reviewOfflineOf(
  own: readonly Pick<SamplingSettings, 'reviewOffline'>[],
  strict: readonly Pick<SamplingSettings, 'reviewOffline'>[],
): Pick<SamplingSettings, 'reviewOffline'> {
  const reviewOffline = strict.some((settings) => settings.reviewOffline === true)
    ? true
    : own.find((settings) => settings.reviewOffline !== undefined)?.reviewOffline
  return reviewOffline === undefined ? {} : { reviewOffline }
}

function lowerLimits(
  limits: Partial<SamplingLimits> | undefined,
  effectiveLimits: SamplingLimits,
  strictLimits: readonly (Partial<SamplingLimits> | undefined)[],
): Partial<SamplingLimits> {
  const result = { ...limits }
  const names = [
    'requestsPerMinute',
    'tokensPerDay',
    'costPerDay',
    'maxTokens',
    'toolRounds',
    'autoTokensPerDay',
    'autoCostPerDay',
  ] as const
  for (const name of names) {
    const lowest = Math.min(...strictLimits.map((entry) => entry?.[name] ?? Number.POSITIVE_INFINITY))
    if (lowest < (effectiveLimits[name] ?? Number.POSITIVE_INFINITY)) result[name] = lowest
  }
  return result
}

function mergeLimits(limits: readonly (Partial<SamplingLimits> | undefined)[]): Partial<SamplingLimits> {
  const mergedLimits: Partial<SamplingLimits> = {}
  for (const part of limits.toReversed()) Object.assign(mergedLimits, part)
  return mergedLimits
}

function uniqueById<T extends { id: string }>(entries: readonly T[]): T[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.id, entry])).values()].reverse()
}

/** Where other applications store the user's servers, on every operating system. */
export function appFiles(env: ConfigEnvironment, home: string): { app: string; file: string }[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config')
  const data = [
    config,
    join(home, 'Library', 'Application Support'),
    env['APPDATA'] || join(home, 'AppData', 'Roaming'),
  ]
  const inData = (app: string, ...parts: string[]): { app: string; file: string }[] =>
    data.map((folder) => ({ app, file: join(folder, ...parts) }))
  const inHome = (app: string, ...parts: string[]): { app: string; file: string } => ({
    app,
    file: join(home, ...parts),
  })
  const codeStorage = ['Code', 'User', 'globalStorage']
  return [
    ...inData('Claude Desktop', 'Claude', 'claude_desktop_config.json'),
    inHome('Claude Code', '.claude.json'),
    ...inData('VS Code', 'Code', 'User', 'mcp.json'),
    inHome('Cursor', '.cursor', 'mcp.json'),
    inHome('Windsurf', '.codeium', 'windsurf', 'mcp_config.json'),
    ...inData('Cline', ...codeStorage, 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'),
    ...inData('Roo Code', ...codeStorage, 'rooveterinaryinc.roo-cline', 'settings', 'mcp_settings.json'),
    inHome('Gemini CLI', '.gemini', 'settings.json'),
    inHome('Codex', '.codex', 'config.toml'),
    { app: 'Goose', file: join(config, 'goose', 'config.yaml') },
    { app: 'Zed', file: join(config, 'zed', 'settings.json') },
    { app: 'OpenCode', file: join(config, 'opencode', 'opencode.json') },
    inHome('Copilot CLI', '.copilot', 'mcp-config.json'),
    inHome('LM Studio', '.lmstudio', 'mcp.json'),
  ]
}

/** A server in a file of another application. */
export interface DiscoveredServer {
  /** The application that the file belongs to, such as `Claude Desktop`. */
  app: string
  /** The absolute path of the application's configuration file. */
  file: string
  /** The name of the server in that file. */
  name: string
  /** Its configuration, as read from that file. */
  server: ServerConfig
}

/** The servers of other applications, whose files are only read. `onProblem` is called for a file that cannot be used. */
export async function discoverServers(
  { env, home }: { env: ConfigEnvironment; home: string },
  onProblem: (message: string) => void = () => {},
): Promise<DiscoveredServer[]> {
  const lists = await Promise.all(
    appFiles(env, home).map(async ({ app, file }) => {
      try {
        await readFile(file)
      } catch {
        return []
      }
      try {
        const { servers } = await loadConfig(file, { env, home, layer: 'discovered' })
        return Object.entries(servers).map(([name, server]) => ({ app, file, name, server }))
      } catch (error) {
        onProblem(error instanceof Error ? error.message : String(error))
        return []
      }
    }),
  )
  return lists.flat()
}
