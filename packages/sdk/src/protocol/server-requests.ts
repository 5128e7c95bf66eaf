import type { JsonObject } from '../jsonrpc/message.ts'
import type { Role, SamplingContent } from './content.ts'
import type { Result, Tool } from './definitions.ts'

/** A field for text; lengths are counted in characters. */
export interface StringField {
  type: 'string'
  title?: string
  description?: string
  minLength?: number
  maxLength?: number
  format?: 'email' | 'uri' | 'date' | 'date-time'
  default?: string
}

/** A field for a number, both bounds allowed values. */
export interface NumberField {
  type: 'number' | 'integer'
  title?: string
  description?: string
  minimum?: number
  maximum?: number
  default?: number
}

/** A field for yes or no. */
export interface BooleanField {
  type: 'boolean'
  title?: string
  description?: string
  default?: boolean
}

/** One choice of several; `enumNames` is the older way of giving titles. */
export interface EnumField {
  type: 'string'
  title?: string
  description?: string
  enum: string[]
  enumNames?: string[]
  default?: string
}

/** One choice of several, each with a title. */
export interface TitledEnumField {
  type: 'string'
  title?: string
  description?: string
  oneOf: { const: string; title: string }[]
  default?: string
}

/** Any number of choices, with or without titles. */
export interface MultiEnumField {
  type: 'array'
  title?: string
  description?: string
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

/** The restricted JSON Schema of an elicitation form: a flat object of primitive fields. */
export interface ElicitSchema {
  $schema?: string
  type: 'object'
  properties: Record<string, ElicitField>
  required?: string[]
}

/**
 * A form to show to the person. Never ask for passwords or other secrets in one; that is what a URL visit is
 * for.
 */
export interface ElicitFormParams {
  mode?: 'form'
  message: string
  requestedSchema: ElicitSchema
  _meta?: JsonObject
}

/** Sends the person to a URL; what happens there never passes through the client. Since 2025-11-25. */
export interface ElicitUrlParams {
  mode: 'url'
  message: string
  url: string
  /** Only on the wire of 2025-11-25. */
  elicitationId?: string
  _meta?: JsonObject
}

/** A question to the person: a form, or a URL to visit. A form may leave out `mode`. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams

/** What one field of a form can hold. */
export type ElicitValue = string | number | boolean | string[]

/**
 * What the person did: accepted, with a form's values in `content`, declined, or closed the question without
 * a decision.
 */
export interface ElicitResult extends Result {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, ElicitValue>
}

/** What matters to a server in the choice of a model. Advice only: the client chooses. */
export interface ModelPreferences {
  /** In order of preference; each is a substring of a model's name. */
  hints?: { name?: string }[]
  /** 0 to 1. */
  costPriority?: number
  /** 0 to 1. */
  speedPriority?: number
  /** 0 to 1. */
  intelligencePriority?: number
}

/**
 * One message of a conversation with a model. Several blocks, tool uses and tool results since 2025-11-25.
 */
export interface SamplingMessage {
  role: Role
  content: SamplingContent | SamplingContent[]
  _meta?: JsonObject
}

/** Whether the model may (`auto`, the default), must or must not use tools. Since 2025-11-25. */
export interface ToolChoice {
  mode?: 'auto' | 'required' | 'none'
}

/**
 * What a server asks the client's model. `maxTokens` bounds the answer; `tools` and `toolChoice` since
 * 2025-11-25.
 */
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

/** What the model said, the name of the model that said it, and why it stopped. */
export interface CreateMessageResult extends Result {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  stopReason?: 'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | (string & {})
}

/** A folder the client opened to the server. */
export interface Root {
  /** Always a `file:` URI. */
  uri: string
  name?: string
  _meta?: JsonObject
}

/** Every folder the client opened to the server. */
export interface ListRootsResult extends Result {
  roots: Root[]
}

/** The questions a server may put to a client, by method. */
export interface Questions {
  'elicitation/create': { params: ElicitParams; answer: ElicitResult }
  'sampling/createMessage': { params: CreateMessageParams; answer: CreateMessageResult }
  'roots/list': { params: { _meta?: JsonObject }; answer: ListRootsResult }
}

/** The method of a question a server may put to a client. */
export type QuestionMethod = keyof Questions

/** One question with its params. */
export type Question = {
  [M in QuestionMethod]: { method: M; params: Questions[M]['params'] }
}[QuestionMethod]

/** Questions of one round, each under a key the server chose. */
export type InputRequests = Record<string, Question>

/** The answers to one round, under the same keys. */
export type InputResponses = Record<string, unknown>
