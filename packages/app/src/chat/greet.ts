import type { Conversation, Host } from '@jackfield/host'
import { answerWith } from '../forms/later.ts'
import { inOneLine, standing } from '../output/connection.ts'
import { flowed } from '../output/flow.ts'
import { whatIsAsked } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'
import type { ChatFace } from './face.ts'
import type { ChatState } from './state.ts'
import { count } from './status.ts'

/** Who answers, before anything is started. */
export function greet(talk: Pick<Conversation, 'model'>, servers: number, face: ChatFace): void {
  const { palette } = face
  const model = talk.model.isLanguageModel
    ? oneLine(talk.model.id)
    : 'No language model is set up, so the offline planner answers: it plans trips by rules. ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OLLAMA_HOST brings a model.'
  face.write(`${flowed(`${palette.bold('Jackfield')}  ${model}`, face.columns(), 0, 2)}\n`)
  if (face.live !== undefined && servers > 0) {
    face.write(`${palette.dim(`Starting ${servers} ${servers === 1 ? 'server' : 'servers'} …`)}\n`)
  }
}

/** How the servers stand, and what can be done; with `all` false only what is wrong with servers. */
export function tellServers(host: Host, face: ChatFace, all: boolean): void {
  const { palette } = face
  const columns = face.columns()
  const ready = [...host.connections].filter(([, { state }]) => state === 'ready' || state === 'degraded')
  const names = ready.map(([name]) => oneLine(name)).join(', ')
  const meter = host.scale.meter()
  const searched = meter.deferred ? ` ${meter.why}` : ''
  const summary = [
    `${ready.length} of ${host.connections.size} servers are connected${names === '' ? '' : `: ${names}`}. ${many(host.tools().length, 'tool')} (${count(meter.tokens)} tokens), ${many(host.prompts().length, 'prompt')}.${searched} /help shows what you can do.`,
  ]
  const lines = all ? summary : []
  for (const [name, state] of host.connections) {
    if ('fix' in state) lines.push(`${oneLine(name)}: ${standing(state, palette)}. ${inOneLine(state)}`)
  }
  for (const line of lines) face.write(`${flowed(line, columns, 0, 2)}\n`)
}

/** What an empty conversation could begin with: a prompt of a server, else a question about its tools. */
export function firstWords({ host, talk }: Pick<ChatState, 'host' | 'talk'>): string | undefined {
  const [prompt] = host.library.prompts().filter(({ command }) => oneLine(command) === command)
  if (prompt !== undefined) return `/${prompt.command}`
  const tool = host.tools().find((entry) => talk.isToolOn(entry))
  return tool === undefined ? undefined : `What can you do with ${oneLine(tool.server, 40)}?`
}

/** What becomes of the questions that the person leaves behind. */
export function tellLeft({ host, talk }: ChatState, face: ChatFace, store?: string): void {
  const mine = host.inbox
    .list()
    .filter(({ question, waits }) => waits && question.cause.conversation === talk.id)
  for (const item of mine) {
    const head = `! ${oneLine(item.question.cause.server)} still waits: ${whatIsAsked(item.question)}`
    const then = item.resumable
      ? `It stays in the inbox: ${answerWith(item.id, store)}`
      : 'It ends with this conversation, and its call with it.'
    face.write(`${face.palette.yellow(flowed(`${head} ${then}`, face.columns(), 0, 2))}\n`)
  }
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
