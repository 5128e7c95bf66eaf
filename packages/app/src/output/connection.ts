import type { ConnectionState } from '@jackfield/host'
import { inSeconds } from '../cli/exit.ts'
import { ago } from './ago.ts'
import { fixLines } from './fixes.ts'
import type { Palette } from './palette.ts'
import { oneLine } from './sanitize.ts'

type Paint = 'green' | 'yellow' | 'red' | 'dim'

const shapes: Readonly<Record<ConnectionState['state'], readonly [shape: string, words: string, Paint]>> = {
  ready: ['●', 'ready', 'green'],
  degraded: ['◐', 'degraded', 'yellow'],
  connecting: ['◌', 'connecting', 'yellow'],
  reconnecting: ['◌', 'reconnecting', 'yellow'],
  'needs-sign-in': ['▲', 'needs sign-in', 'yellow'],
  'needs-approval': ['▲', 'needs approval', 'yellow'],
  asleep: ['○', 'asleep', 'dim'],
  failed: ['✗', 'failed', 'red'],
  disabled: ['–', 'disabled', 'dim'],
}

/** A state as symbol and word. */
export function stateText({ state, sandboxed }: ConnectionState, palette: Palette): string {
  const [shape, words, paint] = shapes[state]
  return `${palette[paint](shape)} ${words}${sandboxed === true ? ', sandboxed' : ''}`
}

/** The age of a time in milliseconds since 1970. */
export function since(ms: number): string {
  return ago(new Date(ms).toISOString(), Date.now())
}

/** Why a server is in its state, and what to do; empty if there is no reason. */
export function stateReason(state: ConnectionState): string {
  if (state.state === 'disabled') return ''
  if (state.state === 'asleep') return `${oneLine(state.reason)}; listed ${since(state.listedMs)}`
  const reason = 'reason' in state ? oneLine(inSeconds(state.reason)) : ''
  return 'fixes' in state ? [reason, ...fixLines(state.fixes)].join('\n') : reason
}

/** The same as one line. */
export function inOneLine(state: ConnectionState): string {
  return stateReason(state).replace(/\.?\n/g, '. ')
}
