import type { CreateMessageParams, CreateMessageResult, Tool } from '@jackfield/sdk'

/** A language model, or a program that answers by rules. */
export interface Model {
  /** The id in options and configurations: `anthropic/claude-…`, `offline`. */
  readonly id: string
  /** False for a program that answers by rules. */
  readonly isLanguageModel: boolean
  /**
   * True if it runs in this process, costs nothing and involves no third party: it then answers sampling requests of servers
   * without a review, unless `SamplingSettings.reviewOffline` is set. Default false.
   */
  readonly isOffline?: boolean
  /** Tokens that fit into one request and its reply, where known. */
  readonly contextTokens?: number
  /**
   * Sends one request.
   * @throws ModelError if the provider rejects it or cannot be reached, and the reason of the signal when it
   * is aborted
   */
  generate(request: ModelRequest): Promise<ModelReply>
}

/** A request to a model, in the terms of sampling. */
export interface ModelRequest {
  /** The system prompt. */
  system?: string
  /** The conversation so far, oldest first. */
  messages: CreateMessageParams['messages']
  /** The tools that the model may call. Default none. */
  tools?: { name: string; description?: string; inputSchema: Tool['inputSchema'] }[]
  /** Whether the model may, must or must not call a tool. Default `auto`. */
  toolChoice?: 'auto' | 'required' | 'none'
  /** Maximum tokens of the reply. */
  maxTokens: number
  /** As in `sampling/createMessage`. Default the provider's. */
  temperature?: number
  /** Texts at which the model stops. Default none. */
  stopSequences?: string[]
  /** Aborts the request. */
  signal?: AbortSignal
  /** Called with each piece of text as it is generated. */
  onText?: (delta: string) => void
  /** Called before a pause after which the request is retried. */
  onWait?: (wait: ModelWait) => void
}

/** A pending retry of a model request. */
export interface ModelWait {
  /** Milliseconds until the retry. */
  readonly forMs: number
  /** Why the request is retried, in words for a person. */
  readonly reason: string
  /** The number of attempts so far. */
  readonly attempt: number
  /** The maximum number of attempts. */
  readonly attempts: number
}

/** A reply of a model. */
export interface ModelReply {
  /** Text and tool_use blocks in order. */
  content: CreateMessageResult['content']
  /** Why the model stopped: `endTurn`, `toolUse`, `maxTokens`, `stopSequence`. */
  stopReason: NonNullable<CreateMessageResult['stopReason']>
  /** The model that answered, as its provider names it. */
  model: string
  /** The tokens of the request and of the reply; absent if the provider reports none. */
  usage?: { inputTokens: number; outputTokens: number }
  /**
   * Arguments that are not a JSON object, as the model wrote them, by the id of the `tool_use` block, whose `input` is
   * then empty. Such a call must not be run. Absent if there is none.
   */
  unreadable?: Readonly<Record<string, string>>
}

/** A provider of models, and the environment variables that it takes its settings from. */
export interface ModelProvider {
  /** The first part of the ids of its models: `anthropic`. */
  readonly provider: string
  /** Variables that hold its key; the first that is set is used. Empty where it needs none. */
  readonly keys: readonly string[]
  /** The variable with the base URL of its API. */
  readonly address: string
  /** The variable with the model that is used where none is named. */
  readonly model: string
  /** The variables that are set. */
  readonly set: readonly string[]
  /** Whether its models can be used: its key is set, or its address where it needs no key. */
  readonly isReady: boolean
}

/** What a model answered to a test request. */
export interface ModelTest {
  /** The reply. */
  readonly text: string
  /** The model as its provider names it. */
  readonly model: string
  /** Milliseconds until the whole reply. */
  readonly durationMs: number
  /** The tokens of the request and of the reply; absent if the provider reports none. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}
