import type { Root } from '@jackfield/sdk'
import type { Asker } from '../inbox/index.ts'
import type { Recorder } from '../store/index.ts'
import type { Model } from '../types/index.ts'
import type { Origins } from './origins.ts'

/** What answering questions needs. */
export interface AskingDeps {
  asker: Asker
  models: readonly Model[]
  roots: readonly Root[]
  origins: Origins
  recorder: Recorder
  /** The folders a server was told of are others now. */
  rootsChanged(): void
  /** Aborted when the host closes. */
  signal: AbortSignal
}
