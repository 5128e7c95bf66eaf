import type { Inclusion, ModelFacts, ServerConfig } from '@jackfield/host'
import type { HostClient, OpenOptions } from '@jackfield/host/client'
import type { TerminalSurface } from '../surface/terminal.ts'
import type { ConversationView } from './conversation-view.ts'

/** What a chat works with. */
export interface ChatState {
  readonly client: HostClient
  /** The conversation that is shown now. */
  conversation: ConversationView
  /** Shows another conversation: that of `id`, or a new one. */
  open(options?: Pick<OpenOptions, 'id'>): Promise<void>
  /** What the person says about models. */
  readonly facts: readonly ModelFacts[]
  /** Resources that are included without being chosen, and the last inclusion. */
  readonly context: { on: boolean; last?: { readonly conversation: string; readonly inclusion: Inclusion } }
  /** The person at this terminal, where there is one. */
  readonly person: TerminalSurface | undefined
  /** The store, where it is not the usual one. */
  readonly store: string | undefined
  /** The configured servers, by name. */
  readonly servers: Readonly<Record<string, ServerConfig>>
  /** The host outlives this chat. */
  readonly isShared: boolean
  /** Aborted when the program ends. */
  readonly leaving: AbortSignal
  /** The folder that file names are relative to. */
  readonly cwd: string
  /** Where keys of further models are. */
  readonly env: NodeJS.ProcessEnv
}
