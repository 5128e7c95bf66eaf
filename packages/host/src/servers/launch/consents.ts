import { createHash, randomUUID } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { defined } from '@jackfield/sdk/internal'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import { fileVariables, maxVariablesBytes } from '../../config/secrets/secrets.ts'
import { textsOf } from '../../config/server-entry.ts'
import { type ConfigEnvironment, displayedValues, isSecretName, partsOf } from '../../config/variables.ts'
import { NoSurfaceError, type QuestionQueue } from '../../core/inbox/question-queue.ts'
import type { Recorder } from '../../log/store/activity-log.ts'
import type { ConsentTable } from '../../log/store/server-tables.ts'
import { FixableError } from '../../shared/failures.ts'
import { readSmallFile } from '../../shared/files.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { reasonOf, shellWord } from '../../shared/text.ts'
import type { ConsentNeeded, ConsentService, ServerConfig, TrustFinding } from '../../types/index.ts'
import { scanCommand } from './command-scan.ts'
import { expandKnown, resolveCommand, type Surroundings } from './resolve-command.ts'

interface ConsentDeps {
  table: ConsentTable
  questions: QuestionQueue
  recorder: Recorder
  redactor: SecretRedactor
  env: ConfigEnvironment
  home: string
  /** Consents to everything without asking. */
  agreeToAll: boolean
  configOf: (server: string) => ServerConfig | undefined
  /** The identity of a server when its variables were last resolved; undefined if it has none. */
  lastIdentity: (config: ServerConfig) => string | undefined
}

/** `written`: the identity without the values of its variables. */
type ConsentRequest = ConsentNeeded & { identity: string; written: string }

const changedElsewhere: TrustFinding = {
  severity: 'warning',
  code: 'changed-elsewhere',
  at: 'command',
  message:
    'Its command line is what you agreed to, and something else changed: the program, a file that it names, a variable, or its file of variables.',
}

/** Whether the user consented to start a server of a working folder's file. */
export class Consents implements ConsentService {
  readonly #deps: ConsentDeps
  /** The refusals of this run, by identity. */
  readonly #refused = new Set<string>()
  readonly #openQuestions = new Map<string, Promise<void>>()

  constructor(deps: ConsentDeps) {
    this.#deps = deps
  }

  list: ConsentService['list'] = () =>
    this.#deps.table.list().map(({ server, file, command, at }) => ({ server, file, command, at }))

  async needed(server: string): Promise<ConsentNeeded | undefined> {
    const config = this.#deps.configOf(server)
    const request = config === undefined ? undefined : await this.#requestFor(server, config)
    if (request === undefined) return undefined
    const { identity: _identity, written: _written, ...needed } = request
    return needed
  }

  async allow(server: string, by: string): Promise<boolean> {
    const config = this.#deps.configOf(server)
    const request = config === undefined ? undefined : await this.#requestFor(server, config)
    if (request === undefined) return false
    const { file, command, program, findings, before } = request
    const summary = `${server} of ${file} may be started: ${command}`
    const detail = {
      file,
      command,
      findings,
      by,
      ...defined({ program, before }),
    }
    this.#deps.recorder.note({ kind: 'start', server, summary, detail }, 'ok')
    this.#storeConsent(request)
    return true
  }

  forget(server: string): number {
    const { table, recorder } = this.#deps
    const file = this.#deps.configOf(server)?.from?.file
    const count = file === undefined ? 0 : table.remove(file, server)
    if (count > 0) {
      const summary = `${server} of ${file} may no longer be started`
      recorder.note({ kind: 'start', server, summary, detail: { file } }, 'revoked')
    }
    return count
  }

  /**
   * Resolves after the user consented to start this server as it is configured.
   * @throws McpError 'REFUSED' if they refused, 'INVALID' if they cannot be asked, with the fix `approve`
   */
  async admit(server: string, config: ServerConfig, signal: AbortSignal): Promise<void> {
    for (;;) {
      const request = await this.#requestFor(server, config)
      if (request === undefined) return
      if (this.#refused.has(request.identity)) throw startRefused(server)
      const openQuestion =
        this.#openQuestions.get(request.identity) ??
        this.#ask(request, config, signal).finally(() => this.#openQuestions.delete(request.identity))
      this.#openQuestions.set(request.identity, openQuestion)
      // Files may have changed while the question was open: what starts is compared with what was approved.
      await openQuestion
    }
  }

  /** A consent also applies to the server with its variables resolved, if nothing else changed. */
  async carryOver(server: string, config: ServerConfig): Promise<void> {
    const request = await this.#requestFor(server, config)
    if (request !== undefined && this.#deps.table.has(request.written)) this.#storeConsent(request)
  }

  /** Removes refusals: the user requested to be asked again. */
  askAgain(): void {
    this.#refused.clear()
  }

  /** Only configurations that another author may have written need consent. */
  async #requestFor(server: string, config: ServerConfig): Promise<ConsentRequest | undefined> {
    const { table, redactor, agreeToAll, lastIdentity } = this.#deps
    if (config.from?.layer !== 'project' || agreeToAll) return undefined
    const { identity: written, command, findings, given, program } = await describeCommand(config, this.#deps)
    const last = lastIdentity(config)
    const identity = last === undefined ? written : fingerprint([written, last])
    if (table.has(identity)) return undefined
    const { file } = config.from
    const before = table.last(file, server)?.command
    return {
      identity,
      written,
      server,
      file,
      command: redactor.text(command),
      given: redactor.value(given),
      findings: [
        ...nameFindings(config),
        ...(before === redactor.text(command) ? [changedElsewhere] : []),
        ...findings,
      ],
      ...defined({ program, before }),
    }
  }

  #storeConsent({ identity, file, server, command }: ConsentRequest): void {
    this.#refused.delete(identity)
    this.#deps.table.put({ identity, file, server, command, at: new Date().toISOString() })
  }

  async #ask(request: ConsentRequest, config: ServerConfig, signal: AbortSignal): Promise<void> {
    const { questions, recorder, redactor } = this.#deps
    const { server, file, command, program, given, findings, before } = request
    const displayed = defined({ program, before })
    const row = recorder.open({
      kind: 'start',
      server,
      summary: `May ${server} of ${file} be started: ${command}`,
      detail: {
        file,
        command,
        findings,
        surface: questions.names,
        ...displayed,
      },
    })
    try {
      const question = { file, command, given, findings, ...displayed, config: redactor.value(config) }
      const { answer, by } = await questions.ask(
        { kind: 'start', id: randomUUID(), cause: { server }, ...question },
        { signal, activity: row.id },
      )
      if (answer.verdict === 'allow') {
        this.#storeConsent(request)
        row.close('ok', { by })
        return
      }
      this.#refused.add(request.identity)
      row.close('denied', { by, ...(answer.reason !== undefined && { reason: answer.reason }) })
      throw startRefused(server)
    } catch (error) {
      row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      if (!(error instanceof NoSurfaceError)) throw error
      throw new FixableError(
        'INVALID',
        'url' in config
          ? `you have not agreed yet to the address that ${file} names: ${command}`
          : `you have not agreed yet to what ${file} names. It would run: ${command}`,
        [{ action: 'approve', server }],
      )
    }
  }
}

/** The error of a start that the user refused. */
function startRefused(server: string): FixableError {
  return new FixableError('REFUSED', 'It was not started, because you refused it', [
    { action: 'approve', server },
  ])
}

/** The command line or URL for the user to review. */
interface DescribedCommand extends Pick<ConsentNeeded, 'command' | 'program' | 'given' | 'findings'> {
  /** One hash of the file and of everything that defines the started command and its variables. */
  identity: string
}

/** Secrets and inputs are shown by name; every other variable by its current value. */
async function describeCommand(config: ServerConfig, surroundings: Surroundings): Promise<DescribedCommand> {
  const expandText = (given: string): string => expandKnown(given, config, surroundings)
  const { from } = config
  if ('url' in config) {
    const identity = fingerprint({
      file: from?.file,
      replaces: from?.replaces,
      url: expandText(config.url),
      headers: config.headers,
      auth: config.auth,
      files: await filesIn(config),
    })
    const findings = [...scanCommand(config), ...passedSecretFindings(config)]
    return { command: expandText(config.url), given: displayedValues(config.headers), findings, identity }
  }
  const words = [config.command, ...(config.args ?? [])].map(expandText)
  const [command = '', ...args] = words
  const cwd = config.cwd === undefined ? undefined : expandText(config.cwd)
  const envFile = config.envFile === undefined ? undefined : expandText(config.envFile)
  const envPath = envFile === undefined ? undefined : resolve(dirname(from?.file ?? ''), envFile)
  const fileVariableValues = envPath === undefined ? {} : await variablesOf(envPath)
  const configuredVariables = Object.entries(config.env ?? {}).map(([name, value]) => [
    name,
    expandText(value),
  ])
  // Values of an env file are literal, so their variables are not expanded here either.
  const currentVariables = { ...fileVariableValues, ...Object.fromEntries(configuredVariables) }
  const resolvedCommand = await resolveCommand(
    { ...config, command, args, env: currentVariables, ...(cwd !== undefined && { cwd }) },
    surroundings,
  )
  const env = { ...fileVariableValues, ...config.env }
  const identity = fingerprint({
    file: from?.file,
    replaces: from?.replaces,
    words,
    cwd,
    env: config.env,
    envFile,
    variables: envPath === undefined ? undefined : await hashOf(envPath),
    sandbox: config.sandbox,
    files: await filesIn(config),
    program: [resolvedCommand.file, resolvedCommand.real, resolvedCommand.cwd, resolvedCommand.args],
    contents: resolvedCommand.contents,
  })
  const folder = cwd === undefined ? '' : `cd ${shellWord(resolvedCommand.cwd)} && `
  return {
    command: `${folder}${[command, ...resolvedCommand.args].map(shellWord).join(' ')}`,
    ...(resolvedCommand.file !== undefined && {
      program:
        resolvedCommand.real === undefined
          ? resolvedCommand.file
          : `${resolvedCommand.file} → ${resolvedCommand.real}`,
    }),
    given: displayedValues(env),
    findings: [
      ...scanCommand({ ...config, env }),
      ...passedSecretFindings(config),
      ...resolvedCommand.findings,
    ],
    identity,
  }
}

/** Hashes of the files whose contents are passed to the server (`${file:path}`). */
async function filesIn(config: ServerConfig): Promise<Record<string, string | null>> {
  const names = textsOf(config).flatMap(({ text }) => {
    const read = partsOf(text)
    return 'parts' in read ? read.parts.flatMap((part) => (part.kind === 'file' ? [part.name] : [])) : []
  })
  const folder = dirname(config.from?.file ?? '')
  const hashes = await Promise.all(names.map((name) => hashOf(resolve(folder, name))))
  return Object.fromEntries(names.map((name, index) => [name, hashes[index] ?? null]))
}

/** The variables of a file, or none if it cannot be read; the server is not started then. */
async function variablesOf(file: string): Promise<Record<string, string>> {
  return fileVariables(file).catch(() => ({}))
}

/** Whether rules that name a server would now apply to another server. */
function nameFindings({ from }: ServerConfig): TrustFinding[] {
  if (from?.replaces === undefined) return []
  const message = `It replaces your own server of this name in ${from.replaces}, and your rules for that name apply to it.`
  return [{ severity: 'warning', code: 'takes-a-name', at: 'name', message }]
}

/** The user's credentials and variables that a configuration passes on. */
function passedSecretFindings(config: ServerConfig): TrustFinding[] {
  return textsOf(config).flatMap(({ field, text }) => {
    const read = partsOf(text)
    const at = field.join('.')
    return ('parts' in read ? read.parts : []).flatMap((part): TrustFinding[] => {
      const warning = (code: string, message: string): TrustFinding[] => [
        { severity: 'warning', code, at, message },
      ]
      if (part.kind === 'secret') return warning('gives-a-secret', `It gets your secret "${part.name}".`)
      if (part.kind === 'file') return warning('gives-a-file', `It gets the value of ${part.name}.`)
      if (part.kind !== 'env' || !isSecretName(part.name)) return []
      return warning(
        'gives-a-variable',
        `It gets ${part.name} of your environment, which looks like a secret.`,
      )
    })
  })
}

async function hashOf(file: string): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await readSmallFile(file, maxVariablesBytes))
      .digest('hex')
  } catch {
    return null
  }
}
