import {
  type Conversation,
  type ConversationOptions,
  createConversation,
  type Host,
  type HostEvent,
  type Model,
  ModelError,
} from '@jackfield/host'
import { McpError, RpcError, type SamplingMessage } from '@jackfield/sdk'
import { CliError } from '../cli/exit.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { describeCall, describeEnd } from './calls.ts'
import { type ChatState, runCommand } from './commands.ts'
import { readLine } from './slash.ts'

/** The ends of a chat: a place to write, and a way to read one line. */
export interface ChatFace {
  palette: Palette
  write(text: string): void
  /** Reads a line; undefined when the person is done (Ctrl+D). */
  readLine(prompt: string): Promise<string | undefined>
  /** Gives a signal that is aborted when the person stops the turn, and a function to call when it is over. */
  turn(): { signal: AbortSignal; done(): void }
}

/** Holds a conversation until the person leaves. */
export async function converse(
  host: Host,
  models: readonly [Model, ...Model[]],
  face: ChatFace,
  env: NodeJS.ProcessEnv,
  options: Pick<ConversationOptions, 'codeMode'> = {},
): Promise<void> {
  const { palette } = face
  const talk = createConversation({ host, model: models[0], ...options })
  const state: ChatState = { host, models, talk, attached: [], env }
  const off = host.on((event) => tell(event, face))
  try {
    greet(state, face)
    for (;;) {
      const line = await face.readLine(`${palette.green('you')} › `)
      if (line === undefined) return
      try {
        if ((await handle(line, state, face)) === 'leave') return
      } catch (error) {
        if (!isExpected(error)) throw error
        face.write(`${palette.red(plain(error.message))}\n`)
      }
    }
  } finally {
    off()
  }
}

async function handle(line: string, state: ChatState, face: ChatFace): Promise<'leave' | undefined> {
  const typed = readLine(line)
  if (typed.kind === 'empty') return undefined
  if (typed.kind === 'words') {
    await say([{ role: 'user', content: { type: 'text', text: typed.text } }], state, face)
    return undefined
  }
  const { signal, done } = face.turn()
  try {
    const outcome = await runCommand(typed.name, typed.words, state, face, signal)
    if (outcome.kind === 'leave') return 'leave'
    if (outcome.kind === 'say') await say(outcome.messages, state, face)
    return undefined
  } finally {
    done()
  }
}

/** What is told of a turn that did not end by itself. */
const endings: Readonly<Record<string, string>> = {
  cancelled: 'Stopped.',
  maxTokens: 'The answer was cut off at its token limit.',
  maxTurns: 'Stopped after too many rounds of tool calls. Say "go on" to continue.',
  contentFilter: 'The provider withheld a part of the answer.',
}

/** One turn: what was attached goes along, the answer is written as it comes. */
async function say(messages: SamplingMessage[], state: ChatState, face: ChatFace): Promise<void> {
  const { palette } = face
  const attached = state.attached.splice(0)
  const { signal, done } = face.turn()
  let midLine = false
  const begin = (text: string): void => {
    face.write(`${midLine ? '\n' : ''}${text}\n`)
    midLine = false
  }
  let ended: string | undefined
  try {
    const turn = await state.talk.say([...attached, ...messages], {
      signal,
      onText: (delta) => {
        face.write(plain(delta))
        midLine = !delta.endsWith('\n')
      },
      onToolCall: (event) =>
        begin(event.type === 'start' ? describeCall(event, palette) : describeEnd(event, palette)),
    })
    ended = endings[turn.stopReason]
  } finally {
    if (midLine) face.write('\n')
    done()
  }
  if (ended !== undefined) face.write(`${palette.yellow(ended)}\n`)
}

function greet({ host, talk }: ChatState, face: ChatFace): void {
  const { palette } = face
  const ready = [...host.connections].filter(
    ([, state]) => state.state === 'ready' || state.state === 'degraded',
  )
  const names = ready.map(([name]) => name).join(', ')
  face.write(`${palette.bold('Jackfield')}  ${modelLine(talk)}\n`)
  face.write(
    `${ready.length} of ${host.connections.size} servers are connected${names === '' ? '' : `: ${names}`}. `,
  )
  face.write(`${host.tools().length} tools, ${host.prompts().length} prompts. /help shows what you can do.\n`)
  for (const [name, state] of host.connections) {
    if (state.state === 'failed') face.write(`${palette.red(`${name} failed: ${oneLine(state.reason)}`)}\n`)
  }
}

function modelLine(talk: Conversation): string {
  return talk.model.isLanguageModel
    ? talk.model.id
    : 'No language model is set up, so the offline planner answers: it plans trips by rules. ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OLLAMA_HOST brings a model.'
}

/** Events worth a line while the person talks. */
function tell(event: HostEvent, face: ChatFace): void {
  const { palette } = face
  const line = (text: string): void => face.write(`${palette.dim(text)}\n`)
  switch (event.type) {
    case 'connection':
      if (
        event.state.state === 'failed' ||
        event.state.state === 'degraded' ||
        event.state.state === 'reconnecting'
      ) {
        line(`${event.server} is ${event.state.state}: ${oneLine(event.state.reason)}`)
      }
      return
    case 'progress': {
      const of = event.total === undefined ? '' : ` of ${event.total}`
      line(
        `  ${event.tool}: ${event.progress}${of}${event.message === undefined ? '' : ` ${oneLine(event.message)}`}`,
      )
      return
    }
    case 'resource-updated':
      line(`${event.server}: ${oneLine(event.uri)} changed`)
      return
    case 'log':
      if (event.level !== 'debug' && event.level !== 'info') {
        line(
          `${event.server} [${event.level}] ${oneLine(typeof event.data === 'string' ? event.data : JSON.stringify(event.data), 300)}`,
        )
      }
      return
    case 'catalog':
    case 'activity':
    case 'stderr':
    case 'warning':
      return
  }
}

/** Failures a person can do something about; anything else is a defect and ends the chat. */
function isExpected(error: unknown): error is Error {
  return (
    error instanceof CliError ||
    error instanceof ModelError ||
    error instanceof McpError ||
    error instanceof RpcError ||
    (error instanceof Error && error.name === 'AbortError')
  )
}
