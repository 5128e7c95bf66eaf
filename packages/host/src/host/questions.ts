import { LiveInbox } from '../core/inbox/inbox.ts'
import { createCallResumption, type ResumeDeps } from '../core/resume-calls.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import type { Redaction } from '../servers/launch/launch.ts'
import type { Connecting } from './connecting.ts'
import { defaults, type Events, type Running } from './running.ts'

type HostParts = 'connection' | 'answers' | 'callTimeoutMs' | 'emit' | 'signal' | 'reuseAnswers'

interface QuestionsDeps extends Omit<ResumeDeps, HostParts> {
  /** Milliseconds; undefined for the host's default. */
  callTimeoutMs: number | undefined
  servers: ReadonlyMap<string, ServerConnection>
  connecting: () => Connecting
  redaction: Redaction
  events: Events
  running: Running
}

/** The open questions of a host, and the resumption of calls whose programs ended. */
export function createQuestions(deps: QuestionsDeps): LiveInbox {
  const { callTimeoutMs, servers, connecting, redaction, events, running, ...others } = deps
  const takeUp = createCallResumption({
    ...others,
    connection: (name) => servers.get(name),
    answers: (name) => connecting().forSuspendedCalls(name),
    callTimeoutMs: callTimeoutMs ?? defaults.callTimeoutMs,
    emit: (event) => events.emit(event),
    signal: running.signal,
    reuseAnswers: (call, round) => inbox.reuseAnswers(call, round),
  })
  const inbox: LiveInbox = new LiveInbox({
    store: deps.store,
    redactor: redaction.redactor,
    onChange: (item, rows) => events.emit({ type: 'question', item, rows }),
    onSuspended: (item, rows) => events.emit({ type: 'later', item, rows }),
    warn: (server, message) => events.emit({ type: 'warning', server, message }),
    onSurfacesChanged: () => connecting().surfacesChanged(servers),
    resume: { ...takeUp, run: (call) => running.track(() => takeUp.run(call)) },
  })
  return inbox
}
