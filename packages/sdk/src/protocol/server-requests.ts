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
  minLength?: number
  maxLength?: number
  format?: 'email' | 'uri' | 'date' | 'date-time'
  default?: string
}

/** A number field with inclusive bounds. */
export interface NumberField extends Labels {
  type: 'number' | 'integer'
  minimum?: number
  maximum?: number
  default?: number
}

/** A boolean field. */
export interface BooleanField extends Labels {
  type: 'boolean'
  default?: boolean
}

/** A single choice; `enumNames` has titles in the 2025-06-18 form. */
export interface EnumField extends Labels {
  type: 'string'
  enum: string[]
  enumNames?: string[]
  default?: string
}

/** A single choice with titles. */
export interface TitledEnumField extends Labels {
  type: 'string'
  oneOf: { const: string; title: string }[]
  default?: string
}

/** A multiple choice, with or without titles. */
export interface MultiEnumField extends Labels {
  type: 'array'
  minItems?: number
  maxItems?: number
  items: { type: 'string'; enum: string[] } | { anyOf: { const: string; title: string }[] }
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
  $schema?: string
  type: 'object'
  properties: Record<string, ElicitField>
  required?: string[]
}

/** A form to show to the user. It must not ask for passwords or other secrets; use URL mode for those. */
export interface ElicitFormParams {
  mode?: 'form'
  message: string
  requestedSchema: ElicitSchema
  _meta?: JsonObject
}

/** Directs the user to a URL; data entered there does not pass through the client. Since 2025-11-25. */
export interface ElicitUrlParams {
  mode: 'url'
  message: string
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
  action: 'accept' | 'decline' | 'cancel'
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
  role: Role
  content: SamplingContent | SamplingContent[]
  _meta?: JsonObject
}

/** Whether the model may (`auto`, default), must or must not call tools. Since 2025-11-25. */
export interface ToolChoice {
  mode?: 'auto' | 'required' | 'none'
}

/** The params of `sampling/createMessage`. `maxTokens` limits the output; `tools` and `toolChoice` since 2025-11-25. */
export interface CreateMessageParams {
  messages: SamplingMessage[]
  modelPreferences?: ModelPreferences
  systemPrompt?: string
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  maxTokens: number
  stopSequences?: string[]
  metadata?: JsonObject
  tools?: Tool[]
  toolChoice?: ToolChoice
  _meta?: JsonObject
}

/** The sampled message, the model's name and the stop reason. */
export interface CreateMessageResult extends Result {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  stopReason?: 'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | (string & {})
}

/** A directory or file that the client exposes to the server. */
export interface Root {
  /** Always a `file:` URI. */
  uri: string
  name?: string
  _meta?: JsonObject
}

/** All roots of the client. */
export interface ListRootsResult extends Result {
  roots: Root[]
}

/** The requests a server may send to a client, by method. */
export interface Questions {
  'elicitation/create': { params: ElicitParams; answer: ElicitResult }
  'sampling/createMessage': { params: CreateMessageParams; answer: CreateMessageResult }
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

/** The responses to one round, under the same keys. */
export type InputResponses = Record<string, unknown>
