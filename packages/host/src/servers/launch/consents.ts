import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { Redactor } from '../../config/secrets/redactor.ts'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { type Asker, Nobody } from '../../core/inbox/asker.ts'
import type { ConsentTable } from '../../log/store/consent-table.ts'
import type { Recorder } from '../../log/store/recorder.ts'
import { fingerprint } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { ConsentDesk, ConsentNeeded, ServerConfig, TrustFinding } from '../../types/index.ts'
import { described, takenName } from './described.ts'

export interface ConsentDeps {
  table: ConsentTable
  asker: Asker
  recorder: Recorder
  redactor: Redactor
  env: ConfigEnvironment
  home: string
  /** Agrees to everything without asking. */
  agreeToAll: boolean
  configOf: (server: string) => ServerConfig | undefined
  /** What a server was when the values of its variables were last looked up; undefined where it has none. */
  lastIdentity: (config: ServerConfig) => string | undefined
}

/** `written`: the identity without what the values of its variables add to it. */
type Wanted = ConsentNeeded & { identity: string; written: string }

const changedElsewhere: TrustFinding = {
  severity: 'warning',
  code: 'changed-elsewhere',
  at: 'command',
  message:
    'Its command line is what you agreed to, and something else changed: the program, a file that it names, a variable, or its file of variables.',
}

/** Whether the person agreed to start what a file of the working folder names. */
export class Consents implements ConsentDesk {
  readonly #deps: ConsentDeps
  /** Why not, by what was refused in this run. */
  readonly #refused = new Map<string, string>()
  readonly #asking = new Map<string, Promise<void>>()

  constructor(deps: ConsentDeps) {
    this.#deps = deps
  }

  list: ConsentDesk['list'] = () =>
    this.#deps.table.list().map(({ server, file, command, at }) => ({ server, file, command, at }))

  async needed(server: string): Promise<ConsentNeeded | undefined> {
    const config = this.#deps.configOf(server)
    const wanted = config === undefined ? undefined : await this.#wanted(server, config)
    if (wanted === undefined) return undefined
    const { identity: _identity, written: _written, ...needed } = wanted
    return needed
  }

  async allow(server: string, by: string): Promise<boolean> {
    const config = this.#deps.configOf(server)
    const wanted = config === undefined ? undefined : await this.#wanted(server, config)
    if (wanted === undefined) return false
    const { file, command, program, findings, before } = wanted
    const summary = `${server} of ${file} may be started: ${command}`
    const detail = {
      file,
      command,
      findings,
      by,
      ...(program !== undefined && { program }),
      ...(before !== undefined && { before }),
    }
    this.#deps.recorder.note({ kind: 'install', server, summary, detail }, 'ok')
    this.#agree(wanted)
    return true
  }

  forget(server: string): number {
    const { table, recorder } = this.#deps
    const file = this.#deps.configOf(server)?.from?.file
    const count = file === undefined ? 0 : table.remove(file, server)
    if (count > 0) {
      const summary = `${server} of ${file} may no longer be started`
      recorder.note({ kind: 'install', server, summary, detail: { file } }, 'revoked')
    }
    return count
  }

  /**
   * Resolves once the person agreed to start this server as it is configured.
   * @throws McpError 'INVALID' where they refused, or nobody can be asked; it says how to agree.
   */
  async admit(server: string, config: ServerConfig, signal: AbortSignal): Promise<void> {
    for (;;) {
      const wanted = await this.#wanted(server, config)
      if (wanted === undefined) return
      const refusal = this.#refused.get(wanted.identity)
      if (refusal !== undefined) throw new McpError('INVALID', refusal)
      const asking =
        this.#asking.get(wanted.identity) ??
        this.#ask(wanted, config, signal).finally(() => this.#asking.delete(wanted.identity))
      this.#asking.set(wanted.identity, asking)
      // Files may have changed while the person read about them: what runs is compared with what they agreed to.
      await asking
    }
  }

  /** What was agreed to also holds for the server with its variables looked up, as long as nothing else changed. */
  async carry(server: string, config: ServerConfig): Promise<void> {
    const wanted = await this.#wanted(server, config)
    if (wanted !== undefined && this.#deps.table.has(wanted.written)) this.#agree(wanted)
  }

  /** Refusals no longer stand: the person wants to be asked again. */
  again(): void {
    this.#refused.clear()
  }

  /** Only what somebody else may have written waits for the person. */
  async #wanted(server: string, config: ServerConfig): Promise<Wanted | undefined> {
    const { table, redactor, agreeToAll, lastIdentity } = this.#deps
    if (config.from?.layer !== 'project' || agreeToAll) return undefined
    const { identity: written, command, findings, given, program } = await described(config, this.#deps)
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
        ...takenName(config),
        ...(before === redactor.text(command) ? [changedElsewhere] : []),
        ...findings,
      ],
      ...(program !== undefined && { program }),
      ...(before !== undefined && { before }),
    }
  }

  #agree({ identity, file, server, command }: Wanted): void {
    this.#refused.delete(identity)
    this.#deps.table.put({ identity, file, server, command, at: new Date().toISOString() })
  }

  async #ask(wanted: Wanted, config: ServerConfig, signal: AbortSignal): Promise<void> {
    const { asker, recorder, redactor } = this.#deps
    const { server, file, command, program, given, findings, before } = wanted
    const changed = before === undefined ? {} : { before }
    const row = recorder.open({
      kind: 'install',
      server,
      summary: `May ${server} of ${file} be started: ${command}`,
      detail: {
        file,
        command,
        findings,
        surface: asker.names,
        ...(program !== undefined && { program }),
        ...changed,
      },
    })
    try {
      const shown = { given, ...(program !== undefined && { program }) }
      const question = { file, command, ...shown, findings, ...changed, config: redactor.value(config) }
      const { answer, by } = await asker.ask(
        { kind: 'install', id: randomUUID(), cause: { server }, ...question },
        { signal, activity: row.id },
      )
      if (answer.verdict === 'allow') {
        this.#agree(wanted)
        row.close('ok', { by })
        return
      }
      const refusal = `It was not started, because you refused it. Agree to it with: jackfield config allow ${server}`
      this.#refused.set(wanted.identity, refusal)
      row.close('denied', { by, ...(answer.reason !== undefined && { reason: answer.reason }) })
      throw new McpError('INVALID', refusal)
    } catch (error) {
      row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      if (!(error instanceof Nobody)) throw error
      throw new McpError(
        'INVALID',
        `It was not started: you have not agreed yet to what ${file} names. It would run: ${command} — Agree to it with: jackfield config allow ${server}, or start all that this folder names with: --start-what-this-folder-names`,
      )
    }
  }
}
