import type { CreateMessageParams, CreateMessageResult, Tool } from '@jackfield/sdk'

/** A language model behind one small interface; the offline planner stands behind it too. */
export interface Model {
  /** As the person names it: `anthropic/claude-…`, `offline`. */
  readonly id: string
  /** False for the offline planner, which says so wherever it speaks. */
  readonly isLanguageModel: boolean
  /** Tokens that fit into one request and its reply, where known. */
  readonly contextTokens?: number
  generate(request: ModelRequest): Promise<ModelReply>
}

/** What a model is asked, in the terms of sampling. */
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
  /** Hears the text as it is made. */
  onText?: (delta: string) => void
  /** Told before a pause after which the provider is asked again. */
  onWait?: (wait: ModelWait) => void
}

/** Why a model is asked again, and when. */
export interface ModelWait {
  /** Milliseconds until then. */
  readonly forMs: number
  /** In words for a person. */
  readonly why: string
  /** How often it was asked so far, and how often it will be at most. */
  readonly attempt: number
  readonly attempts: number
}

/** One answer of a model. */
export interface ModelReply {
  /** Text and tool_use blocks in order. */
  content: CreateMessageResult['content']
  stopReason: NonNullable<CreateMessageResult['stopReason']>
  /** The model that answered, as its provider names it. */
  model: string
  usage?: { inputTokens: number; outputTokens: number }
  /**
   * Calls whose arguments are no JSON object: what the model wrote, by the id of the `tool_use` block, whose `input` is empty
   * then. Such a call must not be run. Absent where there is none.
   */
  unreadable?: Readonly<Record<string, string>>
}
