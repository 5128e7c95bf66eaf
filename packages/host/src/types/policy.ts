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
}

/** What policy said about one call, and by which rule. */
export interface Decision {
  verdict: Verdict
  /**
   * The rule that decided; `default` when none matched, `remembered:<scope>` for an earlier answer, `typed` for a call
   * that the person wrote themselves, `label` where private data would flow out.
   */
  rule: string
  /** Where the rule stands or who gave the answer: a file with its place, `the person`, `Jackfield`. */
  author?: string
  /** When the answer that decided was given, ISO 8601. */
  at?: string
}

/** How an answer is remembered. */
export interface Remember {
  scope: GrantScope
  /** Only calls whose arguments fit; left out, any. */
  arguments?: readonly ArgumentTest[]
}

/** An answer that is remembered beyond one call. */
export interface Grant {
  /** For `revoke`. */
  readonly id: string
  /** The server as it was called when the answer was given. */
  readonly server: string
  readonly tool: string
  readonly verdict: 'allow' | 'deny'
  readonly scope: GrantScope
  /** The conversation or the workspace folder that it holds in. */
  readonly within?: string
  readonly arguments?: readonly ArgumentTest[]
  /** ISO 8601. */
  readonly at: string
}
