import type { AttachedCopy } from '@jackfield/host'
import { usageError } from '../cli/exit.ts'
import { wrapText } from '../output/flow.ts'
import { oneLine } from '../output/sanitize.ts'
import { attachedCopies, attachedLine } from './attachments.ts'
import type { ChatState } from './state.ts'
import { tokenCount } from './status.ts'
import type { ChatSurface } from './surface.ts'

/** Share of the model's context that automatic attachments may fill. */
const contextShare = 0.03
/** Maximum time a message waits for reading them. */
const requestTimeoutMs = 5_000

/**
 * Attaches resources that servers mark as important for a model, within a budget, and shows each with the reason. Runs only
 * before the first message of a conversation, so each is sent once.
 */
export async function includeContext(
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  for (const copy of await attachMarkedResources(state, surface, signal)) {
    const line = `${attachedLine(copy)}. /context off leaves it out.`
    surface.write(`${surface.palette.dim(wrapText(line, surface.columns(), 0, 2))}\n`)
  }
}

/** Attaches them and returns the new ones. */
async function attachMarkedResources(
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<AttachedCopy[]> {
  const { client, conversation, context } = state
  if (!context.on || !conversation.isEmpty) return []
  const timeout = AbortSignal.timeout(requestTimeoutMs)
  const before = await attachedCopies(state)
  try {
    const inclusion = await client.call(
      'library.include',
      { conversation: conversation.id },
      { signal: AbortSignal.any([signal, timeout]) },
    )
    context.last = { conversation: conversation.id, inclusion }
  } catch (error) {
    signal.throwIfAborted()
    if (!timeout.aborted) throw error
    const warning = `! Resources that servers mark for a model were not read within ${requestTimeoutMs / 1_000} s and are not included.`
    surface.write(`${surface.palette.yellow(wrapText(warning, surface.columns(), 0, 2))}\n`)
  }
  return (await attachedCopies(state)).filter(
    (copy) =>
      copy.because !== undefined &&
      !before.some(({ server, uri }) => server === copy.server && uri === copy.uri),
  )
}

/** `/context [on | off]`: shows what was included automatically and why, and what was not. */
export async function showContext(
  [verb, ...more]: readonly string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  if (more.length > 0 || (verb !== undefined && verb !== 'on' && verb !== 'off'))
    throw usageError('Usage: /context [on | off]')
  const { client, conversation, context } = state
  const line = (text: string): void => surface.write(`${wrapText(text, surface.columns(), 0, 2)}\n`)
  if (verb === 'off') {
    context.on = false
    for (const { server, uri, because } of await attachedCopies(state))
      if (because !== undefined)
        await client.call('library.detach', { conversation: conversation.id, ref: { server, uri } })
  } else if (verb === 'on') context.on = true
  if (!context.on) {
    line(
      'Nothing is included unless you attach it, in this and later conversations. /context on changes that.',
    )
    if (!conversation.isEmpty) line(surface.palette.dim('The model keeps what it was given before.'))
    return
  }
  await attachMarkedResources(state, surface, signal)
  const last = context.last?.conversation === conversation.id ? context.last.inclusion : undefined
  if (last === undefined) {
    line(
      'Nothing was included when this conversation began. A new one includes what servers mark for a model.',
    )
    return
  }
  for (const copy of last.included)
    line(
      `  ${oneLine(copy.title)}  ${oneLine(copy.uri)}  about ${tokenCount(copy.tokens)} tokens: ${oneLine(copy.because ?? '')}`,
    )
  const resources = await client.call('catalog.resources', {})
  const isForModel = ({ server, uri }: { server: string; uri: string }): boolean =>
    resources.some(
      (entry) =>
        entry.server === server &&
        entry.resource.uri === uri &&
        entry.resource.annotations?.audience?.includes('assistant') === true,
    )
  for (const { uri, reason } of last.left.filter(isForModel))
    line(surface.palette.dim(`  not ${oneLine(uri)}: ${oneLine(reason)}`))
  const summary = `${tokenCount(last.tokens)} of ${tokenCount(last.budget)} tokens are included (${contextShare * 100} % of the model's context). /context off leaves them out.`
  line(surface.palette.dim(summary))
}
