import type { AskContext } from '@jackfield/sdk/client'
import { entryOf } from '../../config/sampling-section.ts'
import type { QuestionQueue } from '../../core/inbox/question-queue.ts'
import type { ActivityLog, OpenRow, Recorder } from '../../log/store/activity-log.ts'
import type { SamplingTable } from '../../log/store/sampling-table.ts'
import type { JsonRecord } from '../../shared/json.ts'
import { orAborted } from '../../shared/signals.ts'
import { reasonOf } from '../../shared/text.ts'
import type { Cause, HostEvent, Model, SamplingSettings, SamplingStage } from '../../types/index.ts'

/** Dependencies of sampling. */
export interface SamplingDeps {
  questions: QuestionQueue
  /** In the configured order. */
  models: readonly Model[]
  settings: SamplingSettings
  recorder: Recorder
  activity: Pick<ActivityLog, 'list'>
  table: SamplingTable
  /** The cause of a request: its call, and that call's row. */
  find(server: string, asked: AskContext['cause']): { cause: Cause; row: number | null }
  /** A server's identity; undefined for an unknown one. */
  identityOf(server: string): string | undefined
  emit(event: HostEvent): void
  /** Milliseconds since 1970. */
  now(): number
}

/** One sampling request in progress. */
export interface SamplingRequest {
  server: string
  /** The models that may answer it. */
  models: readonly Model[]
  /** The id of the model of its conversation. */
  chosen: string | undefined
  cause: Cause
  row: OpenRow
  signal: AbortSignal
}

/** The user refused to send a request or its result. */
export class SamplingRefusedError extends Error {
  override readonly name: string = 'SamplingRefusedError'
  readonly detail: JsonRecord

  constructor(stage: SamplingStage, reason: string | undefined) {
    super(`The person refused the ${stage}`)
    this.detail = { stage, ...(reason !== undefined && { reason }) }
  }
}

/** Maximum retries for unusable replies. */
export const maxAttempts = 5

/** Waits for one step until the signal aborts, and records a failure in the row. */
export async function runStep<T>(
  step: OpenRow,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    signal.throwIfAborted()
    return await orAborted(work(signal), signal)
  } catch (error) {
    step.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    throw error
  }
}

/** Whether a model answers without a review: one that needs no network, costs nothing and involves no third party. */
export function skipsReview(
  server: string,
  model: Model | undefined,
  { settings }: Pick<SamplingDeps, 'settings'>,
): boolean {
  return model?.isOffline === true && !reviewsOffline(server, settings)
}

function reviewsOffline(server: string, { reviewOffline = false, servers }: SamplingSettings): boolean {
  return entryOf(servers, server)?.reviewOffline ?? reviewOffline
}
