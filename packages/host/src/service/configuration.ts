import { randomUUID } from 'node:crypto'
import { existsSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { type HostConfig, parseConfig } from '../config/config.ts'
import { readDocument } from '../config/document.ts'
import { type Edit, editText, hashOf, replaceFile, textOfFile } from '../config/edit.ts'
import { explainServers, explainSettings } from '../config/explain.ts'
import {
  type ConfigFile,
  configFiles,
  discoverServers,
  isOfAnotherApp,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  userConfigFile,
} from '../config/layers.ts'
import { withServers } from '../config/own-file.ts'
import { ConfigError, pathOf } from '../config/reader.ts'
import {
  createSecretRedactor,
  marksIn,
  restoreMarks,
  type SecretRedactor,
} from '../config/secrets/redactor.ts'
import { learnSecrets } from '../config/secrets/secrets.ts'
import { withoutSecrets } from '../config/secrets/without-secrets.ts'
import { commandOf } from '../servers/install/plan.ts'
import { canonical, isRecord, valueAt } from '../shared/json.ts'
import type {
  ConfigChange,
  ConfigPlan,
  ConfigProblem,
  ConfigText,
  ConfigView,
  FoundServer,
  Host,
  Reconfigured,
  RulePlace,
  ServerConfig,
} from '../types/index.ts'

/** Milliseconds for which a planned change can be written. */
const planTtlMs = 900_000
const maxPlans = 50
const maxTextCharacters = 1_000_000
/** Milliseconds to wait for further file changes before reading. */
const debounceMs = 200

/** The source of a host's configuration. */
export interface ConfigurationOptions {
  host: Host
  layers: LayerOptions
  /** The configuration the host was created with. Default: it is read on first use. */
  config?: LayeredConfig | undefined
  /** Reads the configuration. Default `loadLayers` of `layers`. */
  read?: (() => Promise<LayeredConfig>) | undefined
  /** Called with each changed configuration, after the host applied it. */
  onChange?: (
    config: LayeredConfig,
    reconfigured: Reconfigured,
    isPolicyChanged: boolean,
  ) => Promise<void> | void
  /** Called if a file is invalid; its last valid version stays in effect. */
  onProblem?: (message: string) => void
}

/** A planned change, with internal data. */
interface StoredPlan {
  plan: ConfigPlan
  text: string
  secrets: readonly { name: string; value: string }[]
  until: number
  /** Work to do before the file is written. */
  beforeWrite?: (() => Promise<void>) | undefined
}

/** The files of a host's configuration: explained, changed after a review, and watched. */
export class ConfigurationService {
  readonly #options: ConfigurationOptions
  readonly #read: () => Promise<LayeredConfig>
  readonly #plans = new Map<string, StoredPlan>()
  readonly #listeners = new Set<() => void>()
  #config: LayeredConfig | undefined
  #lastSync: Promise<unknown> = Promise.resolve()
  #version = 1

  constructor(options: ConfigurationOptions) {
    this.#options = options
    this.#config = options.config
    this.#read = options.read ?? (() => loadLayers(options.layers))
  }

  /** Increases with every change of a file. */
  get version(): number {
    return this.#version
  }

  /** Calls `listener` after every change of a file until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The files, servers, settings and rules of the configuration, with their positions. */
  async view(): Promise<ConfigView> {
    const config = await this.#read()
    const ownFile = this.#ownFile()
    const possible = this.#files()
    const read = new Set(config.files.map(({ file }) => file))
    const isShown = ({ file, layer }: ConfigFile): boolean =>
      read.has(file) || file === ownFile.file || (layer === 'project' && /[\\/]\.mcp\.json$/.test(file))
    return {
      version: this.#version,
      files: possible.filter(isShown).map((from) => ({
        ...from,
        exists: read.has(from.file),
        isOwn: from.file === ownFile.file,
        isBroken: config.broken.includes(from.file),
        isReadOnly: isOfAnotherApp(from) || /\.toml$/.test(from.file),
      })),
      servers: explainServers(config, this.#redact).map((server) => ({
        ...server,
        disabled: config.servers[server.name]?.disabled === true,
      })),
      settings: explainSettings(config),
      rules: await this.#rulePlaces(config),
      models: config.models,
      problems: config.problems.map((one) => ({ ...one, message: this.#redact(one.message) })),
    }
  }

  /** The text of one of the files. @throws McpError 'INVALID' for any other */
  async text(file: string): Promise<ConfigText> {
    const fileEntry = this.#files().find((one) => one.file === file)
    if (fileEntry === undefined) throw unknownFile(file)
    const text = await textOfFile(file)
    const { redactor } = this.#parseFile(text ?? '', fileEntry)
    return { file, text: this.#redact(redactor.text(text ?? '')), exists: text !== undefined }
  }

  /** The entry of a server in its file, with secrets replaced by marks. */
  async entry(server: string): Promise<{ file: string; entry: unknown }> {
    const { file, path } = originOf(await this.#read(), server)
    const text = (await textOfFile(file)) ?? ''
    const { redactor } = this.#parseFile(text, { file, layer: 'user' })
    const entry = redactor.value(valueAt(readDocument(text, file).value, pathOf(path)))
    return { file, entry: readJson(this.#redact(JSON.stringify(entry ?? null))) }
  }

  /** The servers of other applications. */
  async found(): Promise<FoundServer[]> {
    const { servers } = await this.#read()
    return (await this.#discovered()).map(({ app, file, name, server }) => ({
      app,
      file,
      name,
      origin: this.#redact(commandOf(withoutSecrets(name, server).config)),
      isKnown: Object.hasOwn(servers, name),
    }))
  }

  /**
   * Previews a change. Nothing is written.
   * @throws McpError 'INVALID' if it is impossible, or would make the file invalid
   */
  async plan(change: ConfigChange): Promise<ConfigPlan> {
    const config = await this.#read()
    const { file, secrets = [], text } = await this.#editedText(change, config)
    return await this.#storePlan(file, text, secrets)
  }

  /** The same for an installation. `beforeWrite`: work to do before the file is written. */
  async planServer(
    name: string,
    server: ServerConfig,
    secrets: readonly { name: string; value: string }[] = [],
    beforeWrite?: () => Promise<void>,
  ): Promise<ConfigPlan> {
    const { file, text } = await this.#ownText()
    return await this.#storePlan(
      file,
      withServers(text ?? '', file.file, { [name]: server }),
      secrets,
      beforeWrite,
    )
  }

  /**
   * Writes a planned change and applies it.
   * @throws McpError 'NOT_FOUND' if the plan is unknown or expired, 'CONFLICT' if the file changed since
   */
  async write(id: string): Promise<Reconfigured> {
    const stored = this.#plans.get(id)
    if (stored === undefined || stored.until < Date.now())
      throw new McpError('NOT_FOUND', 'This change has expired. Make it again.')
    const { plan, text, secrets, beforeWrite } = stored
    if (hashOf(await textOfFile(plan.file)) !== plan.hash)
      throw new McpError(
        'CONFLICT',
        `${plan.file} changed since the change was shown. Review the change again.`,
      )
    this.#plans.delete(id)
    for (const { name, value } of secrets) await this.#options.host.secrets.set(name, value)
    await beforeWrite?.()
    await replaceFile(plan.file, text)
    this.#notifyListeners()
    return await this.sync()
  }

  /** Reads the configuration, and applies it if it changed. */
  sync(): Promise<Reconfigured> {
    const reconfigured = this.#lastSync.then(async () => await this.#applyConfig(await this.#read()))
    this.#lastSync = reconfigured.catch(() => {})
    return reconfigured
  }

  /** Watches the files until the returned function is called. */
  follow(): () => void {
    let timer: NodeJS.Timeout | undefined
    const schedule = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        this.#lastSync = this.#lastSync.then(() => this.#reloadAfterChange())
      }, debounceMs)
    }
    const files = configFiles(this.#options.layers).map(({ file }) => file)
    // Editors replace files, so their folder is watched.
    const watchers = [...new Set(files.map((file) => dirname(file)))].flatMap((folder) => {
      const names = files.filter((file) => dirname(file) === folder).map((file) => basename(file))
      try {
        return [
          watch(folder, (_event, name) => {
            if (name === null || names.includes(name)) schedule()
          }).on('error', () => {}),
        ]
      } catch {
        return []
      }
    })
    return () => {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    }
  }

  async #reloadAfterChange(): Promise<void> {
    const { onProblem } = this.#options
    this.#notifyListeners()
    try {
      const config = await this.#read()
      const problem = config.problems.find(({ file, path }) => path === '' && config.broken.includes(file))
      // Until the file is valid again, its last valid version stays in effect.
      if (problem !== undefined) onProblem?.(problemText(problem))
      else await this.#applyConfig(config)
    } catch (error) {
      onProblem?.(error instanceof Error ? error.message : String(error))
    }
  }

  async #applyConfig(config: LayeredConfig): Promise<Reconfigured> {
    const { host, onChange } = this.#options
    if (JSON.stringify(config) === JSON.stringify(this.#config))
      return { added: [], removed: [], changed: [] }
    this.#config = config
    const { servers, rules, defaultVerdict } = config
    let isPolicyChanged = false
    const unsubscribe = host.on(({ type }) => {
      if (type === 'policy') isPolicyChanged = true
    })
    const policy = { rules, ...(defaultVerdict !== undefined && { defaultVerdict }) }
    const reconfigured = await host.reconfigure(servers, policy).finally(unsubscribe)
    await onChange?.(config, reconfigured, isPolicyChanged)
    this.#notifyListeners()
    return reconfigured
  }

  #notifyListeners(): void {
    this.#version += 1
    for (const listener of this.#listeners) listener()
  }

  readonly #redact = (text: string): string => this.#options.host.secrets.redact(text)

  /** All possible files, including those of other applications in the working folder. */
  #files(): ConfigFile[] {
    return configFiles(this.#options.layers)
  }

  /** The file for changes: the existing one, else `config.json`; with named files, the first of them. */
  #ownFile(): ConfigFile {
    const { layers } = this.#options
    const ownFiles = this.#files().filter(({ layer }) => layer === (layers.files ? 'named' : 'user'))
    const existing = ownFiles.find(({ file }) => existsSync(file))
    const [first] = ownFiles
    return (
      existing ?? first ?? { file: userConfigFile(layers.env ?? process.env, layers.home), layer: 'user' }
    )
  }

  async #ownText(): Promise<{ file: ConfigFile; text: string | undefined }> {
    const file = this.#ownFile()
    return { file, text: await textOfFile(file.file) }
  }

  async #discovered(): ReturnType<typeof discoverServers> {
    const { env = process.env, home } = this.#options.layers
    return await discoverServers({ env, home })
  }

  #writable(file: string): ConfigFile {
    const fileEntry = this.#files().find((one) => one.file === file)
    if (fileEntry === undefined) throw unknownFile(file)
    if (isOfAnotherApp(fileEntry))
      throw new McpError('INVALID', `${file} belongs to another application, so it is not changed here.`)
    return fileEntry
  }

  async #editedText(
    change: ConfigChange,
    config: LayeredConfig,
  ): Promise<{ file: ConfigFile; text: string; secrets?: { name: string; value: string }[] }> {
    const edited = async (file: ConfigFile, edits: readonly Edit[]) => {
      const text = (await textOfFile(file.file)) ?? ''
      const base = text.trim() === '' && !/\.ya?ml$/.test(file.file) ? '{\n  "mcpServers": {}\n}\n' : text
      return { file, text: editText(base, file.file, edits) }
    }
    switch (change.kind) {
      case 'text': {
        const file = this.#writable(change.file)
        const before = (await textOfFile(file.file)) ?? ''
        return { file, text: this.#restoreSecrets(change.text, before, file) }
      }
      case 'rule': {
        const { at, rule } = change
        const file = at === undefined ? this.#ownFile() : this.#writable(at.file)
        return await edited(file, [
          { path: ['jackfield', 'rules', at?.index ?? -1], value: rule ?? undefined },
        ])
      }
      case 'server': {
        const { name, entry } = change
        if (!Object.hasOwn(config.servers, name)) {
          if (entry === null) throw unknownServer(name)
          return await edited(this.#ownFile(), [{ path: ['mcpServers', name], value: entry }])
        }
        const origin = originOf(config, name)
        const file = this.#writable(origin.file)
        const before = (await textOfFile(file.file)) ?? ''
        const path = pathOf(origin.path)
        const old = valueAt(readDocument(before, file.file).value, path)
        const value = entry === null ? undefined : this.#restoreSecrets(entry, old, file)
        return await edited(file, [{ path, value }])
      }
      case 'enable': {
        const { server, enabled } = change
        const origin = originOf(config, server)
        const ownFile = this.#ownFile()
        const isOwn = origin.file === ownFile.file && origin.format === 'mcpServers'
        const path = isOwn
          ? [...pathOf(origin.path), 'disabled']
          : ['jackfield', 'servers', server, 'disabled']
        // Another file may disable the server, so removing the setting here would not enable it.
        return await edited(ownFile, [{ path, value: isOwn && enabled ? undefined : !enabled }])
      }
      case 'model': {
        const models = [change.model, ...config.models.filter((id) => id !== change.model)]
        return await edited(this.#ownFile(), [{ path: ['jackfield', 'models'], value: models }])
      }
      case 'import':
        return await this.#importServers(change.servers, config)
    }
  }

  /**
   * The edited value, with secrets in place of their marks.
   * @throws McpError 'INVALID' if a mark is ambiguous, or not from this file
   */
  #restoreSecrets<T>(written: T, before: unknown, file: ConfigFile): T {
    const originalText = typeof before === 'string' ? before : JSON.stringify(before ?? null)
    const { redactor } = this.#parseFile(typeof before === 'string' ? before : '', file)
    if (isRecord(before)) learnEntry(before, redactor)
    const marks = marksIn(before, redactor)
    const restored = restoreMarks(written, marks)
    const text = typeof restored === 'string' ? restored : JSON.stringify(restored)
    const redactedText = this.#redact(redactor.text(originalText))
    for (const [mark] of redactedText.matchAll(/\[[^\]\n]+\]/g)) {
      if (originalText.includes(mark) || marks.has(mark) || !text.includes(mark)) continue
      throw new McpError(
        'INVALID',
        `${mark} is the mark of a secret of ${file.file} that cannot be distinguished from another. Edit the file by hand.`,
      )
    }
    return restored
  }

  async #importServers(
    requested: readonly { file: string; name: string }[],
    config: LayeredConfig,
  ): Promise<{ file: ConfigFile; text: string; secrets: { name: string; value: string }[] }> {
    const all = await this.#discovered()
    const secrets: { name: string; value: string }[] = []
    const servers: Record<string, ServerConfig> = {}
    for (const { file, name } of requested) {
      const discovered = all.find((one) => one.file === file && one.name === name)
      if (discovered === undefined)
        throw new McpError('NOT_FOUND', `${file} has no server "${name}" any more.`)
      if (Object.hasOwn(config.servers, name) || Object.hasOwn(servers, name))
        throw new McpError('CONFLICT', `There is a server "${name}" already. Choose one of them.`)
      const cleaned = withoutSecrets(name, discovered.server)
      servers[name] = cleaned.config
      secrets.push(...cleaned.secrets)
    }
    const { file, text } = await this.#ownText()
    return { file, text: withServers(text ?? '', file.file, servers), secrets }
  }

  async #storePlan(
    from: ConfigFile,
    text: string,
    secrets: readonly { name: string; value: string }[] = [],
    beforeWrite?: () => Promise<void>,
  ): Promise<ConfigPlan> {
    if (text.length > maxTextCharacters)
      throw new McpError('INVALID', `The file would have more than ${maxTextCharacters} characters.`)
    const { file } = from
    const before = await textOfFile(file)
    const now = this.#parseFile(before ?? '', from)
    const next = this.#parseFile(text, from)
    if (next.error !== undefined)
      throw new McpError('INVALID', `The change cannot be made: ${next.error.message}`)
    const effect = await this.#effectOf(file, text)
    const knownProblems = new Set(now.problems.map(({ path, message }) => `${path} ${message}`))
    const redact = (given: string): string => this.#redact(next.redactor.text(now.redactor.text(given)))
    const plan: ConfigPlan = {
      id: randomUUID(),
      file,
      before: redact(before ?? ''),
      after: redact(text),
      hash: hashOf(before),
      effect,
      problems: next.problems
        .filter(({ path, message }) => !knownProblems.has(`${path} ${message}`))
        .map((problem) => ({ ...problem, message: redact(problem.message) })),
      secrets: secrets.map(({ name }) => name),
    }
    const firstError = plan.problems.find(({ severity }) => severity === 'error')
    if (firstError !== undefined)
      throw new McpError('INVALID', `The change cannot be made: ${problemText(firstError)}`)
    for (const [id, { until }] of this.#plans) if (until < Date.now()) this.#plans.delete(id)
    const [oldest] = this.#plans.keys()
    if (this.#plans.size >= maxPlans && oldest !== undefined) this.#plans.delete(oldest)
    this.#plans.set(plan.id, { plan, text, secrets, until: Date.now() + planTtlMs, beforeWrite })
    return plan
  }

  /** The servers that a change of a file adds, removes or restarts. */
  async #effectOf(file: string, text: string): Promise<ConfigPlan['effect']> {
    const { layers } = this.#options
    const { servers: now } = await this.#read()
    const { servers: next } = await loadLayers({ ...layers, texts: new Map([[file, text]]) })
    return {
      added: Object.keys(next).filter((name) => !Object.hasOwn(now, name)),
      removed: Object.keys(now).filter((name) => !Object.hasOwn(next, name)),
      changed: Object.keys(next).filter(
        (name) => Object.hasOwn(now, name) && canonical(now[name]) !== canonical(next[name]),
      ),
    }
  }

  /** One file parsed alone, with its secrets. */
  #parseFile(
    text: string,
    { file, layer }: ConfigFile,
  ): { problems: readonly ConfigProblem[]; redactor: SecretRedactor; error?: Error } {
    const redactor = createSecretRedactor()
    const { cwd, env, home } = this.#options.layers
    try {
      const options = { file, layer, home, workspace: cwd, ...(env !== undefined && { env }) }
      const config: HostConfig = parseConfig(text.trim() === '' ? '{"mcpServers":{}}' : text, options)
      for (const server of Object.values(config.servers)) learnSecrets(server, redactor)
      return { problems: config.problems, redactor }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return { problems: [], redactor, error }
    }
  }

  async #rulePlaces(config: LayeredConfig): Promise<RulePlace[]> {
    const lines = new Map<string, (index: number) => number | undefined>()
    for (const { file } of config.files) {
      const text = await textOfFile(file)
      if (text === undefined || config.broken.includes(file)) continue
      const document = readDocument(text, file)
      lines.set(file, (index) => document.lineOf(['jackfield', 'rules', index]))
    }
    return config.rules.flatMap(({ author = '' }): RulePlace[] => {
      const [, file, at] = /^(.*), jackfield\.rules\[(\d+)\]$/.exec(author) ?? []
      if (file === undefined || at === undefined) return []
      const line = lines.get(file)?.(Number(at))
      return [{ author, file, index: Number(at), ...(line !== undefined && { line }) }]
    })
  }
}

/** Registers the secrets of one entry for redaction. */
function learnEntry(entry: Record<string, unknown>, redactor: SecretRedactor): void {
  const { servers } = parseConfig(JSON.stringify({ mcpServers: { entry } }))
  for (const server of Object.values(servers)) learnSecrets({ ...server, from: memoryOrigin }, redactor)
}

/** Marks a configuration as one with variables, whose references are no secrets. */
const memoryOrigin = { file: 'config', layer: 'user' } as const

function originOf(config: LayeredConfig, server: string): LayeredConfig['origins'][string] {
  const origin = Object.hasOwn(config.origins, server) ? config.origins[server] : undefined
  if (origin === undefined) throw unknownServer(server)
  return origin
}

function unknownServer(name: string): McpError {
  return new McpError('NOT_FOUND', `The configuration has no server "${name}".`)
}

function unknownFile(file: string): McpError {
  return new McpError('INVALID', `${file} is not a file of this configuration.`)
}

/** A problem as one line: file, line, column and fix. */
function problemText({ file, line, path, message }: ConfigProblem): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${path === '' ? '' : `${path} `}${message}`
}
