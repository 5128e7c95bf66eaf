import type { FormTable } from '../../log/store/form-table.ts'
import type { Recorder } from '../../log/store/recorder.ts'
import type { Sampling } from '../../models/sampling/deps.ts'
import type { Roots } from '../../servers/roots/room.ts'
import type { ServerConfig } from '../../types/index.ts'
import type { Origins } from '../active-requests.ts'
import type { Asker } from '../inbox/asker.ts'

/** What answering questions needs. */
export interface AskingDeps {
  asker: Asker
  sampling: Sampling
  roots: Roots
  origins: Origins
  recorder: Recorder
  forms: {
    config: ServerConfig
    /** What the server is. */
    identity: () => string
    /** Answers that are remembered. */
    table: FormTable
    /** Opens a page for the person. Default: their browser. */
    open?: ((url: URL) => Promise<void>) | undefined
  }
  /** Shows the person a warning about the server. */
  warn(message: string): void
  /** The host closes its store only when this work is over. */
  track<T>(work: () => Promise<T>): Promise<T>
  /** Aborted when the host closes. */
  signal: AbortSignal
}
