import type { AttachedCopy, AttachedResource, CopyDiff, ResourceRef } from '@jackfield/host'
import { usageError } from '../cli/exit.ts'
import { ago } from '../output/ago.ts'
import { diffPieceText } from '../output/definitions.ts'
import { wrapText } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { ChatState } from './state.ts'
import { tokenCount } from './status.ts'
import { type ChatSurface, writeIndented } from './surface.ts'

/** Unchanged words shown on each side of a difference. */
const contextCharacters = 60
const maxDiff = 4_000

/** Reads the resources that are sent with the next message, and prints a line for each. */
export async function attach(
  refs: readonly ResourceRef[],
  state: ChatState,
  surface: ChatSurface,
  signal?: AbortSignal,
): Promise<void> {
  const { palette } = surface
  const line = (text: string): void => surface.write(`${wrapText(text, surface.columns(), 0, 2)}\n`)
  const { attached, failed, withheld } = await state.client.call(
    'library.attach',
    { conversation: state.conversation.id, refs: refs.map(({ server, uri }) => ({ server, uri })) },
    signal === undefined ? {} : { signal },
  )
  for (const copy of attached) line(palette.dim(`${attachedLine(copy)}; it is sent with your message.`))
  for (const { uri, reason } of [...failed, ...withheld])
    line(palette.yellow(`! ${oneLine(uri)} is not attached: ${oneLine(reason)}`))
}

/** An attached resource, and why it was attached if the user did not choose it. */
export function attachedLine({ uri, title, tokens, because }: AttachedResource): string {
  const about = `+ ${oneLine(title)}  ${oneLine(uri)}  about ${tokenCount(tokens)} tokens`
  return because === undefined ? about : `${about}; included since ${oneLine(because)}`
}

/** `/attached [number]`: lists attached resources and their state, or shows what has changed in one. */
export async function listAttached(
  [which]: readonly string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  const copies = await attachedCopies(state)
  if (which !== undefined) return await showDiff(copyNumbered(copies, which), state, surface, signal)
  if (copies.length === 0) {
    surface.write('Nothing is attached. Attach a resource with /attach or @server:uri.\n')
    return
  }
  const rows = copies.map((copy, n) => [
    String(n + 1),
    oneLine(copy.server, 20),
    `${oneLine(copy.title, 40)}${copy.because === undefined ? '' : `\n${surface.palette.dim(oneLine(copy.because))}`}`,
    ago(copy.at, Date.now()),
    tokenCount(copy.tokens),
    copyState(copy, surface.palette),
  ])
  const heads = ['NUMBER', 'SERVER', 'TITLE', 'READ', 'TOKENS', 'STATE']
  surface.write(`${table(heads, rows, { palette: surface.palette, columns: surface.columns() })}\n`)
  const hint =
    '/attached <number> shows what changed; /attach again [number] attaches the current version; /detach <number | all> removes it.'
  surface.write(`${surface.palette.dim(wrapText(hint, surface.columns()))}\n`)
}

/** `/attach again [number]`: shows what has changed in attached resources and attaches their current versions. */
export async function attachAgain(
  which: string | undefined,
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  const copies = await attachedCopies(state)
  const chosen = which === undefined ? copies.filter(({ stale }) => stale) : [copyNumbered(copies, which)]
  if (chosen.length === 0) {
    surface.write(
      copies.length === 0
        ? 'Nothing is attached.\n'
        : 'No attached resource is known to have changed. /attach again <number> reads one again anyway.\n',
    )
    return
  }
  for (const copy of chosen) await showDiff(copy, state, surface, signal)
  await attach(chosen, state, surface, signal)
}

/** `/detach <number | all>`: removes attached resources; they are no longer sent or watched. */
export async function detach(
  [which, ...more]: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const { client, conversation } = state
  const copies = await attachedCopies(state)
  if (copies.length === 0) throw usageError('Nothing is attached.')
  if (more.length > 0 || (which === undefined && copies.length > 1))
    throw usageError('Usage: /detach <number | all>. /attached has the numbers.')
  const detached = which === 'all' ? copies : [copyNumbered(copies, which ?? '1')]
  for (const copy of detached) {
    const { server, uri } = copy
    const isWaiting = conversation.isWaiting(copy)
    const method = copy.because === undefined ? 'library.detach' : 'library.exclude'
    await client.call(method, { conversation: conversation.id, ref: { server, uri } })
    const rest = isWaiting ? 'it is not sent' : 'the model keeps what it was given before'
    const line = `- ${oneLine(copy.title)}  ${oneLine(copy.uri)}  is no longer attached; ${rest}.`
    surface.write(`${surface.palette.dim(wrapText(line, surface.columns(), 0, 2))}\n`)
  }
}

/** Resources attached to the current conversation. */
export async function attachedCopies({
  client,
  conversation,
}: Pick<ChatState, 'client' | 'conversation'>): Promise<AttachedCopy[]> {
  return await client.call('library.attached', { conversation: conversation.id })
}

function copyNumbered(copies: readonly AttachedCopy[], which: string): AttachedCopy {
  const copy = /^\d+$/.test(which) ? copies[Number(which) - 1] : undefined
  if (copy === undefined) throw usageError(`There is no attached resource ${which}. /attached lists them.`)
  return copy
}

async function showDiff(
  copy: AttachedCopy,
  { client, conversation }: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  const { server, uri } = copy
  const diff = await client.call(
    'library.diff',
    { conversation: conversation.id, ref: { server, uri } },
    { signal },
  )
  const { palette } = surface
  const head = `${palette.bold(oneLine(copy.title))}  ${palette.dim(oneLine(copy.uri))}`
  surface.write(`${wrapText(head, surface.columns(), 0, 2)}\n`)
  writeIndented(diffText(diff, palette), surface)
}

function diffText({ changed, pieces, tokens }: CopyDiff, palette: Palette): string {
  if (!changed) return 'It has not changed.'
  if (pieces === undefined)
    return `It changed (about ${tokenCount(tokens.was)} tokens before, ${tokenCount(tokens.is)} now).`
  const text = pieces
    .map((piece, n) => {
      if (piece.kind !== 'same') return diffPieceText(piece, palette)
      const shown = diffPieceText(
        { ...piece, text: shortened(piece.text, n === 0, n === pieces.length - 1) },
        palette,
      )
      return shown
    })
    .join('')
  return text.length <= maxDiff
    ? text
    : `${text.slice(0, maxDiff)}…\nThe rest of the difference is not shown.`
}

/** Unchanged text, cut to the words next to a difference. */
function shortened(text: string, isFirst: boolean, isLast: boolean): string {
  const [head, tail] = [
    isFirst ? '' : text.slice(0, contextCharacters),
    isLast ? '' : text.slice(-contextCharacters),
  ]
  return text.length <= 2 * contextCharacters ? text : `${head} … ${tail}`
}

function copyState({ stale, watched }: AttachedCopy, palette: Palette): string {
  if (stale) return palette.yellow('changed since')
  return watched ? 'current' : palette.dim('not watched')
}
