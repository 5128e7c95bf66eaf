import type { AttachedCopy, Inclusion } from '@jackfield/host'
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
/** A message does not wait longer than this for what goes along by itself. */
const patienceMs = 5_000

/** Whether resources go along without being chosen, and what was found the last time. */
export interface AutomaticContext {
  on: boolean
  last?: { readonly conversation: string; readonly inclusion: Inclusion }
}

/**
 * Attaches what servers mean for a model with a high priority, within a budget, and shows each with the reason. Only a
 * conversation in which nothing was said yet gets it, so that it goes along once.
 */
export async function includeContext(state: ChatState, face: ChatFace, signal: AbortSignal): Promise<void> {
  for (const { title, uri, tokens, because = '' } of await find(state, face, signal)) {
    const line = `+ ${oneLine(title)}  ${oneLine(uri)}  about ${count(tokens)} tokens; it goes along since ${oneLine(because)}. /context off leaves it out.`
    face.write(`${face.palette.dim(flowed(line, face.columns(), 0, 2))}\n`)
  }
}

/** Attaches what is to go along by itself. Gives what was not attached before. */
async function find(state: ChatState, face: ChatFace, signal: AbortSignal): Promise<AttachedCopy[]> {
  const { host, talk, context } = state
  if (!context.on || talk.messages.length > 0) return []
  const patience = AbortSignal.timeout(patienceMs)
  const budget = budgetOf(state)
  try {
    const within = { budget, priority, signal: AbortSignal.any([signal, patience]) }
    context.last = { conversation: talk.id, inclusion: await host.library.include(talk.id, within) }
  } catch (error) {
    signal.throwIfAborted()
    if (!patience.aborted) throw error
    const late = `! What servers mean for a model was not read within ${patienceMs / 1_000} s, so it does not go along.`
    face.write(`${face.palette.yellow(flowed(late, face.columns(), 0, 2))}\n`)
  }
  const found = host.library
    .attached(talk.id)
    .filter((copy) => copy.because !== undefined && !state.attached.some(({ ref }) => isSame(ref, copy)))
  for (const { server, uri, messages } of found) state.attached.push({ ref: { server, uri }, messages })
  return found
}

/** `/context [on | off]`: what goes along by itself and why, and what does not. */
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
      'Only what you attach goes along with this conversation and those that follow. /context on changes that.',
    )
    if (talk.messages.length > 0) line(face.palette.dim('The model keeps what it was given before.'))
    return
  }
  await find(state, face, signal)
  const last = context.last?.conversation === talk.id ? context.last.inclusion : undefined
  if (last === undefined) {
    line(
      'Nothing went along by itself when this conversation began; a new one begins with what servers mean for a model.',
    )
    return
  }
  for (const copy of last.included)
    line(
      `  ${oneLine(copy.title)}  ${oneLine(copy.uri)}  about ${count(copy.tokens)} tokens: ${oneLine(copy.because ?? '')}`,
    )
  for (const { uri, reason } of last.left.filter((one) => isMeant(one, state)))
    line(face.palette.dim(`  not ${oneLine(uri)}: ${oneLine(reason)}`))
  const sum = `${count(last.tokens)} of ${count(last.budget)} tokens go along by themselves (${share * 100} % of the model's context). /context off leaves them out.`
  line(face.palette.dim(sum))
}

/** Of all that does not go along, what its server does mean for a model. */
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
