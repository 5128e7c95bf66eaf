import type { JsonObject } from '../jsonrpc/message.ts'
import type { Role, SamplingContent } from './content.ts'
import type { Result, Tool } from './definitions.ts'

/** The members of every field. */
interface Labels {
  title?: string
  description?: string
}

/** A text field; lengths are in characters. */
export interface StringField extends Labels {
  type: 'string'
  /** Minimum characters. Default 0. */
  minLength?: number
  /** Maximum characters. Default: no limit. */
  maxLength?: number
  /** The form of the text. Default: any. */
  format?: 'email' | 'uri' | 'date' | 'date-time'
  /** The value to show at first. */
  default?: string
}

/** A number field with inclusive bounds. */
export interface NumberField extends Labels {
  type: 'number' | 'integer'
  /** Minimum value. Default: no limit. */
  minimum?: number
  /** Maximum value. Default: no limit. */
  maximum?: number
  /** The value to show at first. */
  default?: number
}

/** A boolean field. */
export interface BooleanField extends Labels {
  type: 'boolean'
  /** The value to show at first. */
  default?: boolean
}

/** A single choice; `enumNames` has titles in the 2025-06-18 form. */
export interface EnumField extends Labels {
  type: 'string'
  /** The choices. */
  enum: string[]
  /** Titles of the choices, in the same order. */
  enumNames?: string[]
  /** The choice to show at first. */
  default?: string
}

/** A single choice with titles. */
export interface TitledEnumField extends Labels {
  type: 'string'
  /** The choices, with their titles. */
  oneOf: { const: string; title: string }[]
  /** The choice to show at first. */
  default?: string
}

/** A multiple choice, with or without titles. */
export interface MultiEnumField extends Labels {
  type: 'array'
  /** Minimum number of choices. Default 0. */
  minItems?: number
  /** Maximum number of choices. Default: no limit. */
  maxItems?: number
  /** The choices: `anyOf` with titles, `enum` without. */
  items: { type: 'string'; enum: string[] } | { anyOf: { const: string; title: string }[] }
  /** The choices to show at first. */
  default?: string[]
}

/** One field of a form. */
export type ElicitField =
  | StringField
  | NumberField
  | BooleanField
  | EnumField
  | TitledEnumField
  | MultiEnumField

/** The JSON Schema subset of elicitation forms: a flat object of primitive fields. */
export interface ElicitSchema {
  /** The JSON Schema dialect. */
  $schema?: string
  type: 'object'
  /** The fields by name, in the order to show them. */
  properties: Record<string, ElicitField>
  /** Names of the fields that need a value. Default: none. */
  required?: string[]
}

/** A form to show to the user. It must not ask for passwords or other secrets; use URL mode for those. */
export interface ElicitFormParams {
  mode?: 'form'
  /** The message to show to the user. */
  message: string
  /** The fields of the form. */
  requestedSchema: ElicitSchema
  _meta?: JsonObject
}

/** Directs the user to a URL; data entered there does not pass through the client. Since 2025-11-25. */
export interface ElicitUrlParams {
  mode: 'url'
  /** The message to show to the user: why the URL should be opened. */
  message: string
  /** The URL to open, after the user agreed. It is not fetched before. */
  url: string
  /** Sent on 2025-11-25 only. */
  elicitationId?: string
  _meta?: JsonObject
}

/** The params of `elicitation/create`: form mode (the default) or URL mode. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams

/** The value of one form field. */
export type ElicitValue = string | number | boolean | string[]

/** The user's response: accepted with form values in `content`, declined, or cancelled without a decision. */
export interface ElicitResult extends Result {
  /** `accept`, `decline`, or `cancel` if the user made no decision. */
  action: 'accept' | 'decline' | 'cancel'
  /** The values of the form by field, with `accept`. Absent in URL mode. */
  content?: Record<string, ElicitValue>
}

/** The server's priorities for the choice of a model. Advisory: the client chooses. */
export interface ModelPreferences {
  /** Substrings of model names, in order of preference. */
  hints?: { name?: string }[]
  /** 0 to 1. */
  costPriority?: number
  /** 0 to 1. */
  speedPriority?: number
  /** 0 to 1. */
  intelligencePriority?: number
}

/** One message of a conversation with a model. Multiple blocks, tool uses and tool results since 2025-11-25. */
export interface SamplingMessage {
  /** The author of the message. */
  role: Role
  /** One block of content, or several. */
  content: SamplingContent | SamplingContent[]
  _meta?: JsonObject
}

/** Whether the model may call tools. Since 2025-11-25. */
export interface ToolChoice {
  /** `auto`: it decides (default); `required`: it must call one; `none`: it must not. */
  mode?: 'auto' | 'required' | 'none'
}

/** The params of `sampling/createMessage`; `tools` and `toolChoice` since 2025-11-25. */
export interface CreateMessageParams {
  /** The conversation, oldest message first. */
  messages: SamplingMessage[]
  /** Priorities for the choice of a model. */
  modelPreferences?: ModelPreferences
  /** The system prompt to use. The client may change or leave it out. */
  systemPrompt?: string
  /** Context of servers to add. Default `none`; the others need the capability `sampling.context`. */
  includeContext?: 'none' | 'thisServer' | 'allServers'
  /** Randomness of the model, in its own scale. */
  temperature?: number
  /** Maximum tokens to generate. The client may generate fewer. */
  maxTokens: number
  /** Texts that end the message. */
  stopSequences?: string[]
  /** Further parameters for the provider of the model. */
  metadata?: JsonObject
  /** Tools that the model may call. Needs the capability `sampling.tools`. */
  tools?: Tool[]
  /** How the model uses `tools`. */
  toolChoice?: ToolChoice
  _meta?: JsonObject
}

/** The sampled message, the model's name and the stop reason. */
export interface CreateMessageResult extends Result {
  /** The author of the message: the model is `assistant`. */
  role: Role
  /** One block of content, or several. */
  content: SamplingContent | SamplingContent[]
  /** Name of the model. */
  model: string
  /** Why the model ended its message; with `toolUse` the server runs the calls in `content`. */
  stopReason?: 'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | (string & {})
}

/** A directory or file that the client exposes to the server. */
export interface Root {
  /** Always a `file:` URI. */
  uri: string
  /** Name for people. */
  name?: string
  _meta?: JsonObject
}

/** All roots of the client. */
export interface ListRootsResult extends Result {
  /** The roots. */
  roots: Root[]
}

/** The requests that a server sends to a client, by method, with their params and results. */
export interface Questions {
  /** A form, or a URL to open. */
  'elicitation/create': { params: ElicitParams; answer: ElicitResult }
  /** A message of the client's model. */
  'sampling/createMessage': { params: CreateMessageParams; answer: CreateMessageResult }
  /** The directories and files that the client exposes. */
  'roots/list': { params: { _meta?: JsonObject }; answer: ListRootsResult }
}

/** The method of a request from server to client. */
export type QuestionMethod = keyof Questions

/** A request from server to client, with its params. */
export type Question = {
  [M in QuestionMethod]: { method: M; params: Questions[M]['params'] }
}[QuestionMethod]

/** The input requests of one round, by keys that the server chose. */
export type InputRequests = Record<string, Question>

/**
 * How a sampling request violates the rules on tool use, or undefined: a message with tool results has nothing else, and the
 * next message has a result for every tool use.
 */
export function checkSampling(params: CreateMessageParams): string | undefined {
  if (!Number.isInteger(params.maxTokens) || params.maxTokens < 1)
    return '"maxTokens" must be a positive integer'
  if (!Array.isArray(params.messages)) return '"messages" must be a list of messages'
  let open: string[] = []
  for (const message of params.messages) {
    const blocks = blocksOf(message)
    const results = blocks.filter((block) => block.type === 'tool_result')
    if (results.length > 0 && (results.length !== blocks.length || message.role !== 'user')) {
      return 'tool results must stand alone in a user message'
    }
    const answered = results.map((block) => block.toolUseId)
    const missing = open.find((id) => !answered.includes(id))
    if (missing !== undefined) return `the tool use "${missing}" has no result in the next message`
    const stray = answered.find((id) => !open.includes(id))
    if (stray !== undefined) return `the tool result "${stray}" answers no tool use of the message before`
    const uses = blocks.filter((block) => block.type === 'tool_use')
    if (uses.length > 0 && message.role !== 'assistant') return 'only an assistant message may use tools'
    open = uses.map((block) => block.id)
  }
  return open.length === 0 ? undefined : `the tool use "${open[0]}" has no result`
}

/** The number of tool rounds since the last user message without tool results. */
export function toolRounds({ messages }: Pick<CreateMessageParams, 'messages'>): number {
  let rounds = 0
  for (const message of [...messages].reverse()) {
    if (message.role !== 'user') continue
    if (!blocksOf(message).some((block) => block.type === 'tool_result')) break
    rounds++
  }
  return rounds
}

function blocksOf(message: SamplingMessage): Extract<SamplingMessage['content'], unknown[]> {
  return Array.isArray(message.content) ? message.content : [message.content]
}
