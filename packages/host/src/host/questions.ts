import { LiveInbox } from '../core/inbox/inbox.ts'
import { createTakeUp, type TakeUpDeps } from '../core/resume-calls.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import type { Discretion } from '../servers/launch/launch.ts'
import type { Connecting } from './connecting.ts'
import { defaults, type Events, type Running } from './running.ts'

type OfHost = 'connection' | 'answers' | 'callTimeoutMs' | 'emit' | 'signal' | 'reuseAnswers'

interface QuestionsDeps extends Omit<TakeUpDeps, OfHost> {
  /** Milliseconds; undefined for the host's own. */
  callTimeoutMs: number | undefined
  servers: ReadonlyMap<string, ServerConnection>
  connecting: () => Connecting
  discretion: Discretion
  events: Events
  running: Running
}

/** Where the questions of a host wait, and what goes on with the calls of programs that ended. */
export function createQuestions(deps: QuestionsDeps): LiveInbox {
  const { callTimeoutMs, servers, connecting, discretion, events, running, ...others } = deps
  const takeUp = createTakeUp({
    ...others,
    connection: (name) => servers.get(name),
    answers: (name) => connecting().parked(name),
    callTimeoutMs: callTimeoutMs ?? defaults.callTimeoutMs,
    emit: (event) => events.emit(event),
    signal: running.signal,
    reuseAnswers: (call, round) => inbox.reuseAnswers(call, round),
  })
  const inbox: LiveInbox = new LiveInbox({
    store: deps.store,
    redactor: discretion.redactor,
    told: (item, rows) => events.emit({ type: 'question', item, rows }),
    left: (item, rows) => events.emit({ type: 'later', item, rows }),
    warn: (server, message) => events.emit({ type: 'warning', server, message }),
    facesChanged: () => connecting().facesChanged(servers),
    takeUp: { ...takeUp, run: (call) => running.track(() => takeUp.run(call)) },
  })
  return inbox
}
