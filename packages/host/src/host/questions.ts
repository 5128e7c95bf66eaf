import { LiveInbox } from '../core/inbox/inbox.ts'
import { createCallResumption, type ResumeDeps } from '../core/resume-calls.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import type { Redaction } from '../servers/launch/launch.ts'
import type { ConnectionFactory } from './connection-factory.ts'
import { defaults, type HostEvents, type RunningWork } from './running-work.ts'

type HostParts = 'connection' | 'answers' | 'callTimeoutMs' | 'emit' | 'signal' | 'reuseAnswers'

interface QuestionsDeps extends Omit<ResumeDeps, HostParts> {
  /** Milliseconds; undefined for the host's default. */
  callTimeoutMs: number | undefined
  servers: ReadonlyMap<string, ServerConnection>
  connectionFactory: () => ConnectionFactory
  redaction: Redaction
  events: HostEvents
  running: RunningWork
}

/** The open questions of a host, and the resumption of calls whose programs ended. */
export function createQuestions(deps: QuestionsDeps): LiveInbox {
  const { callTimeoutMs, servers, connectionFactory, redaction, events, running, ...others } = deps
  const resumption = createCallResumption({
    ...others,
    connection: (name) => servers.get(name),
    answers: (name) => connectionFactory().forSuspendedCalls(name),
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
    onSurfacesChanged: () => connectionFactory().surfacesChanged(servers),
    resume: { ...resumption, run: (call) => running.track(() => resumption.run(call)) },
  })
  return inbox
}
