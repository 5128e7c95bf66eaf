import type {
  CallToolResult,
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  ElicitValue,
  Root,
} from '@jackfield/sdk'
import type { AppPermission } from '@jackfield/sdk/extensions/ui'
import type { AppRef, AppWish } from './apps.ts'
import type { CatalogTool } from './catalog.ts'
import type { ConfigInput } from './config.ts'
import type { GivenValue } from './consents.ts'
import type { Visit } from './forms.ts'
import type { ArgumentTest, Caller, Decision, GrantScope, Remember } from './policy.ts'
import type { InstallPlan } from './registry.ts'
import type { FolderPreview } from './roots.ts'
import type {
  ModelChoice,
  Redaction,
  SamplingCandidate,
  SamplingContext,
  SamplingEstimate,
} from './sampling.ts'
import type { ServerConfig } from './server.ts'
import type { DefinitionChange, TrustFinding } from './trust.ts'

/** The subject and origin of a question. */
export interface Cause {
  /** The configured name of the server that the question is about. */
  server: string
  /** The tool call that caused it, if known. */
  tool?: string
  /** The arguments of that call, redacted. */
  arguments?: Record<string, unknown>
  /** Who made that call. */
  caller?: Caller
  /** The conversation that the call belongs to. */
  conversation?: string
}

/** Questions by kind. */
export interface Questions {
  /** Approval of a call and its arguments. */
  approval: {
    tool: CatalogTool
    arguments: Record<string, unknown>
    decision: Decision
    /** The scopes for which the answer may be remembered. Do not offer others. */
    remember: readonly GrantScope[]
    /**
     * The tools that one answer may allow for the conversation (`Remember.readOnlyTools`): all tools of the server with
     * `readOnlyHint`. Absent if this tool has no such hint, the server has changed definitions that are not accepted, or
     * there is no conversation.
     */
    readOnlyTools?: readonly string[]
    /** Argument patterns that match this call, for a remembered answer; the narrowest first. */
    likeness: readonly { label: string; arguments?: readonly ArgumentTest[] }[]
    /** Data of these labels may flow into the call. */
    labels: readonly string[]
    /** The server's identity for display: its command line or URL. */
    origin?: string
    /** Findings about the tool. */
    findings?: readonly TrustFinding[]
    /** Why the previous answer was rejected; absent at first. `arguments` are then those of that answer. */
    problem?: string
  }
  /** Approval of passing a result to its caller. */
  result: {
    tool: CatalogTool
    arguments: Record<string, unknown>
    result: CallToolResult
    decision: Decision
  }
  /** A form or URL elicitation. */
  elicitation: {
    params: ElicitParams
    /** The server's identity for display: its command line or URL. */
    origin?: string
    /** Findings: fields that seem to ask for secrets, suspicious parts of a URL. */
    findings?: readonly TrustFinding[]
    /** Remembered values by field: initial values, never sent without review. */
    remembered?: Readonly<Record<string, ElicitValue>>
    /** Set after the URL was accepted: accept now means finished, cancel means given up. */
    visit?: Visit
  }
  /** A sampling request, with the model that would answer it. */
  'sampling-request': {
    params: CreateMessageParams
    choice: ModelChoice
    /** Estimated tokens and cost of the unedited request. */
    estimate: SamplingEstimate
    /** Redactions before sending, and where. */
    redactions: readonly Redaction[]
    /** Conversation context that the server asks for. */
    context?: SamplingContext
    /** Why the previous answer was rejected; absent at first. */
    problem?: string
  }
  /** The sampling result that the server would get. */
  'sampling-result': {
    params: CreateMessageParams
    result: CreateMessageResult
    choice: ModelChoice
    usage?: { inputTokens: number; outputTokens: number; cost?: number; currency?: string }
    /** The responses before this one, oldest first, if it was generated again; at most the last three. */
    earlier?: readonly SamplingCandidate[]
    /** Why the previous answer was rejected, or why none could be generated again; absent at first. */
    problem?: string
  }
  /** Whether a server may see these folders as roots. */
  roots: {
    roots: Root[]
    /** The contents of the folders; absent if they were not read. */
    folders?: readonly FolderPreview[]
  }
  /** Consent to start or connect to a server for the first time, or after its configuration changed. */
  start: {
    config: ServerConfig
    /** The file that names it, if any. */
    file?: string
    /** The exact, complete command line, or the URL. */
    command: string
    /** The file that the command resolves to on this machine; for a link, followed by an arrow and its target. */
    program?: string
    /** The variables or headers that it gets. */
    given?: readonly GivenValue[]
    findings: readonly TrustFinding[]
    /** The command line at the last consent, if there was one. */
    before?: string
  }
  /** A value that a server needs before it can be started: `${input:…}` of its configuration, or a choice of the host. */
  input: { input: ConfigInput }
  /** Installation of a server: what would be written to the configuration, and what it would run. */
  installation: Installation
  /** Definitions of a server changed. The changed definitions are quarantined until answered. */
  drift: { changes: readonly DefinitionChange[]; findings: readonly TrustFinding[] }
  /** A server requires a login: whether to open the browser. */
  login: { url: string; issuer: string; scopes: readonly string[] }
  /** Whether to show an app's page, or to allow its action outside the frame. */
  app: { app: AppRef; wants: AppWish; findings?: readonly TrustFinding[] }
}

/** A server to be installed. */
export interface Installation {
  /** The entry to be added, and the findings about it. */
  readonly plan: Omit<InstallPlan, 'config'>
  /** The configuration file that gets the entry. */
  readonly file: string
  /** Whether the server is started afterwards. */
  readonly starts: boolean
}

/** The kinds of questions a person may be asked. */
export type QuestionKind = keyof Questions

/** One question of one kind, with the id that the inbox gave it. */
export type Question<K extends QuestionKind> = { kind: K; id: string; cause: Cause } & Questions[K]

/** A question to the user. Only answers that the user chose to be remembered are given without asking. */
export type HostQuestion = { [K in QuestionKind]: Question<K> }[QuestionKind]

/** Answers by kind of question. */
export interface HostAnswers {
  /**
   * `arguments`: edited arguments for the call; default those of the question. `reason`: passed to the
   * caller.
   */
  approval:
    | { verdict: 'allow'; arguments?: Record<string, unknown>; remember?: Remember }
    | { verdict: 'deny'; reason?: string; remember?: Remember }
    /** The user wrote the result; the tool is not called. */
    | { verdict: 'respond'; result: CallToolResult }
  /** `result`: an edited result for the caller; default the tool's. `reason`: passed to the caller. */
  result: { verdict: 'allow'; result?: CallToolResult } | { verdict: 'deny'; reason?: string }
  /** Only the protocol's own members are sent to the server. */
  elicitation: ElicitResult & {
    reason?: string
    /**
     * With `accept` of a URL: the host opens the page, or the user opens it, and the response is sent to the server
     * after the user was asked whether they finished. If left out, the response is sent immediately.
     */
    visit?: 'open' | 'self'
    /** Fields whose values are remembered, except secrets; stored values of the form's other fields are removed. */
    remember?: readonly string[]
  }
  /** `params`: an edited request; default that of the question. `reason`: passed to the server. */
  'sampling-request':
    | {
        verdict: 'allow'
        params?: CreateMessageParams
        /** The id of another model than the chosen one. */
        model?: string
        /** Adds the texts of `context` with these ids exactly as shown; `true` adds all. Default none. */
        context?: boolean | readonly string[]
        /** Further requests of this server pass without this question, within its budget. */
        remember?: 'conversation' | 'always'
      }
    | { verdict: 'deny'; reason?: string }
  /** Whether the server gets the result. `reason`: passed to the server. */
  'sampling-result':
    | {
        verdict: 'allow'
        /** The index in `earlier` of the response that the server gets instead of the newest one. */
        chosen?: number
        /** An edited response in place of the chosen one. */
        result?: CreateMessageResult
        /** Further results for this server pass without this question, within its budget. */
        remember?: 'conversation' | 'always'
      }
    /** Generates again, with another model if one is named. */
    | { verdict: 'regenerate'; model?: string }
    | { verdict: 'deny'; reason?: string }
  /** `roots`: a subset of the folders shown. Default all. */
  roots: { verdict: 'allow'; roots?: Root[] } | { verdict: 'deny' }
  /** Whether the server is started or connected to, now and later as it is configured. */
  start: { verdict: 'allow' } | { verdict: 'deny'; reason?: string }
  /**
   * The value is stored with the secrets or the settings and passed to the server. The inbox, its events and the activity log do
   * not have it.
   */
  input: { verdict: 'allow'; value: string } | { verdict: 'deny' }
  /** Whether the entry is written to the configuration. */
  installation: { verdict: 'allow' } | { verdict: 'deny'; reason?: string }
  /** `accept`: use the changed definitions; `block`: keep them disabled. */
  drift: { verdict: 'accept' } | { verdict: 'block' }
  /** Whether the login page is opened. */
  login: { verdict: 'allow' } | { verdict: 'deny' }
  /** A link is opened, and a file saved, by the surface that answers. */
  app:
    | {
        verdict: 'allow'
        /** For a page: the granted ones of the requested permissions. Default none. */
        permissions?: readonly AppPermission[]
        /** For a page: also allows other versions, as long as they request no more. Default false. */
        anyContents?: boolean
        /** For a context: later ones of the open page replace it without a question. Default false. */
        always?: boolean
      }
    | { verdict: 'deny' }
}

/**
 * Shows one question and resolves with the answer, or with undefined to leave it in the inbox, where any surface can
 * answer it. The signal is aborted when the question is answered elsewhere or withdrawn.
 */
export type Show<K extends QuestionKind> = (
  question: Question<K>,
  signal: AbortSignal,
) => Promise<HostAnswers[K] | undefined>

/**
 * Shows questions to the user. Only capabilities that an attached surface can show are advertised to servers. There
 * is no time limit for an answer.
 */
export interface Surface {
  /** For messages and the activity log: 'terminal', 'answers file', 'web'. */
  readonly name: string
  /** A function for each kind of question that this surface can show. */
  readonly show: { readonly [K in QuestionKind]?: Show<K> }
  /** Whether URL elicitations can be shown besides forms. Default false. */
  readonly urlElicitation?: boolean
}
