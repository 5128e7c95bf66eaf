import type { CreateMessageParams, CreateMessageResult, Tool } from '@jackfield/sdk'

/** A language model, or the offline planner. */
export interface Model {
  /** The id in options and configurations: `anthropic/claude-…`, `offline`. */
  readonly id: string
  /** False for the offline planner. */
  readonly isLanguageModel: boolean
  /** Tokens that fit into one request and its reply, where known. */
  readonly contextTokens?: number
  generate(request: ModelRequest): Promise<ModelReply>
}

/** A request to a model, in the terms of sampling. */
export interface ModelRequest {
  system?: string
  messages: CreateMessageParams['messages']
  tools?: { name: string; description?: string; inputSchema: Tool['inputSchema'] }[]
  toolChoice?: 'auto' | 'required' | 'none'
  /** Never exceeded. */
  maxTokens: number
  temperature?: number
  stopSequences?: string[]
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
  /** In words for a person. */
  readonly why: string
  /** The attempts so far, and the maximum. */
  readonly attempt: number
  readonly attempts: number
}

/** A reply of a model. */
export interface ModelReply {
  /** Text and tool_use blocks in order. */
  content: CreateMessageResult['content']
  stopReason: NonNullable<CreateMessageResult['stopReason']>
  /** The model that answered, as its provider names it. */
  model: string
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
  readonly text: string
  /** The model as its provider names it. */
  readonly model: string
  readonly durationMs: number
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}
