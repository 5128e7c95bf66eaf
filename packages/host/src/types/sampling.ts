import type { CreateMessageParams, CreateMessageResult, ModelPreferences } from '@jackfield/sdk'
import type { Model } from './model.ts'

/** Configured facts about one model, for choosing between models and estimating costs. */
export interface ModelFacts {
  /** The model's id: `provider/model`. */
  id: string
  /** Another name that hints of servers can match. */
  name?: string
  /** Price of a million tokens. There is no default: without it, costs are unknown. */
  cost?: { input: number; output: number }
  /** Default `USD`. */
  currency?: string
  /** 0 (slowest) to 1 (fastest). Default a rough rank by the model's family. */
  speed?: number
  /** 0 (least capable) to 1 (most capable). Default a rough rank by the model's family. */
  intelligence?: number
  /** Tokens of request and response together. Default: as reported by the model's provider. */
  contextTokens?: number
}

/** One model of a ranking. */
export interface RankedModel {
  /** The model's id. */
  model: string
  /** 0 to 1: how well it matches the server's priorities. */
  score: number
  /** The server's hint that matches its name. */
  hint?: string
  /** The reason for its rank, in words for a person. */
  reason: string
}

/** The model chosen for a request, and why. */
export interface ModelChoice {
  /** The id of the chosen model. */
  model: string
  /** The reason, in words for a person. */
  reason: string
  /** Every model, the best first. A person may choose another than the first. */
  ranking: readonly RankedModel[]
}

/** Limits of one server's sampling. A request beyond them is refused and does not reach a model. */
export interface SamplingLimits {
  /** Requests in any 60 seconds. Default 5. */
  requestsPerMinute: number
  /** Tokens of requests and results in any 24 hours. Default 100 000. */
  tokensPerDay: number
  /** Cost in any 24 hours, in the currency of the models' prices; models without a price are then refused. Default none. */
  costPerDay?: number
  /** Maximum tokens of one result, whatever the server asks for. Default 8 192. */
  maxTokens: number
  /** Requests with tools that one call may cause. Default 10. */
  toolRounds: number
  /** Tokens in any 24 hours that may pass without review. Default 20 000. */
  autoTokensPerDay: number
  /** Cost in any 24 hours that may pass without review. Default none. */
  autoCostPerDay?: number
}

/** The two reviews: of the request before it is sent to a model, and of the result before it is returned. */
export type SamplingStage = 'request' | 'result'

/** Redaction of everything sent to a model: by a configured pattern or a built-in scanner. */
export type RedactionRule =
  /** An ECMAScript pattern without back-references and look-behind; it is searched in linear time. */
  | { name: string; pattern: string }
  /** `off` disables a scanner that is on by default, as all are except `email`. */
  | { builtin: 'api-key' | 'bearer-token' | 'private-key' | 'email'; off?: boolean }

/** Configured sampling settings. */
export interface SamplingSettings {
  /** Facts about models. Default: only their names. */
  models?: readonly ModelFacts[]
  /** Limits of every server. Default: those of `SamplingLimits`. */
  limits?: Partial<SamplingLimits>
  /** By server name: other limits, and reviews that are skipped. */
  servers?: Readonly<
    Record<
      string,
      {
        limits?: Partial<SamplingLimits>
        /** Reviews that are skipped within the budget. Default none. */
        approve?: readonly SamplingStage[]
        /** As `reviewOffline` of the settings, for this server. */
        reviewOffline?: boolean
      }
    >
  >
  /**
   * Whether requests to an offline model (`Model.isOffline`) and their results are also reviewed. By default the user is only
   * notified (event `sampling`). Default false.
   */
  reviewOffline?: boolean
  /** Additional redaction rules, or built-in ones that are switched off. */
  redact?: readonly RedactionRule[]
}

/** A part of a conversation that a server asks to be added to its request. */
export interface ContextText {
  /** The id by which an answer selects it: that of the activity row of the call. */
  id: string
  /** The server it came from. */
  server: string
  /** A label: `search {"q":"tea"}`. */
  label: string
  /** Exactly what would be added. */
  text: string
  /** Estimated tokens of the text. */
  tokens: number
}

/** The context a server asks for. It is added only if the user allows it for this request. */
export interface SamplingContext {
  /** `includeContext` of the request. */
  wanted: 'thisServer' | 'allServers'
  /** The texts; empty if the conversation of the request is not known. */
  texts: readonly ContextText[]
}

/** A response that was generated for a request before the newest one. */
export interface SamplingCandidate {
  /** The id of the model that generated it. */
  model: string
  /** The response as the server would get it. */
  result: CreateMessageResult
  /** The tokens used, and the cost if the model has a price. */
  usage: { inputTokens: number; outputTokens: number; cost?: number; currency?: string }
}

/** Estimated tokens, and the cost if prices are configured. */
export interface SamplingEstimate {
  /** Estimated tokens of the request. */
  inputTokens: number
  /** The maximum of the result. */
  outputTokens: number
  /** Estimated maximum cost; absent if the model has no price. */
  cost?: number
  /** Of `cost`, such as `USD`. */
  currency?: string
}

/** The matches of one redaction rule in a request. */
export interface Redaction {
  /** The name of the rule or of the built-in scanner. */
  rule: string
  /** The number of matches. */
  count: number
  /** `systemPrompt`, `messages[2]`, `tools[0]`; the first few. */
  at: readonly string[]
}

/** A remembered answer: further requests of a server pass without review, within the budget. */
export interface SamplingGrant {
  /** For `revoke`; grants of the configuration have none and are removed there. */
  readonly id?: string
  /** The configured server name. */
  readonly server: string
  /** The review that is skipped. */
  readonly stage: SamplingStage
  /** How long it is valid; `config`: it is in the configuration. */
  readonly scope: 'conversation' | 'always' | 'config'
  /** The conversation in which it is valid; without it, until the host closes. */
  readonly within?: string
  /** ISO 8601; absent for the configuration. */
  readonly at?: string
}

/** The sampling usage of one server, with its limits. */
export interface SamplingUsage {
  /** The configured server name. */
  server: string
  /** The limits that apply to it. */
  limits: SamplingLimits
  /** Requests in the last 60 seconds. */
  requests: number
  /** Tokens in the last 24 hours; running requests count with their estimate. */
  tokens: number
  /** Cost in the last 24 hours, by currency. */
  cost: Readonly<Record<string, number>>
  /** Tokens of the last 24 hours that passed without review. */
  autoTokens: number
  /** Requests in the last 24 hours. */
  requestsToday: number
  /** Time of the last request, ISO 8601. */
  last?: string
}

/** Sampling by servers: usage, grants and choice of models. */
export interface SamplingService {
  /** Servers that sampled in the last 24 hours, or have their own limits or a grant; by name. */
  usage(): SamplingUsage[]
  /** Skipped reviews: of the configuration first, then remembered answers, oldest first. */
  grants(): SamplingGrant[]
  /** Revokes a remembered answer; returns false if there is none of that id. */
  revoke(id: string): boolean
  /**
   * Sets the model of a conversation until `Host.endConversation`. It answers the requests of the conversation, unless a hint of
   * the server matches another model. `createConversation` calls this for its model.
   */
  setModel(conversation: string, model: Model): void
  /** The model that a server's preferences would choose, and why. @throws McpError 'INVALID' if there is no model */
  rank(preferences: ModelPreferences): ModelChoice
  /** Estimated tokens, cost and redactions of a request. */
  preview(params: CreateMessageParams): { estimate: SamplingEstimate; redactions: readonly Redaction[] }
}
