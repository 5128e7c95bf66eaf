import type { Conversation, Host, Model, ModelFacts } from '@jackfield/host'
import type { SamplingMessage } from '@jackfield/sdk'

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
  attached: SamplingMessage[]
  /** Where keys of further models are. */
  env: NodeJS.ProcessEnv
}
