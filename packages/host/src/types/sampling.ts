import type { CreateMessageParams, ModelPreferences } from '@jackfield/sdk'
import type { Model } from './model.ts'

/** What a person says about one model, for choosing between several and for telling what a request would cost. */
export interface ModelFacts {
  /** The model's id: `provider/model`. */
  id: string
  /** Another name that hints of servers may fit. */
  name?: string
  /** Money for a million tokens. Never assumed: without it a cost is not known. */
  cost?: { input: number; output: number }
  /** Default `USD`. */
  currency?: string
  /** 0 (slowest) to 1 (fastest). Default a rough rank by the model's family. */
  speed?: number
  /** 0 to 1. Default a rough rank by the model's family. */
  intelligence?: number
  /** Tokens of request and answer together. Default what the model itself tells. */
  contextTokens?: number
}

/** One model of a ranking. */
export interface RankedModel {
  model: string
  /** 0 to 1: how well it fits the server's priorities. */
  score: number
  /** The server's hint that its name fits. */
  hint?: string
  /** What its place follows from, in words for a person. */
  why: string
}

/** Which model was chosen for a request, and why. */
export interface ModelChoice {
  /** The id of the chosen model. */
  model: string
  /** Why that one, in words for a person. */
  why: string
  /** Every model in order, the best first. A person may choose another than the first. */
  ranking: readonly RankedModel[]
}

/** How much of a person's models one server may use. What is beyond is refused and never reaches a model. */
export interface SamplingLimits {
  /** Requests in any 60 seconds. Default 5. */
  requestsPerMinute: number
  /** Tokens of requests and answers in any 24 hours. Default 100 000. */
  tokensPerDay: number
  /** Money in any 24 hours, in the currency of the models' prices; models without a price are then refused. Default none. */
  costPerDay?: number
  /** Tokens of one answer, whatever the server asks for. Default 8 192. */
  maxTokens: number
  /** Requests with tools that one call may lead to. Default 10. */
  toolRounds: number
  /** Tokens in any 24 hours that may pass without asking the person. Default 20 000. */
  autoTokensPerDay: number
  /** Money in any 24 hours that may pass without asking the person. Default none. */
  autoCostPerDay?: number
}

/** The two looks a person has: at what a server asks, and at what it would be told. */
export type SamplingStage = 'request' | 'result'

/** What is blanked in everything that goes to a model: a pattern of the person's own, or a scanner that is built in. */
export type RedactionRule =
  /** An ECMAScript pattern without back-references and look-behind; it is searched in linear time. */
  | { name: string; pattern: string }
  /** `off` leaves one out that is on by default, which all are but `email`. */
  | { builtin: 'api-key' | 'bearer-token' | 'private-key' | 'email'; off?: boolean }

/** What a person decided about sampling before anybody asks. */
export interface SamplingSettings {
  /** What is known of models. Default nothing but their names. */
  models?: readonly ModelFacts[]
  /** For every server. */
  limits?: Partial<SamplingLimits>
  /** By server name: other limits, and what passes without asking. */
  servers?: Readonly<
    Record<
      string,
      {
        limits?: Partial<SamplingLimits>
        /** Which looks are left out while the budget for it lasts. Default none. */
        approve?: readonly SamplingStage[]
        /** As below, for this server. */
        reviewOffline?: boolean
      }
    >
  >
  /**
   * Whether the person also reviews what the built-in offline planner answers. It is free and runs in this process, so
   * that by default they are only notified (event `sampling`). Default false.
   */
  reviewOffline?: boolean
  redact?: readonly RedactionRule[]
}

/** Something of a conversation that a server wants added to its request. */
export interface ContextText {
  /** The server it came from. */
  server: string
  /** What it is: `search {"q":"tea"}`. */
  label: string
  /** Exactly what would be added. */
  text: string
}

/** The context a server asks for. It is added only where the person says so for this very request. */
export interface SamplingContext {
  wanted: 'thisServer' | 'allServers'
  /** What would be added; nothing where it is not known which conversation the request belongs to. */
  texts: readonly ContextText[]
}

/** What would leave the host: estimates, and money only where the person gave prices. */
export interface SamplingEstimate {
  inputTokens: number
  /** The most the answer may have. */
  outputTokens: number
  cost?: number
  currency?: string
}

/** What one redaction rule blanks, and in which parts. */
export interface Redaction {
  rule: string
  count: number
  /** `systemPrompt`, `messages[2]`, `tools[0]`; the first few. */
  at: readonly string[]
}

/** An answer of the person that holds for further requests of a server, as long as the budget for it lasts. */
export interface SamplingGrant {
  /** For `revoke`; grants of the config have none and are taken back there. */
  readonly id?: string
  readonly server: string
  /** Which look is left out. */
  readonly stage: SamplingStage
  readonly scope: 'conversation' | 'always' | 'config'
  /** The conversation it holds in; without it, until the host closes. */
  readonly within?: string
  /** ISO 8601; absent for the config. */
  readonly at?: string
}

/** What one server used of a person's models, and what is left. */
export interface SamplingUsage {
  server: string
  limits: SamplingLimits
  /** In the last 60 seconds. */
  requests: number
  /** In the last 24 hours; requests under way count with their estimate. */
  tokens: number
  /** In the last 24 hours, by currency. */
  cost: Readonly<Record<string, number>>
  /** Tokens of the last 24 hours that passed without asking. */
  autoTokens: number
  /** Requests in the last 24 hours. */
  requestsToday: number
  /** When the last request came, ISO 8601. */
  last?: string
}

/** Everything about sampling besides the questions themselves. */
export interface SamplingDesk {
  /** Every server that sampled in the last 24 hours, has limits of its own, or a grant; by name. */
  usage(): SamplingUsage[]
  /** What passes without asking: of the config first, then the person's answers, oldest first. */
  grants(): SamplingGrant[]
  /** Takes an answer back, so that the person is asked again; false where there is none of that id. */
  revoke(id: string): boolean
  /**
   * Sets the model of a conversation until `Host.leave`. It answers the requests that belong to the conversation, unless a
   * hint of the server fits another model. `createConversation` calls this for its model.
   */
  setModel(conversation: string, model: Model): void
  /** Which model a server's preferences would choose, and why. Throws an McpError 'INVALID' where there is no model. */
  rank(preferences: ModelPreferences): ModelChoice
  /** What a request would send as it stands: tokens and money, and what would be blanked. */
  preview(params: CreateMessageParams): { estimate: SamplingEstimate; redactions: readonly Redaction[] }
}
