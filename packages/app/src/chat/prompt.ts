import type { LibraryPrompt } from '@jackfield/host'
import type { SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { parseTextArguments } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { cancelled } from '../forms/prompter.ts'
import { promptResult } from '../output/content.ts'
import { wrapText } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { editText, hasEditor } from '../surface/edit.ts'
import type { CommandOutcome } from './commands.ts'
import { quoteWord, splitWords } from './slash.ts'
import type { ChatState } from './state.ts'
import { askUse, type ChatSurface, writeIndented } from './surface.ts'
import { typeahead } from './typeahead.ts'

/**
 * Uses a prompt: asks for missing arguments, with the last values used in this folder as defaults, shows the messages, and sends
 * them as they are or as edited.
 */
export async function usePrompt(
  name: string,
  words: string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const { client, conversation } = state
  const prompts = await client.call('library.prompts', {})
  const entry = prompts.find(({ command }) => command === name)
  if (entry === undefined) throw usageError(`There is no prompt /${name}.`)
  const notSent = (): CommandOutcome => {
    surface.write('Not sent.\n')
    return { kind: 'done' }
  }
  const args = await askArguments(entry, parseTextArguments(words), state, surface)
  if (args === undefined) return notSent()
  const preview = await client.call(
    'library.prompt',
    { prompt: name, arguments: args, conversation: conversation.id },
    { signal },
  )
  await client.call('library.keepPromptValues', { prompt: name, arguments: args })
  let messages = [...preview.input]
  writeIndented(promptResult({ messages: [...preview.messages] }, surface.palette), surface)
  for (;;) {
    const answer = await askUse(`Send this to the model (about ${preview.tokens} tokens)?`, surface)
    if (answer === 'yes') return { kind: 'say', messages }
    const changed = answer === 'edit' ? await editMessages(messages, state, surface) : undefined
    if (changed === undefined) return notSent()
    messages = changed
    writeIndented(messages.map(messageLines).join('\n\n'), surface)
  }
}

/** The given arguments, and the others as typed, with server completions on Tab; undefined when the user leaves. */
async function askArguments(
  entry: LibraryPrompt,
  given: Record<string, string>,
  state: ChatState,
  surface: ChatSurface,
): Promise<Record<string, string> | undefined> {
  const { client } = state
  const args = { ...given }
  const before = await client.call('library.promptValues', { prompt: entry.command })
  const missing = (entry.prompt.arguments ?? []).filter(({ name }) => !Object.hasOwn(args, name))
  for (const { name, description } of missing.filter(({ required }) => required === true)) {
    const about = description === undefined ? '' : ` (${oneLine(description, 200)})`
    const typed = await surface.readLine(`  ${oneLine(name)}${about} › `, {
      draft: draftFor(before[name]),
      complete: async (line) => {
        const field = { server: entry.server, of: { prompt: entry.prompt.name }, argument: name }
        const completion = await client.call('library.complete', { ...field, value: line, chosen: args })
        return [(completion?.values ?? []).filter((value) => plain(value) === value), line]
      },
    })
    if (typed === undefined) return undefined
    if (typed.trim() === '')
      throw usageError(`/${oneLine(entry.command)} needs ${oneLine(name)}=…; nothing was sent.`)
    args[name] = typed.trim()
  }
  const others = missing.filter(({ required }) => required !== true).map(({ name }) => name)
  // In a pipe the next lines are messages, so optional arguments are not prompted for.
  if (others.length === 0 || surface.live === undefined) return args
  const more = await askOptionalArguments(entry, others, args, before, state, surface)
  return more === undefined ? undefined : { ...args, ...more }
}

/** Optional arguments share one line, so that one key skips them all. */
async function askOptionalArguments(
  entry: LibraryPrompt,
  names: readonly string[],
  chosen: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
  { client }: ChatState,
  surface: ChatSurface,
): Promise<Record<string, string> | undefined> {
  const draft = names
    .map((name) => ({ name, value: draftFor(before[name]) }))
    .filter(({ name, value }) => value !== '' && /^[^\s=]+$/.test(name))
    .map(({ name, value }) => `${name}=${quoteWord(value)}`)
    .join(' ')
  // Earlier arguments are context for the server's completions.
  const head = `/${entry.command} ${Object.entries(chosen)
    .map(([name, value]) => `${name}=${quoteWord(value)} `)
    .join('')}`
  const list = names.map((name) => `[${oneLine(name)}=…]`).join(' ')
  surface.write(`${surface.palette.dim(wrapText(`  ${list}`, surface.columns(), 0, 2))}\n`)
  for (;;) {
    const typed = await surface.readLine('  more, or nothing › ', {
      draft,
      complete: async (line) => {
        const ahead = await typeahead(head + line, client, [])
        const hits = (ahead?.candidates ?? []).map(({ text }) => text).filter((text) => plain(text) === text)
        return [hits, ahead === undefined ? line : line.slice(Math.max(0, ahead.from - head.length))]
      },
    })
    if (typed === undefined) return undefined
    const args = parseTextArguments(splitWords(typed))
    const unknown = Object.keys(args).find((name) => !names.includes(name))
    if (unknown === undefined) return args
    surface.write(`${surface.palette.yellow(`The prompt has no other argument ${oneLine(unknown)}.`)}\n`)
  }
}

/** Lets the user edit the text of each message: in their editor, else on one line; undefined when cancelled. */
async function editMessages(
  messages: readonly SamplingMessage[],
  { env }: ChatState,
  surface: ChatSurface,
): Promise<SamplingMessage[] | undefined> {
  let isLeft = false
  const onLine = {
    say: (lines: string[]) => surface.write(`${lines.join('\n')}\n`),
    text: async ({ initial = '' }: { initial?: string }) => {
      const line = await surface.readLine('  ⏎ is a new line › ', {
        draft: plain(initial).replaceAll('\n', '⏎'),
      })
      isLeft = line === undefined
      return line === undefined ? cancelled : line.replaceAll('⏎', '\n')
    },
  }
  const change = async (block: SamplingContent): Promise<SamplingContent> => {
    if (block.type !== 'text') return block
    const edit = () => editText(block.text, { prompter: onLine, env, suffix: '.md' })
    const text = await (hasEditor(env) && surface.aside !== undefined ? surface.aside(edit) : edit())
    return text === cancelled ? block : { ...block, text }
  }
  const changed: SamplingMessage[] = []
  for (const { role, content } of messages) {
    const blocks: SamplingContent[] = []
    for (const block of Array.isArray(content) ? content : [content]) {
      blocks.push(await change(block))
      if (isLeft) return undefined
    }
    const [only, ...more] = blocks
    changed.push({ role, content: only !== undefined && more.length === 0 ? only : blocks })
  }
  return changed
}

function messageLines({ role, content }: SamplingMessage): string {
  const blocks = Array.isArray(content) ? content : [content]
  return blocks
    .map((block) => `${role}: ${block.type === 'text' ? plain(block.text) : `(${block.type})`}`)
    .join('\n')
}

/** A remembered value that fits on one line, else undefined. */
function draftFor(value: string | undefined): string {
  return value !== undefined && plain(value) === value && !/[\n\t]/.test(value) ? value : ''
}
