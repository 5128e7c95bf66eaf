import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ConversationCall, ConversationEntry, ConversationFacts } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { McpError, type SamplingMessage } from '@jackfield/sdk'
import { usageError } from '../cli/exit.ts'
import { writeErrorReason } from '../cli/file-errors.ts'
import { ago } from '../output/ago.ts'
import { blockText } from '../output/content.ts'
import { wrapText } from '../output/flow.ts'
import { count, oneLine, plain } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { attachedLine } from './attachments.ts'
import { callLine } from './calls.ts'
import { callsOf } from './conversation-view.ts'
import type { ChatState } from './state.ts'
import { tokenCount } from './status.ts'
import { askUse, type ChatSurface, writeModelText } from './surface.ts'

/** Turns shown when a conversation is resumed. */
const recalledTurns = 2
/** Characters of an id shown. */
export const idLength = 8
/** Conversations listed at once, and conversations stored at most. */
const maxListed = 30
const maxListedConversations = 1_000

/** `/resume [id or words]`: lists conversations, filtered by title, or resumes one by id. */
export async function resumeConversation(
  words: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const [first] = words
  const all = await state.client.call('conversations.list', { limit: maxListedConversations })
  if (first !== undefined && words.length === 1 && all.some(({ id }) => id.startsWith(first)))
    return await openConversation(first, state, surface)
  if (all.length === 0) {
    surface.write('No conversation is stored yet.\n')
    return
  }
  const fitting = all.filter(({ title }) =>
    words.every((word) => title.toLowerCase().includes(word.toLowerCase())),
  )
  if (fitting.length === 0)
    throw usageError(
      `No conversation has the id or the title "${oneLine(words.join(' '), 60)}". /resume lists them.`,
    )
  // Newest last, next to the prompt.
  const listed = fitting.slice(0, maxListed).toReversed()
  const rows = listed.map((facts) => conversationRow(facts, state.conversation.id))
  const columns = surface.columns()
  surface.write(
    `${table(['ID', 'LAST USED', 'TURNS', 'MODEL', 'TITLE'], rows, { palette: surface.palette, columns })}\n`,
  )
  const number = count(fitting.length, 'conversation')
  const part =
    fitting.length > listed.length ? `${number}; the last ${listed.length} are shown.` : `${number}.`
  const hint = '/resume <id> resumes one, /resume <words> finds those whose title has the words.'
  surface.write(`${surface.palette.dim(wrapText(`${part} ${hint}`, columns))}\n`)
}

/** Resumes a stored conversation by its id or an id prefix, and shows its last turns. */
export async function openConversation(which: string, state: ChatState, surface: ChatSurface): Promise<void> {
  await state.open({ id: which })
  await showTranscript(state, surface)
}

/** Title, a summary of the last turns, and what was lost. */
export async function showTranscript(state: ChatState, surface: ChatSurface): Promise<void> {
  const { id } = state.conversation
  const [all, calls] = await Promise.all([
    state.client.call('conversations.list', { limit: maxListedConversations }),
    state.client.call('conversations.calls', { id }),
  ])
  const facts = all.find((one) => one.id === id)
  if (facts !== undefined) writeConversation(facts, state, surface)
  writeLastTurns(state.conversation.entries, calls, state, surface)
  state.conversation.show()
}

/** `/new` */
export async function startConversation(state: ChatState, surface: ChatSurface): Promise<void> {
  await state.open()
  state.conversation.show()
  surface.write('New conversation. The previous one is saved: /resume continues it.\n')
}

/** `/fork [turns]`: continues in a copy without the last turns. */
export async function forkConversation(
  [turnCount = '0']: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const turns = Number(turnCount)
  if (!Number.isInteger(turns) || turns < 0) throw usageError('Usage: /fork [turns to leave out]')
  const { id } = state.conversation
  const entries = await state.client.call('conversations.entries', { id })
  const starts = entries.flatMap((entry, at) => (entry.kind === 'turn' ? [at] : []))
  if (turns >= starts.length && turns > 0) throw usageError(`It has only ${starts.length} turns.`)
  const place = turns === 0 ? entries.length : (starts.at(-turns) ?? 0)
  await openConversation(await state.client.call('conversations.fork', { id, place }), state, surface)
}

/** `/title [words]` */
export async function showTitle(
  words: readonly string[],
  { client, conversation }: ChatState,
  surface: ChatSurface,
): Promise<void> {
  if (words.length > 0)
    await client.call('conversations.setTitle', { id: conversation.id, title: words.join(' ') })
  surface.write(`${oneLine(conversation.info.title) || 'It has no title yet.'}\n`)
}

/** `/save <file>`: writes the whole conversation as Markdown, or as JSON for a `.json` file. */
export async function saveConversation(
  [file]: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  if (file === undefined) throw usageError('Usage: /save <file.md | file.json>')
  const { id, title } = state.conversation.info
  const entries = await state.client.call('conversations.entries', { id })
  const text = file.endsWith('.json')
    ? `${JSON.stringify({ id, title, entries }, null, 2)}\n`
    : conversationMarkdown(title, entries, surface)
  try {
    await writeFile(resolve(state.cwd, file), text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw usageError(`It was not saved: ${writeErrorReason(error)}. Name another file.`)
  }
  surface.write(`Saved as ${oneLine(file)}.\n`)
}

/** `/compact [summary]`: replaces earlier messages with a summary, after the user confirmed it. */
export async function compactConversation(
  words: readonly string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  const { palette } = surface
  const { client, conversation } = state
  const { id } = conversation
  let summary = words.join(' ')
  if (summary === '') {
    surface.write(`${palette.dim(`${oneLine(conversation.info.model)} writes a summary …`)}\n`)
    const stop = (): void => void client.call('conversations.stop', { id }).catch(() => {})
    signal.addEventListener('abort', stop, { once: true })
    summary = await client
      .call('conversations.summarize', { id })
      .finally(() => signal.removeEventListener('abort', stop))
    for (;;) {
      writeModelText(summary, surface)
      const answer = await askUse('Replace the earlier messages with this summary?', surface)
      if (answer === 'yes') break
      const edited =
        answer === 'edit'
          ? await surface.readLine('summary › ', { draft: plain(summary).replace(/\s+/g, ' ') })
          : undefined
      if (edited === undefined) {
        surface.write('Nothing was changed.\n')
        return
      }
      if (edited.trim() !== '') summary = edited
    }
  }
  await client.call('conversations.compact', { id, summary })
}

function writeConversation(facts: ConversationFacts, state: ChatState, surface: ChatSurface): void {
  if (surface.emit !== undefined) {
    const { id, title, turns } = facts
    surface.emit({ type: 'conversation', id, title, turns, model: state.conversation.info.model })
    return
  }
  const { palette } = surface
  const about = `${count(facts.turns, 'turn')}, last used ${ago(facts.lastAt, Date.now())}`
  surface.write(`${palette.bold(oneLine(facts.title, 80) || 'Untitled')}  ${palette.dim(about)}\n`)
}

/** A summary of the last turns, and what was lost. */
function writeLastTurns(
  entries: readonly ConversationEntry[],
  calls: readonly ConversationCall[],
  state: ChatState,
  surface: ChatSurface,
): void {
  if (surface.emit === undefined) {
    const starts = entries.flatMap((entry, at) => (entry.kind === 'turn' ? [at] : []))
    for (const entry of entries.slice(starts.at(-recalledTurns) ?? 0)) {
      if (entry.kind !== 'message') continue
      if (entry.attached !== undefined) {
        const line = wrapText(attachedLine(entry.attached), surface.columns(), 0, 2)
        surface.write(`${surface.palette.dim(line)}\n`)
        continue
      }
      if (entry.by === 'host') continue
      const words = messageText(entry.message)
      if (words !== '') {
        if (entry.by === 'person') surface.write(`${surface.palette.green('you')} › ${oneLine(words, 300)}\n`)
        else writeModelText(words, surface)
      }
      for (const { id, name, input } of callsOf(entry.message)) {
        const number = calls.findLastIndex((call) => call.id === id) + 1 || undefined
        surface.write(`${callLine({ type: 'start', id, name, arguments: input, number }, surface.palette)}\n`)
      }
    }
  }
  for (const name of state.conversation.info.unfinished ?? []) {
    const text = `! ${oneLine(name)} was running when the program ended. It has no result, and it is unknown whether it took effect; the model is informed.`
    surface.write(`${surface.palette.yellow(wrapText(text, surface.columns(), 0, 2))}\n`)
  }
}

function conversationRow(facts: ConversationFacts, currentId: string): string[] {
  const { id, lastAt, turns, model, inputTokens, outputTokens } = facts
  const tokens = inputTokens + outputTokens
  return [
    id.slice(0, idLength),
    ago(lastAt, Date.now()),
    String(turns),
    oneLine(model, 30),
    `${id === currentId ? '▸ ' : ''}${facts.fork === undefined ? '' : '⑂ '}${oneLine(facts.title, 60)}${tokens === 0 ? '' : ` (${tokenCount(tokens)} tokens)`}`,
  ]
}

/** The texts of a message. */
export function messageText({ content }: SamplingMessage): string {
  const blocks = Array.isArray(content) ? content : [content]
  return blocks
    .flatMap((one) => (one.type === 'text' ? [one.text] : []))
    .join('\n\n')
    .trim()
}

function conversationMarkdown(
  title: string,
  entries: readonly ConversationEntry[],
  surface: ChatSurface,
): string {
  const parts = entries.map((entry) => entryMarkdown(entry, surface)).filter((part) => part !== '')
  return `# ${title}\n\n${parts.join('\n\n')}\n`
}

function entryMarkdown(entry: ConversationEntry, { palette }: ChatSurface): string {
  switch (entry.kind) {
    case 'turn':
      return '## You'
    case 'message': {
      const { content } = entry.message
      const blocks = Array.isArray(content) ? content : [content]
      const text = blocks.map((one) => plain(blockText(one, palette))).join('\n\n')
      if (entry.attached !== undefined)
        return `### Attached: ${plain(attachedLine(entry.attached).slice(2))}\n\n${fenced(text)}`
      return entry.by === 'model' ? `## Model\n\n${text}` : text
    }
    case 'result': {
      const text = entry.result.content.map((one) => plain(blockText(one, palette))).join('\n')
      return `### Result\n\n${fenced(text)}`
    }
    case 'summary':
      return `## Summary\n\n${entry.text}`
    case 'tools':
    case 'usage':
    case 'title':
      return ''
  }
}

/** Fenced with more backticks than the text contains. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

/** The most recent conversation. @throws McpError 'INVALID' if none is stored */
export async function latestConversationId(client: HostClient): Promise<string> {
  const [last] = await client.call('conversations.list', { limit: 1 })
  if (last === undefined)
    throw new McpError('INVALID', 'No conversation is stored yet, so none can be resumed.')
  return last.id
}
