import type { AttachedCopy, Inclusion, ResourceRef } from '@jackfield/host'
import { usageError } from '../cli/exit.ts'
import { flowed } from '../output/flow.ts'
import { oneLine } from '../output/sanitize.ts'
import { isSame } from './attached.ts'
import type { ChatFace } from './face.ts'
import type { ChatState } from './state.ts'
import { contextLimit, count } from './status.ts'

/** The part of the model's context that may be filled without being chosen. */
const share = 0.03
const usualContext = 128_000
/** The least `annotations.priority`: 1 means that a server considers it required. */
const priority = 0.8
/** The longest that a message waits for reading them. */
const patienceMs = 5_000

/** Whether resources are included without being chosen, and the last inclusion. */
export interface AutomaticContext {
  on: boolean
  last?: { readonly conversation: string; readonly inclusion: Inclusion }
}

/**
 * Attaches resources that servers mark as important for a model, within a budget, and shows each with the reason. Only
 * before the first message of a conversation, so that each is sent once.
 */
export async function includeContext(state: ChatState, face: ChatFace, signal: AbortSignal): Promise<void> {
  for (const { title, uri, tokens, because = '' } of await find(state, face, signal)) {
    const line = `+ ${oneLine(title)}  ${oneLine(uri)}  about ${count(tokens)} tokens; included since ${oneLine(because)}. /context off leaves it out.`
    face.write(`${face.palette.dim(flowed(line, face.columns(), 0, 2))}\n`)
  }
}

/** Attaches them and returns those that were not attached before. */
async function find(state: ChatState, face: ChatFace, signal: AbortSignal): Promise<AttachedCopy[]> {
  const { host, talk, context } = state
  if (!context.on || talk.messages.length > 0) return []
  const patience = AbortSignal.timeout(patienceMs)
  const budget = budgetOf(state)
  // Reading from a server with labels puts them on the whole conversation, which only the person may cause.
  const labelled = ({ server }: ResourceRef): string | undefined => {
    const labels = state.servers[server]?.labels ?? []
    return labels.length === 0
      ? undefined
      : `its server has the label ${labels.join(', ')}; /attach includes it`
  }
  try {
    const within = { budget, priority, skip: labelled, signal: AbortSignal.any([signal, patience]) }
    context.last = { conversation: talk.id, inclusion: await host.library.include(talk.id, within) }
  } catch (error) {
    signal.throwIfAborted()
    if (!patience.aborted) throw error
    const late = `! Resources that servers mark for a model were not read within ${patienceMs / 1_000} s and are not included.`
    face.write(`${face.palette.yellow(flowed(late, face.columns(), 0, 2))}\n`)
  }
  const found = host.library
    .attached(talk.id)
    .filter((copy) => copy.because !== undefined && !state.attached.some(({ ref }) => isSame(ref, copy)))
  for (const { server, uri, messages } of found) state.attached.push({ ref: { server, uri }, messages })
  return found
}

/** `/context [on | off]`: what is included without being chosen and why, and what is not. */
export async function showContext(
  [verb, ...more]: readonly string[],
  state: ChatState,
  face: ChatFace,
  signal: AbortSignal,
): Promise<void> {
  if (more.length > 0 || (verb !== undefined && verb !== 'on' && verb !== 'off'))
    throw usageError('Usage: /context [on | off]')
  const { host, talk, context } = state
  const line = (text: string): void => face.write(`${flowed(text, face.columns(), 0, 2)}\n`)
  if (verb === 'off') {
    context.on = false
    const gone = host.library.attached(talk.id).filter(({ because }) => because !== undefined)
    for (const copy of gone) host.library.detach(talk.id, copy)
    state.attached = state.attached.filter(({ ref }) => !gone.some((copy) => isSame(ref, copy)))
  } else if (verb === 'on') context.on = true
  if (!context.on) {
    line(
      'Nothing is included unless you attach it, in this and later conversations. /context on changes that.',
    )
    if (talk.messages.length > 0) line(face.palette.dim('The model keeps what it was given before.'))
    return
  }
  await find(state, face, signal)
  const last = context.last?.conversation === talk.id ? context.last.inclusion : undefined
  if (last === undefined) {
    line(
      'Nothing was included when this conversation began. A new one includes what servers mark for a model.',
    )
    return
  }
  for (const copy of last.included)
    line(
      `  ${oneLine(copy.title)}  ${oneLine(copy.uri)}  about ${count(copy.tokens)} tokens: ${oneLine(copy.because ?? '')}`,
    )
  for (const { uri, reason } of last.left.filter((one) => isMeant(one, state)))
    line(face.palette.dim(`  not ${oneLine(uri)}: ${oneLine(reason)}`))
  const sum = `${count(last.tokens)} of ${count(last.budget)} tokens are included (${share * 100} % of the model's context). /context off leaves them out.`
  line(face.palette.dim(sum))
}

/** Whether a resource that was left out is marked for a model. */
function isMeant({ server, uri }: { server: string; uri: string }, { host }: ChatState): boolean {
  return host
    .resources()
    .some(
      (entry) =>
        entry.server === server &&
        entry.resource.uri === uri &&
        entry.resource.annotations?.audience?.includes('assistant') === true,
    )
}

function budgetOf(state: ChatState): number {
  return Math.floor((contextLimit(state) ?? usualContext) * share)
}
