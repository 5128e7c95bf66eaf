import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { Recorder } from '../../log/store/activity-log.ts'
import { reasonOf } from '../../shared/text.ts'
import type { CatalogTool, Code, CodeOptions, CodeRun, Host } from '../../types/index.ts'
import { runProgram } from './run.ts'
import { declarations } from './schema-type.ts'

interface CodeDeps {
  tools: () => readonly CatalogTool[]
  call: Host['call']
  on: Host['on']
  recorder: Recorder
  /** Aborted when the host closes. */
  signal: AbortSignal
}

const maxProgramCharacters = 200_000
const maxRunning = 8

/** Runs programs, each with a row that is the cause of its calls. */
export function createCode(deps: CodeDeps): Code {
  let running = 0
  const selectTools = ({ servers, isOn }: Pick<CodeOptions, 'servers' | 'isOn'>): CatalogTool[] =>
    deps.tools().filter((entry) => (servers?.includes(entry.server) ?? true) && (isOn?.(entry) ?? true))

  async function run(program: string, options: CodeOptions = {}): Promise<CodeRun> {
    if (program.length > maxProgramCharacters) {
      throw new McpError(
        'INVALID',
        `The program has ${program.length} characters; ${maxProgramCharacters} is the most.`,
      )
    }
    if (running >= maxRunning) {
      throw new McpError('INVALID', `${maxRunning} programs are running. Wait until one has ended.`)
    }
    const { cause, conversation, servers } = options
    const lines = program.trim().split('\n').length
    const row = deps.recorder.open({
      kind: 'code',
      server: null,
      cause: cause ?? null,
      summary: `A program of ${lines === 1 ? '1 line' : `${lines} lines`}`,
      detail: {
        program,
        ...defined({ conversation, servers }),
      },
    })
    running += 1
    try {
      const signal =
        options.signal === undefined ? deps.signal : AbortSignal.any([deps.signal, options.signal])
      const done = await runProgram(
        program,
        row.id,
        { ...options, signal },
        { ...deps, tools: selectTools(options) },
      )
      const { outcome, result, logs, calls, value, error } = done
      const failed = error !== undefined && { error }
      row.close(outcome, { result, logs, calls, ...(value !== undefined && { value }), ...failed })
      return { ...done, activity: row.id }
    } catch (error) {
      row.close('error', { error: reasonOf(error) })
      throw error
    } finally {
      running -= 1
    }
  }

  return {
    run,
    types({ tools, ...filter } = {}) {
      const selected = selectTools(filter).filter(
        ({ name, tool }) => tools === undefined || tools.includes(name) || tools.includes(tool.name),
      )
      return declarations(selected)
    },
  }
}
