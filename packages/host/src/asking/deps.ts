import type { Root } from '@jackfield/sdk'
import type { Asker } from '../inbox/index.ts'
import type { Sampling } from '../sampling/index.ts'
import type { Recorder } from '../store/index.ts'
import type { Origins } from './origins.ts'

/** What answering questions needs. */
export interface AskingDeps {
  asker: Asker
  sampling: Sampling
  roots: readonly Root[]
  origins: Origins
  recorder: Recorder
  /** The folders a server was told of are others now. */
  rootsChanged(): void
  /** The host closes its store only when this work is over. */
  track<T>(work: () => Promise<T>): Promise<T>
  /** Aborted when the host closes. */
  signal: AbortSignal
}
