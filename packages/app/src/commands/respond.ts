import {
  type BrokeredCall,
  type Failure,
  type Host,
  type HostAnswers,
  type HostQuestion,
  type InboxItem,
  type QuestionKind,
  StoreError,
  type Surface,
  showQuestion,
} from '@jackfield/host'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import type { Output } from '../cli/io.ts'
import { localHost, openSession, surfaceFor } from '../cli/session.ts'
import { storeFile } from '../cli/store.ts'
import { readTarget, type Target } from '../cli/target.ts'
import { errorOf } from '../daemon/error-of-fault.ts'
import { storeHost } from '../daemon/service.ts'
import { respondCommand } from '../forms/later-choice.ts'
import { printedResult } from '../output/content.ts'
import { fixesIn } from '../output/fixes.ts'
import { answerCommands, shortId } from '../output/inbox.ts'
import { oneLine, shellWord } from '../output/sanitize.ts'
import { deferringSurface } from '../surface/deferring.ts'
import { answerFromOptions, type WrittenAnswerOptions } from '../surface/written-answer.ts'
import type { CommandContext, ServerOptions } from './context.ts'
import { itemOf } from './inbox.ts'

export interface RespondOptions extends ServerOptions, WrittenAnswerOptions {
  /** The URL or command of the server that asked, if it is not configured. */
  url?: string
}

const answeredBy = 'jackfield respond'

/**
 * `jackfield respond <id> [--accept … | --decline | --cancel | --allow | --deny]`: answers a question of any program that uses
 * the store. If its program has ended, the call continues here and its result is shown.
 */
export async function respond(context: CommandContext<RespondOptions>): Promise<ExitCode> {
  const { words, options, io, output } = context
  const [id, ...others] = words
  if (id === undefined) throw usageError('Which question? jackfield inbox lists them.')
  if (others.length > 0) {
    throw usageError(
      `"${oneLine(others.join(' '))}" is not an answer. Write the answer after --accept, as key=value.`,
    )
  }
  await using host = storeHost(storeFile(options.store, io))
  const item = itemOf(host.inbox.list({ state: 'all' }), id)
  const unfinished = item.state === 'answered' && item.resumable
  if (item.state !== 'open' && !unfinished) throw alreadyAnsweredError(item)
  if (unfinished && !hasUnfinishedCall(host, item)) throw alreadyAnsweredError(item)
  if (item.waits) {
    const answer = await readAnswer(item.question, context)
    // The user saw the question and deferred it again.
    if (answer === undefined) return ExitCode.done
    submitAnswer(() => host.inbox.answer(item.id, answer, answeredBy))
    output.result({ id: item.id, state: 'answered' }, () => 'Answered. The program that asked continues.')
    return ExitCode.done
  }
  const target = await targetOf(item, context)
  // Missing or invalid options are an error before a server starts.
  if (item.state === 'open' && surfaceFor(io, options) === undefined)
    requireWrittenAnswer(item.question, options)
  return await continueCall(item, target, context)
}

/**
 * Warns before an answer is sent that its server may reject it: a stdio server ended with the program that asked, and
 * accepts the answer only if it kept the key of its sealed states.
 */
function noteRestart({ question }: InboxItem, { server }: Target, output: Output): void {
  const isForm = question.kind === 'elicitation' && question.params.mode !== 'url'
  if (!('command' in server) || !isForm) return
  const { server: name, tool } = question.cause
  const call = tool === undefined ? 'the call' : `the call of ${oneLine(tool)}`
  output.note(
    `! ${oneLine(name)} was restarted since it asked. If it rejects the answer, ${call} can be repeated with the values of this answer.`,
  )
}

/** Connects the server that asked, has an open question answered, and continues the call. */
async function continueCall(
  item: InboxItem,
  target: Target,
  context: CommandContext<RespondOptions>,
): Promise<ExitCode> {
  const { options, io, output } = context
  const person = surfaceFor(io, options)
  const surface = person ?? withoutApproval(deferringSurface(output, options))
  await using session = await openSession(
    target,
    ['tools'],
    { ...options, answers: undefined, surface, isLocal: true },
    io,
    output,
  )
  const host = localHost(session)
  const closeHost = (): void => void host.close()
  io.signal.addEventListener('abort', closeHost, { once: true })
  try {
    io.signal.throwIfAborted()
    if (item.state === 'open') {
      const refusal = host.inbox.refusal(item.id)
      if (refusal !== undefined) throw new CliError(ExitCode.toolError, refusal)
      noteRestart(item, target, output)
      const answer = await readAnswer(item.question, context)
      // The user saw the question and deferred it again.
      if (answer === undefined) return ExitCode.done
      submitAnswer(() => host.inbox.answer(item.id, answer, answeredBy))
    }
    const call = host.inbox.resumed(item.id)
    if (call !== undefined) {
      const done = await call
      const isLost = host.inbox.get(item.id)?.state === 'lost'
      if (isLost && done.error !== undefined) throw rejectedAnswerError(done.error, item, context)
      return finishCall(done, context)
    }
    const cause = JSON.stringify(item.question.cause)
    const rest = host.inbox.list().filter(({ question }) => JSON.stringify(question.cause) === cause)
    output.result({ id: item.id, state: 'answered', open: rest.map(({ id }) => id) }, () =>
      [
        'Answered. The call continues when its other questions are answered too:',
        ...rest.map((other) => `  ${respondCommand(other.id, options.store)}`),
      ].join('\n'),
    )
    return ExitCode.done
  } finally {
    io.signal.removeEventListener('abort', closeHost)
  }
}

/** When the answer is on the command line, nothing asks whether to repeat the call. */
function withoutApproval({ show: { approval: _, ...show }, ...surface }: Surface): Surface {
  return { ...surface, show }
}

/** The error for an answer that the server no longer accepts, with the command that makes the call again. */
function rejectedAnswerError(
  { message, code }: Failure,
  { question }: InboxItem,
  context: CommandContext<RespondOptions>,
): CliError {
  const { tool = '', arguments: given = {} } = question.cause
  const { command, options } = context
  const words = [
    ...['jackfield', 'call'],
    ...(command === undefined ? [options.url ?? question.cause.server] : []),
    tool,
    ...(Object.keys(given).length === 0 ? [] : ['--args', JSON.stringify(given)]),
    ...[options.config ?? []].flat().flatMap((file) => ['--config', file]),
    ...(options.store === undefined ? [] : ['--store', options.store]),
    ...(command === undefined ? [] : ['--', ...command]),
  ]
  const again = words.map((word) => shellWord(oneLine(word))).join(' ')
  return new CliError(ExitCode.protocol, `${message}\n  ${again}`, { code })
}

function finishCall({ result, error, suspended }: BrokeredCall, { output }: CommandContext): ExitCode {
  if (suspended === true)
    throw new CliError(ExitCode.interrupted, 'Interrupted. The question stays in the inbox.')
  if (error !== undefined) throw errorOf(error)
  output.result(result, () => printedResult(result, output.palette))
  return result.isError === true ? ExitCode.toolError : ExitCode.done
}

/** The answer from the options, else from the user at the terminal; undefined if they defer it. */
async function readAnswer(
  question: HostQuestion,
  { options, io }: CommandContext<RespondOptions>,
): Promise<HostAnswers[QuestionKind] | undefined> {
  if (question.kind === 'input' && options.accept === true) {
    const { id, description = id } = question.input
    const { readSecretValue } = await import('./secret.ts')
    return { verdict: 'allow', value: await readSecretValue(description, io) }
  }
  const person = surfaceFor(io, options)
  if (person === undefined) return requireWrittenAnswer(question, options)
  return answerFromOptions(question, options) ?? (await showQuestion(person, question, io.signal))
}

/** The answer from the options. Throws a usage error if there is none. */
function requireWrittenAnswer(question: HostQuestion, options: RespondOptions): HostAnswers[QuestionKind] {
  const written = answerFromOptions(question, options)
  if (written !== undefined) return written
  const ways = answerCommands(question).map((way) => `  ${respondCommand(question.id, options.store)} ${way}`)
  throw usageError(`There is no answer. Write one of:\n${ways.join('\n')}`)
}

/**
 * The server that asked: the command after --, the URL, the one of `jackfield start` on its store, or the configured one with
 * that name.
 */
async function targetOf(item: InboxItem, context: CommandContext<RespondOptions>): Promise<Target> {
  const { command, options, io } = context
  const name = item.question.cause.server
  if (command === undefined && options.url === undefined) {
    const { serverOnStore } = await import('../start/servers.ts')
    const server = await serverOnStore(name, storeFile(options.store, io))
    if (server !== undefined) return { name, server, config: undefined, isTyped: true }
  }
  const { target } = await readTarget({ words: [options.url ?? name], command }, options, io).catch(
    (error: unknown) => {
      if (command !== undefined || options.url !== undefined) throw error
      throw usageError(
        `The call continues here, which needs its server: no config names "${oneLine(name)}". Add --url <address>, or -- <command>, as in the call.`,
      )
    },
  )
  // The name that the server had then.
  return { ...target, name }
}

function hasUnfinishedCall(host: Host, item: InboxItem): boolean {
  try {
    return host.inbox.resumed(item.id) !== undefined
  } catch {
    // The call could continue if this host had the server.
    return true
  }
}

function submitAnswer(answer: () => void): void {
  try {
    answer()
  } catch (error) {
    if (error instanceof StoreError) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new CliError(ExitCode.toolError, message, { fixes: fixesIn(error) })
  }
}

function alreadyAnsweredError({ id, state, answer, reason }: InboxItem): CliError {
  const why =
    answer !== undefined && state === 'answered'
      ? `was already answered by ${oneLine(answer.by)} at ${answer.at}`
      : `is ${state}${reason === undefined ? '' : `: ${oneLine(reason)}`}`
  return new CliError(ExitCode.toolError, `Question ${shortId({ id })} ${why}.`)
}
