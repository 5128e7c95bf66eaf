import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import {
  createSecretRedactor,
  type RedactedStream,
  redactedError,
  type SecretRedactor,
} from '../../config/secrets/redactor.ts'
import { createSecrets, learnSecrets, learnVariables } from '../../config/secrets/secrets.ts'
import { memorySecrets } from '../../config/secrets/store.ts'
import { isSecretName } from '../../config/variables.ts'
import { NoSurfaceError, type QuestionQueue } from '../../core/inbox/question-queue.ts'
import type { ActivityLog, Recorder } from '../../log/store/activity-log.ts'
import type { FormTable } from '../../log/store/answer-tables.ts'
import type { ConsentTable, IdentityTable } from '../../log/store/server-tables.ts'
import { canonical } from '../../shared/json.ts'
import { orAborted } from '../../shared/signals.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  ConfigInput,
  ConsentService,
  Fix,
  HostEvent,
  HostOptions,
  Reconfigured,
  SecretStore,
  Secrets,
  ServerConfig,
  StdioServerConfig,
} from '../../types/index.ts'
import type { ServerConnection } from '../connections/connection.ts'
import { Consents } from './consents.ts'
import { Identities } from './identities.ts'
import { type MachineVariable, secretsIn, variablesFor, withMachineVariables } from './machine-variables.ts'
import { resolveCommand, resolvedConfig, type Surroundings } from './resolve-command.ts'

interface LaunchDeps {
  options: Pick<HostOptions, 'secrets' | 'credentials' | 'env' | 'home' | 'startProjectServers' | 'redactFor'>
  consents: ConsentTable
  /** Where answers that are no secrets are stored. */
  settings: FormTable
  identities: IdentityTable
  salt: string
  questions: QuestionQueue
  recorder: Recorder
  servers: () => Iterable<[string, ServerConfig]>
  redactor: SecretRedactor
  onWarning: (server: string, message: string, fixes: readonly Fix[]) => void
  /** A secret was stored by `Secrets.set`. */
  onSecret: (name: string) => void
}

/** The steps before a server starts: consent, expansion of variables, registration of secrets for redaction. */
export class Launch {
  readonly secrets: Secrets
  readonly identities: Identities
  readonly #resolve: ReturnType<typeof createSecrets>['resolve']
  readonly #answer: ReturnType<typeof createSecrets>['answer']
  readonly #deps: LaunchDeps
  readonly #consents: Consents
  readonly #store: SecretStore
  readonly #surroundings: Surroundings
  #learning: Promise<void> | undefined
  /** Variables that were withheld; each is reported once. */
  readonly #warned = new Set<string>()

  constructor(deps: LaunchDeps) {
    const { options, questions, recorder, servers, redactor } = deps
    const env = options.env ?? process.env
    const home = options.home ?? homedir()
    this.#deps = deps
    this.#surroundings = { env, home }
    this.#store = options.secrets ?? memorySecrets()
    const ask: Parameters<typeof createSecrets>[0]['ask'] = (...inputQuestion) =>
      askInput(questions, recorder, ...inputQuestion)
    const secrets = createSecrets({
      ...{ store: this.#store, settings: deps.settings, redactor, env, home, ask, servers },
      stored: deps.onSecret,
    })
    this.secrets = secrets
    this.#resolve = secrets.resolve
    this.#answer = secrets.answer
    const { credentials } = options
    this.identities = new Identities({ table: deps.identities, env, home, credentials, salt: deps.salt })
    this.#consents = new Consents({
      ...{ table: deps.consents, questions, recorder, redactor, env, home },
      agreeToAll: options.startProjectServers === true,
      lastIdentity: (config) => this.identities.last(config),
      configOf: (wanted) => [...servers()].find(([name]) => name === wanted)?.[1],
    })
  }

  /**
   * The configuration to start or connect to. It contains secrets and is only for the connection.
   * @throws McpError 'INVALID' that names what is missing, or the reason of the signal
   */
  prepare(server: string, config: ServerConfig, signal: AbortSignal): Promise<ServerConfig> {
    // A user or a keychain may never answer.
    return orAborted(this.#prepare(server, config, signal), signal)
  }

  async #prepare(server: string, config: ServerConfig, signal: AbortSignal): Promise<ServerConfig> {
    const before = this.identities.last(config)
    await this.#consents.admit(server, config, signal)
    const resolved = await this.#resolve(server, config, signal)
    await this.identities.recordValues(config, resolved)
    // Values resolved for the first time belong to the consent just given.
    if (before === undefined && this.identities.last(config) !== undefined) {
      await this.#consents.carryOver(server, config)
    }
    if ('url' in resolved) return resolved
    const variables = await this.#machineVariables(server, config, resolved, signal)
    if (config.from?.layer !== 'project') return withMachineVariables(resolved, variables)
    await this.#consents.admit(server, config, signal)
    const command = await resolveCommand({ ...resolved, from: config.from }, this.#surroundings)
    if (command.isSeparateFolder) await mkdir(command.cwd, { recursive: true, mode: 0o700 })
    return withMachineVariables(resolvedConfig(resolved, command), variables)
  }

  /** The machine's variables that a server gets. Those with credentials need approval once. */
  async #machineVariables(
    server: string,
    { from }: ServerConfig,
    resolved: StdioServerConfig,
    signal: AbortSignal,
  ): Promise<MachineVariable[]> {
    const given: MachineVariable[] = []
    for (const variable of variablesFor(resolved, this.#surroundings.env)) {
      const { name, value, isCredential } = variable
      if (!isCredential) {
        given.push(variable)
        continue
      }
      for (const secret of secretsIn(value)) this.#deps.redactor.add(secret, name)
      const file = from?.layer === 'project' ? from.file : undefined
      const answer = await this.#askToPass(server, name, file, signal)
      if (answer === 'yes') given.push(variable)
      else if (answer === undefined) this.#warnWithheld(server, name)
    }
    return given
  }

  /** The current or stored answer; undefined if the user cannot be asked or does not answer. */
  async #askToPass(
    server: string,
    name: string,
    file: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const action = `pass on ${name}${file === undefined ? '' : ` to servers of ${file}`}`
    const recipients = file === undefined ? 'the servers that you start here' : `the servers of ${file}`
    const description = `your choice: ${name} of your environment contains credentials. Pass it to ${recipients}? (The answer is stored with the secrets as "${action}"; remove it there to be asked again.)`
    try {
      return await this.#answer(action, server, { id: name, description, options: ['no', 'yes'] }, signal)
    } catch {
      // Without a store there is no stored answer.
      return undefined
    }
  }

  #warnWithheld(server: string, name: string): void {
    if (this.#warned.has(name)) return
    this.#warned.add(name)
    this.#deps.onWarning(
      server,
      `${name} of your environment was not passed to it, because it contains credentials`,
      [{ action: 'pass-variable', server, name }],
    )
  }

  /**
   * Registers every secret that can be read without a question, and those that other configurations take from the environment.
   * Runs once per host.
   */
  learnSecrets(): Promise<void> {
    this.#learning ??= this.#registerSecrets()
    return this.#learning
  }

  async #registerSecrets(): Promise<void> {
    // A server that needs a secret of an unreadable store reports it; the others are unaffected.
    const readable = await (this.#store.readable?.() ?? Promise.resolve([])).catch(() => [])
    for (const { name, value } of readable) this.#deps.redactor.add(value, redactionMark(name), name)
    for (const config of (await this.#deps.options.redactFor?.()) ?? [])
      learnVariables(config, this.#surroundings.env, this.#deps.redactor)
  }

  /** Registers values that a configuration contains under secret-like names. */
  registerSecrets(config: ServerConfig): ServerConfig {
    learnSecrets(config, this.#deps.redactor)
    return config
  }

  /** The stored value of a name, which is redacted from here on. */
  async secret(name: string): Promise<string | undefined> {
    const value = await this.#store.get(name)
    if (value !== undefined) this.#deps.redactor.add(value, name, name)
    return value
  }

  get consents(): ConsentService {
    return this.#consents
  }

  /** Asks again about refusals. */
  askAgain(): void {
    this.#consents.askAgain()
  }
}

/**
 * Asks the user for a value, on every surface; undefined if they give none or cannot be asked. The value is in neither the log nor
 * the store of questions.
 */
async function askInput(
  questions: QuestionQueue,
  recorder: Recorder,
  server: string,
  input: ConfigInput,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!questions.canAsk('input')) return undefined
  const isHidden = input.options === undefined && isSecretName(input.id)
  const row = recorder.open({
    kind: 'input',
    server,
    summary: `${server} needs ${input.description ?? input.id}`,
    detail: { input: input.id, surface: questions.names },
  })
  try {
    const { answer, by } = await questions.ask(
      {
        kind: 'input',
        id: randomUUID(),
        cause: { server },
        input: isHidden ? { ...input, password: true } : input,
      },
      { signal, activity: row.id },
    )
    row.close(answer.verdict === 'allow' ? 'ok' : 'denied', { by })
    return answer.verdict === 'allow' ? answer.value : undefined
  } catch (error) {
    row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    if (error instanceof NoSurfaceError) return undefined
    throw error
  }
}

/** The replacement of a secret: its name, or the id of an input. */
function redactionMark(name: string): string {
  return /^input (.+?) of [/\\A-Z]/.exec(name)?.[1] ?? name
}

/** States in which the process that wrote to stderr has exited. */
const exitedStates: ReadonlySet<string> = new Set(['reconnecting', 'failed', 'disabled', 'asleep'])
const minRedactedCharacters = 6

/** All data leaving the host passes here to be redacted. */
export class Redaction {
  readonly redactor: SecretRedactor = createSecretRedactor()
  readonly #streams = new Map<string, RedactedStream>()

  /** The activity log, with redaction. */
  log(log: ActivityLog): ActivityLog {
    return {
      ...log,
      begin: (start) => log.begin(this.redactor.value(start)),
      beginSoon: (start) => log.beginSoon(this.redactor.value(start)),
      end: (id, end) => log.end(id, this.redactor.value(end)),
      endSoon: (id, end) => log.endSoon(id, this.redactor.value(end)),
    }
  }

  /** A redacted event. Output of a process arrives in pieces, and a secret can span two of them. */
  events(event: HostEvent): HostEvent[] {
    if (event.type === 'stderr') {
      const stream = this.#streams.get(event.server) ?? this.redactor.stream()
      this.#streams.set(event.server, stream)
      const text = stream.push(event.text)
      return text === '' ? [] : [{ ...event, text }]
    }
    const redactedEvent = this.redactor.value(event)
    if (event.type !== 'connection' || !exitedStates.has(event.state.state)) return [redactedEvent]
    const heldBack = this.#streams.get(event.server)?.end() ?? ''
    this.#streams.delete(event.server)
    // The held-back text may be most of a secret.
    if (heldBack === '' || heldBack.length >= minRedactedCharacters) return [redactedEvent]
    return [{ type: 'stderr', server: event.server, text: heldBack }, redactedEvent]
  }

  value<T>(value: T): T {
    return this.redactor.value(value)
  }

  error(error: unknown): unknown {
    return redactedError(error, this.redactor)
  }
}

/** Changes the connections to `wanted`; unchanged ones keep running. */
export async function reconfigure(
  wanted: Readonly<Record<string, ServerConfig>>,
  connections: Map<string, ServerConnection>,
  create: (name: string, config: ServerConfig) => ServerConnection,
  onRemoved: (name: string) => void,
): Promise<Reconfigured> {
  const names = Object.keys(wanted)
  const removed = [...connections.keys()].filter((name) => !names.includes(name))
  const added = names.filter((name) => !connections.has(name))
  const changed = names.filter((name) => {
    const currentConfig = connections.get(name)?.config
    return currentConfig !== undefined && canonical(currentConfig) !== canonical(wanted[name])
  })
  const closing = [...removed, ...changed].flatMap((name) => connections.get(name)?.close() ?? [])
  for (const name of removed) {
    connections.delete(name)
    onRemoved(name)
  }
  const started: ServerConnection[] = []
  for (const name of [...added, ...changed]) {
    const config = wanted[name]
    if (config === undefined) continue
    const connection = create(name, config)
    connections.set(name, connection)
    started.push(connection)
  }
  await Promise.all(closing)
  await Promise.all(started.map((connection) => connection.start()))
  return { added, removed, changed }
}
