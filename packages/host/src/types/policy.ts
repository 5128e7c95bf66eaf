/**
 * Who wants an effect to happen: a model in a conversation, a program the model wrote, an app, a sampling request's
 * tool, a client of the gateway, the person, or a command line.
 */
export type Caller = 'chat' | 'code' | 'app' | 'sampling' | 'gateway' | 'person' | 'cli'

/** What policy says about a call: let it happen, ask the person first, or refuse it. */
export type Verdict = 'allow' | 'ask' | 'deny'

/** How long an answer is remembered: while the conversation lasts, in this workspace folder, or everywhere. */
export type GrantScope = 'conversation' | 'workspace' | 'always'

/** A condition on arguments. All that are given must hold. */
export interface ArgumentTest {
  /** JSON Pointer (RFC 6901) into the arguments. A segment `*` stands for every item or member. */
  at: string
  /** The value is exactly this JSON. */
  equals?: unknown
  /** The value is a text that fits this glob. */
  glob?: string
  /** The value is a number of at least this. */
  min?: number
  /** The value is a number of at most this. */
  max?: number
  /** The value is a path, or a `file:` URI, inside one of these folders once `..` and links are resolved. */
  inside?: readonly string[]
}

/**
 * One rule of the policy. The strictest matching verdict wins: deny, then ask, then allow. Globs know `*` (any
 * characters) and `?` (one).
 */
export interface PolicyRule {
  /** Shown with every decision the rule made. */
  id: string
  verdict: Verdict
  /** Server name, or a glob. Default any. */
  server?: string
  /** The server's own tool name, or a glob. Default any. */
  tool?: string
  /** Matches only tools that say so about themselves; a hint, never a proof. */
  hint?: 'readOnly' | 'destructive' | 'idempotent' | 'openWorld'
  /** Matches only calls that one of these wants. Default any. */
  caller?: readonly Caller[]
  /**
   * Conditions on the arguments, all of which must hold. Where a pointer selects several values, an `allow` rule wants
   * every one of them to fit and an `ask` or `deny` rule any; a value that is not there fits nothing.
   */
  arguments?: readonly ArgumentTest[]
  /** Matches only where data with a label that fits this glob may flow into the call. */
  label?: string
  /** What the rule is about: the call (default), or letting its result through. */
  gate?: 'call' | 'result'
  /** On an `ask` rule: how long the person's answer may be remembered at most. Left out, every call asks. */
  scope?: GrantScope
  /** Where the rule stands: a file with its place. Default `this program`. */
  author?: string
}

/** What policy said about one call, and by which rule. */
export interface Decision {
  verdict: Verdict
  /**
   * The rule that decided; `default` when none matched, `remembered:<scope>` for an earlier answer, `typed` for a call
   * that the person wrote themselves, `label` where private data would flow out, `quarantine` for a tool that is out
   * of use, `repeat` for a call that would be made again because its server no longer continues it.
   */
  rule: string
  /** Where the rule stands or who gave the answer: a file with its place, `the person`, `Jackfield`. */
  author?: string
  /** When the remembered answer that decided was given, ISO 8601. */
  at?: string
}

/** How an answer is remembered. */
export interface Remember {
  scope: GrantScope
  /** Only calls whose arguments fit; left out, any. */
  arguments?: readonly ArgumentTest[]
  /**
   * Allows every tool that `readOnlyTools` of the question names. Only with the scope `conversation`. The answer ends
   * with the conversation, and when any definition of the server changes.
   */
  readOnlyTools?: true
}

/** An answer that is remembered beyond one call. */
export interface Grant {
  /** For `revoke`. */
  readonly id: string
  /** The server as it was called when the answer was given. */
  readonly server: string
  /** `*` for an answer about the read-only tools of the server. */
  readonly tool: string
  readonly verdict: 'allow' | 'deny'
  readonly scope: GrantScope
  /** It covers every tool that says it is read-only, while no definition of the server changes. */
  readonly readOnlyTools?: true
  /** The conversation or the workspace folder that it holds in. */
  readonly within?: string
  readonly arguments?: readonly ArgumentTest[]
  /** ISO 8601. */
  readonly at: string
}

/** What policy would say about one call, and everything that it follows from. Nothing is called or asked. */
export interface PolicyExplanation {
  decision: Decision
  /** For how long an answer could be remembered, where the decision is to ask. */
  remember: readonly GrantScope[]
  /** Every rule about calls that matches, in the order of the rules. */
  matched: readonly PolicyRule[]
  /** Every remembered answer that fits the call. */
  grants: readonly Grant[]
  /** Labels of data from other servers that may flow into the call. */
  labels: readonly string[]
  /** What would become of the result; absent where no rule about results matches. */
  result?: Decision
}

/** A past call that a rule would have matched. */
export interface PreviewedCall {
  /** The activity row of the call. */
  readonly activity: number
  /** ISO 8601. */
  readonly at: string
  readonly server: string
  readonly tool: string
  readonly caller: Caller
  /** What policy said then. */
  readonly decision: Decision
  /** How the call ended, as in the activity log. */
  readonly outcome: string
  /** What policy would have said with the rule: the stricter of the rule's verdict and that of the rules of then. */
  readonly verdict: Verdict
}

/** What a rule would have matched. */
export interface PolicyPreview {
  /** ISO 8601. */
  since: string
  /** Calls of the log in that time. */
  considered: number
  /** Oldest first. */
  matched: readonly PreviewedCall[]
  /** Calls that cannot be told about, since their arguments were too long to keep. */
  uncertain: number
}

/** For which circumstances a decision is explained. */
export interface ExplainOptions {
  /** Default `chat`. */
  caller?: Caller
  /** Whether the person wrote the call themselves. Default false. */
  typed?: boolean
  /** Default: the circumstances outside any conversation. */
  conversation?: string
}

/** The policy of a host: what it says, why, and what is remembered. */
export interface PolicyDesk {
  /** Every rule with its author, in the order given. */
  rules(): readonly PolicyRule[]
  /** The verdict where no rule matches. */
  readonly defaultVerdict: Verdict
  /** Every remembered answer about a tool, oldest first. */
  grants(): Grant[]
  /** Forgets a remembered answer, so that policy decides again; false where there is none of that id. */
  revoke(id: string): boolean
  /**
   * What policy says about a call of this tool, and why.
   * @throws McpError 'INVALID' for an unknown tool or arguments that are no JSON object
   */
  explain(tool: string, args: Record<string, unknown>, options?: ExplainOptions): PolicyExplanation
  /**
   * Which calls of the activity log a rule would have matched. `days`: how far back, default 30.
   * @throws McpError 'INVALID' for a rule that cannot be followed
   */
  preview(rule: PolicyRule, options?: { days?: number }): PolicyPreview
}
