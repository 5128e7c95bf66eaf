import type { Inclusion, ModelFacts, ServerConfig } from '@jackfield/host'
import type { HostClient, OpenOptions } from '@jackfield/host/client'
import type { TerminalSurface } from '../surface/terminal.ts'
import type { ConversationView } from './conversation-view.ts'

/** The state of a chat. */
export interface ChatState {
  readonly client: HostClient
  /** The current conversation. */
  conversation: ConversationView
  /** Opens another conversation: the one with this id, or a new one. */
  open(options?: Pick<OpenOptions, 'id'>): Promise<void>
  /** The user's model settings. */
  readonly facts: readonly ModelFacts[]
  /** Automatic attachments, and the last time they were included. */
  readonly context: { on: boolean; last?: { readonly conversation: string; readonly inclusion: Inclusion } }
  /** The user at this terminal, if any. */
  readonly person: TerminalSurface | undefined
  /** The store, if not the default one. */
  readonly store: string | undefined
  /** The configured servers, by name. */
  readonly servers: Readonly<Record<string, ServerConfig>>
  /** The host continues after this chat. */
  readonly isShared: boolean
  /** Aborted when the program ends. */
  readonly leaving: AbortSignal
  /** The folder that file names are relative to. */
  readonly cwd: string
  /** Where API keys of further models are stored. */
  readonly env: NodeJS.ProcessEnv
}
