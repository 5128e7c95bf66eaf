/**
 * The caller of a tool: a model in a conversation, a program written by a model, an app, the tool of a sampling request, a client
 * of the gateway, the user, or a command line.
 */
export type Caller = 'chat' | 'code' | 'app' | 'sampling' | 'gateway' | 'person' | 'cli'

/** The decision of policy about a call: allow it, ask the user first, or deny it. */
export type Verdict = 'allow' | 'ask' | 'deny'

/** The scope of a remembered answer: the conversation, this working folder, or everywhere. */
export type GrantScope = 'conversation' | 'workspace' | 'always'

/** A condition on arguments. All that are given must hold. */
export interface ArgumentTest {
  /** JSON Pointer (RFC 6901) into the arguments. A segment `*` selects every item or member. */
  at: string
  /** The value is exactly this JSON. */
  equals?: unknown
  /** The value is a string that matches this glob. */
  glob?: string
  /** The value is a number of at least this. */
  min?: number
  /** The value is a number of at most this. */
  max?: number
  /** The value is a path, or a `file:` URI, inside one of these folders once `..` and links are resolved. */
  inside?: readonly string[]
}

/**
 * One rule of the policy. The strictest matching verdict wins: deny, then ask, then allow. Globs support `*` (any
 * characters) and `?` (one character).
 */
export interface PolicyRule {
  /** Shown with every decision of the rule. */
  id: string
  /** The decision about a matching call. */
  verdict: Verdict
  /** Server name, or a glob. Default any. */
  server?: string
  /** The server's own tool name, or a glob. Default any. */
  tool?: string
  /** Matches only tools that declare this hint, which the server may set wrongly. */
  hint?: 'readOnly' | 'destructive' | 'idempotent' | 'openWorld'
  /** Matches only calls of these callers. Default any. */
  caller?: readonly Caller[]
  /**
   * Conditions on the arguments, all of which must hold. If a pointer selects several values, all of them must match
   * for an `allow` rule, and any of them for an `ask` or `deny` rule; a missing value never matches.
   */
  arguments?: readonly ArgumentTest[]
  /** Matches only if data with a label that matches this glob may flow into the call. */
  label?: string
  /** Whether the rule is about the call (default), or about passing its result on. */
  gate?: 'call' | 'result'
  /** For an `ask` rule: the widest scope in which the answer may be remembered. If left out, every call asks. */
  scope?: GrantScope
  /** Where the rule is defined: a file with its place. Default `this program`. */
  author?: string
}

/** The decision about one call, and its rule. */
export interface Decision {
  /** The verdict of that rule. */
  verdict: Verdict
  /**
   * The rule that decided; `default` when none matched, `remembered:<scope>` for an earlier answer, `typed` for a call
   * that the user typed, `label` if private data would flow out, `quarantine` for a tool that is disabled, `repeat`
   * for a call that would be made again because its server cannot resume it.
   */
  rule: string
  /** Where the rule is defined, or who gave the answer: a file with its place, `the person`, `Jackfield`. */
  author?: string
  /** When the remembered answer that decided was given, ISO 8601. */
  at?: string
}

/** How an answer is remembered. */
export interface Remember {
  /** How long, and where, the answer is valid. */
  scope: GrantScope
  /** Only calls whose arguments match. Default any. */
  arguments?: readonly ArgumentTest[]
  /**
   * Allows every tool in `readOnlyTools` of the question. Only with the scope `conversation`. The answer expires with
   * the conversation, and when any definition of the server changes.
   */
  readOnlyTools?: true
}

/** An answer that is remembered beyond one call. */
export interface Grant {
  /** For `revoke`. */
  readonly id: string
  /** The name of the server when the answer was given. */
  readonly server: string
  /** `*` for an answer about the read-only tools of the server. */
  readonly tool: string
  /** The remembered answer. */
  readonly verdict: 'allow' | 'deny'
  /** How long, and where, it is valid. */
  readonly scope: GrantScope
  /** It covers every tool with `readOnlyHint`, until a definition of the server changes. */
  readonly readOnlyTools?: true
  /** The conversation or working folder in which it is valid. */
  readonly within?: string
  /** It covers only calls whose arguments match; absent for any. */
  readonly arguments?: readonly ArgumentTest[]
  /** ISO 8601. */
  readonly at: string
}

/** The decision about a call, with everything it follows from. Nothing is called or asked. */
export interface PolicyExplanation {
  /** The decision about the call. */
  decision: Decision
  /** The scopes for which an answer could be remembered, if the decision is to ask. */
  remember: readonly GrantScope[]
  /** Every rule about calls that matches, in the order of the rules. */
  matched: readonly PolicyRule[]
  /** Every remembered answer that matches the call. */
  grants: readonly Grant[]
  /** Labels of data from other servers that may flow into the call. */
  labels: readonly string[]
  /** The decision about the result; absent if no rule about results matches. */
  result?: Decision
}

/** A past call that a rule would have matched. */
export interface PreviewedCall {
  /** The activity row of the call. */
  readonly activity: number
  /** ISO 8601. */
  readonly at: string
  /** The configured server name. */
  readonly server: string
  /** The server's own name of the tool. */
  readonly tool: string
  /** Who called the tool. */
  readonly caller: Caller
  /** The decision at that time. */
  readonly decision: Decision
  /** How the call ended, as in the activity log. */
  readonly outcome: string
  /** The verdict with the rule: the stricter of the rule's verdict and that of the rules at that time. */
  readonly verdict: Verdict
}

/** The calls that a rule would have matched. */
export interface PolicyPreview {
  /** ISO 8601. */
  since: string
  /** The number of calls in that time. */
  considered: number
  /** Oldest first. */
  matched: readonly PreviewedCall[]
  /** The number of calls that cannot be evaluated because their arguments were too long for the log. */
  uncertain: number
}

/** How often a rule decided a call. */
export interface RuleHits {
  /** As in `Decision`. */
  readonly rule: string
  /** As in `Decision`. */
  readonly author?: string
  /** The number of calls it decided. */
  readonly calls: number
  /** The last of them: its activity row and its time, ISO 8601. */
  readonly last: { readonly activity: number; readonly at: string }
}

/** The circumstances of the call to explain. */
export interface ExplainOptions {
  /** Default `chat`. */
  caller?: Caller
  /** Whether the user typed the call. Default false. */
  typed?: boolean
  /** Default: outside any conversation. */
  conversation?: string
}

/** Policy of a host: rules, decisions, and remembered answers. */
export interface PolicyService {
  /** Every rule with its author, in the order given. */
  rules(): readonly PolicyRule[]
  /** The verdict where no rule matches. */
  readonly defaultVerdict: Verdict
  /** Every remembered answer about a tool, oldest first. */
  grants(): Grant[]
  /** Revokes a remembered answer; returns false if there is none of that id. */
  revoke(id: string): boolean
  /**
   * Explains the decision about a call of this tool.
   * @throws McpError 'NOT_FOUND' for an unknown tool, 'INVALID' for arguments that are not a JSON object
   */
  explain(tool: string, args: Record<string, unknown>, options?: ExplainOptions): PolicyExplanation
  /**
   * The calls of the activity log that a rule would have matched. `days`: how far back, default 30.
   * @throws McpError 'INVALID' for an invalid rule
   */
  preview(rule: PolicyRule, options?: { days?: number }): PolicyPreview
  /** Which rules decided the calls of the activity log, and how often. `days`: how far back, default 30. */
  hits(options?: { days?: number }): RuleHits[]
}
