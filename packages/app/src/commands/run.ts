import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CodeRun } from '@jackfield/host'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import type { Io, Output } from '../cli/io.ts'
import { runOperation, surfaceFor } from '../cli/session.ts'
import { blockText, prettyJson } from '../output/content.ts'
import { allowAdvice } from '../output/rules.ts'
import { plain } from '../output/sanitize.ts'
import { type CommandContext, openServers, type ServerOptions } from './context.ts'

export interface RunOptions extends ServerOptions {
  server?: string[]
  types?: boolean
  maxCalls?: number
}

/** `jackfield run <file>`: runs a program that calls the tools of the configured servers; `--types` shows its API. */
export async function run(context: CommandContext<RunOptions>): Promise<ExitCode> {
  const { words, options, io, output } = context
  const [file, ...rest] = words
  if (rest.length > 0) throw usageError(`Too many words: ${rest.join(' ')}. Usage: jackfield run <file>`)
  if (file === undefined && options.types !== true) {
    throw usageError(
      'Which program? Usage: jackfield run <file>, or - to read it from stdin; --types shows what it can use.',
    )
  }
  const program = file === undefined ? undefined : await readProgram(file, io)
  await using open = await openServers(context, ['tools'], {
    surfaceOf: surfaceFor,
    ...(options.server !== undefined && { only: options.server }),
  })
  if (options.types === true || program === undefined) {
    const types = await open.client.call('code.types', {})
    output.result({ types }, () => plain(types).trimEnd())
    return ExitCode.done
  }
  const { maxCalls } = options
  const name = file !== undefined && file !== '-' && { file: basename(file) }
  const done = await runOperation(
    open,
    { kind: 'code', program, ...name, ...(maxCalls !== undefined && { maxCalls }) },
    io.signal,
  )
  io.signal.throwIfAborted()
  // As JSON, a failure is one object on stderr, with the program's log in it.
  if (!output.json) for (const line of done.logs) output.note(plain(line))
  writeRun(done, options, output)
  return done.outcome === 'ok' ? ExitCode.done : ExitCode.toolError
}

function writeRun(done: CodeRun, { answers }: RunOptions, output: Output): void {
  const { result, ...facts } = done
  const { palette } = output
  if (done.outcome !== 'ok') {
    // Both the failure and the calls before it matter, and the first text has both.
    const text = result.content
      .slice(0, 1)
      .map((part) => blockText(part, palette))
      .join('')
    if (output.json) throw new CliError(ExitCode.toolError, text, { code: done.outcome, data: facts })
    output.note(text)
    for (const advice of adviceFor(text, done, answers)) output.note(`! ${advice}`)
    return
  }
  output.result({ ...facts, content: result.content }, () => {
    const value =
      done.value === undefined
        ? []
        : [typeof done.value === 'string' ? plain(done.value) : prettyJson(done.value)]
    return [...value, ...done.shown.map((part) => blockText(part, palette))].join('\n')
  })
}

/** What the user can do about a program that failed because no person can be asked here. */
function adviceFor(text: string, { calls }: CodeRun, answers: string | undefined): string[] {
  const isUnapproved = calls.some(({ outcome }) => outcome === 'denied')
  if (isUnapproved && text.includes('no person can be asked here')) return [allowAdvice]
  const kind = /(?:not declared: |can be asked here \()(elicitation|sampling|roots)/.exec(text)?.[1]
  if (kind === undefined) return []
  return [
    answers === undefined
      ? `To answer it without a terminal, give --answers FILE with "${kind}": jackfield help options`
      : `The answers file has no "${kind}". Add it: jackfield help options`,
  ]
}

async function readProgram(file: string, io: Io): Promise<string> {
  if (file === '-') return text(io.stdin)
  try {
    return readFileSync(resolve(io.cwd, file), 'utf8')
  } catch (error) {
    throw usageError(`Cannot read ${file}: ${readErrorReason(error)}`)
  }
}
