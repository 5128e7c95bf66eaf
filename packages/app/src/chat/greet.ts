import { respondCommand } from '../forms/later-choice.ts'
import { inOneLine, stateText } from '../output/connection.ts'
import { wrapText } from '../output/flow.ts'
import { questionSummary } from '../output/inbox.ts'
import { count, oneLine } from '../output/sanitize.ts'
import type { ConversationView } from './conversation-view.ts'
import type { ChatState } from './state.ts'
import { tokenCount } from './status.ts'
import type { ChatSurface } from './surface.ts'

/** The model that answers, printed before anything starts. */
export function writeGreeting({ info }: ConversationView, servers: number, surface: ChatSurface): void {
  const { palette } = surface
  const model = info.isLanguageModel
    ? oneLine(info.model)
    : 'No language model is configured, so the offline planner answers: it plans trips by fixed rules. To use a model, set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST or OPENAI_COMPATIBLE_BASE_URL.'
  surface.write(`${wrapText(`${palette.bold('Jackfield')}  ${model}`, surface.columns(), 0, 2)}\n`)
  if (surface.live !== undefined && servers > 0) {
    surface.write(`${palette.dim(`Starting ${count(servers, 'server')} …`)}\n`)
  }
}

/** The server states and what to do next; with `all` false, only server problems. */
export async function writeServers({ client }: ChatState, surface: ChatSurface, all: boolean): Promise<void> {
  const { palette } = surface
  const columns = surface.columns()
  const servers = await client.call('servers.list', {})
  const lines: string[] = []
  if (all) {
    const [meter, tools, prompts] = await Promise.all([
      client.call('catalog.meter', {}),
      client.call('catalog.tools', {}),
      client.call('catalog.prompts', {}),
    ])
    const ready = servers.filter(({ connection: { state } }) => state === 'ready' || state === 'degraded')
    const names = ready.map(({ name }) => oneLine(name)).join(', ')
    const searched = meter.deferred ? ` ${meter.reason}` : ''
    lines.push(
      `${ready.length} of ${servers.length} servers are connected${names === '' ? '' : `: ${names}`}. ${count(tools.length, 'tool')} (${tokenCount(meter.tokens)} tokens), ${count(prompts.length, 'prompt')}.${searched} /help shows what you can do.`,
    )
  }
  for (const { name, connection } of servers) {
    if ('fixes' in connection)
      lines.push(`${oneLine(name)}: ${stateText(connection, palette)}. ${inOneLine(connection)}`)
    else if (connection.state === 'connecting')
      lines.push(
        `${oneLine(name)}: ${stateText(connection, palette)}. Its tools are listed here once it is ready.`,
      )
  }
  for (const line of lines) surface.write(`${wrapText(line, columns, 0, 2)}\n`)
}

/** A suggestion for an empty conversation: a prompt of a server, else a question about its tools. */
export async function suggestMessage({ client, conversation }: ChatState): Promise<string | undefined> {
  const prompts = await client.call('library.prompts', {})
  const prompt = prompts.find(({ command }) => oneLine(command) === command)
  if (prompt !== undefined) return `/${prompt.command}`
  const tools = await client.call('catalog.tools', {})
  const tool = tools.find((entry) => conversation.isToolOn(entry))
  return tool === undefined ? undefined : `What can you do with ${oneLine(tool.server, 40)}?`
}

/** Prints how to answer the questions that are still open when the user leaves. */
export async function writeDeferred(
  { client, conversation, store, isShared }: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const open = await client.call('inbox.list', {})
  const ownQuestions = open.filter(
    ({ question, waits }) => waits && question.cause.conversation === conversation.id,
  )
  for (const item of ownQuestions) {
    const head = `! ${oneLine(item.question.cause.server)} still waits: ${questionSummary(item.question)}`
    const then =
      item.resumable || isShared
        ? `It stays in the inbox: ${respondCommand(item.id, store)}`
        : 'The question and its call end with this conversation.'
    surface.write(`${surface.palette.yellow(wrapText(`${head} ${then}`, surface.columns(), 0, 2))}\n`)
  }
}
