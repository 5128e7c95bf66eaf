import type {
  Conversation,
  Host,
  Model,
  ModelFacts,
  ResourceRef,
  ServerConfig,
  Surface,
} from '@jackfield/host'
import type { SamplingMessage } from '@jackfield/sdk'
import type { AutomaticContext } from './context.ts'

/** A resource that goes along with what the person says next. */
export interface AttachedNext {
  readonly ref: ResourceRef
  readonly messages: readonly SamplingMessage[]
}

/** What a chat stands on. */
export interface ChatState {
  host: Host
  models: readonly Model[]
  /** What the person says about models. */
  facts: readonly ModelFacts[]
  /** The conversation that is held now. */
  talk: Conversation
  /** Begins another conversation, or goes on with a kept one. */
  open(resume?: string): Conversation
  /** Goes along with what the person says next. */
  attached: AttachedNext[]
  /** Resources that are included without being chosen. */
  context: AutomaticContext
  /** Whom questions are put to here, where somebody is there. */
  person?: Surface | undefined
  /** The store, where it is not the usual one. */
  store?: string | undefined
  /** The configured servers, by name. */
  servers: Readonly<Record<string, ServerConfig>>
  /** The folder that file names are relative to. */
  cwd: string
  /** Where keys of further models are. */
  env: NodeJS.ProcessEnv
}
