import type { CreateMessageParams, CreateMessageResult } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import type { Asker } from '../../core/inbox/asker.ts'
import type { ActivityLog } from '../../log/store/activity-log.ts'
import type { OpenRow, Recorder } from '../../log/store/recorder.ts'
import type { SamplingTable } from '../../log/store/sampling-table.ts'
import type { Cause, HostEvent, Model, SamplingDesk, SamplingSettings } from '../../types/index.ts'

/** What sampling needs of the host. */
export interface SamplingDeps {
  asker: Asker
  /** In the person's order. */
  models: readonly Model[]
  settings: SamplingSettings
  recorder: Recorder
  activity: Pick<ActivityLog, 'list'>
  table: SamplingTable
  /** Where a request comes from, and the row that caused it. */
  find(server: string, asked: AskContext['cause']): { cause: Cause; row: number | null }
  /** What a server is, whatever it is called; undefined for an unknown one. */
  identityOf(server: string): string | undefined
  emit(event: HostEvent): void
  /** Milliseconds since 1970. */
  now(): number
}

/** Answers requests of servers for a model's message. */
export interface Sampling {
  readonly desk: SamplingDesk
  /** A conversation ended. */
  leave(conversation: string): void
  /** Whether a request of this server could be answered now: somebody can look at it, or said before that nobody needs to. */
  canAnswer(server: string): boolean
  answer(server: string, params: CreateMessageParams, context: AskContext): Promise<CreateMessageResult>
}

/** One request on its way from the server to the model and back. */
export interface Passage {
  server: string
  /** The models that may answer it. */
  models: readonly Model[]
  /** The id of the model of its conversation. */
  chosen: string | undefined
  cause: Cause
  row: OpenRow
  signal: AbortSignal
}
