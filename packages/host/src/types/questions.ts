import type {
  CallToolResult,
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  ElicitValue,
  Root,
} from '@jackfield/sdk'
import type { CatalogTool } from './catalog.ts'
import type { GivenValue } from './consents.ts'
import type { Visit } from './forms.ts'
import type { ArgumentTest, Caller, Decision, GrantScope, Remember } from './policy.ts'
import type { FolderPreview } from './roots.ts'
import type { ModelChoice, Redaction, SamplingContext, SamplingEstimate } from './sampling.ts'
import type { ServerConfig } from './server.ts'
import type { DefinitionChange, TrustFinding } from './trust.ts'

/** What a question is about and where it comes from. */
export interface Cause {
  server: string
  /** The tool call that led to it, where known. */
  tool?: string
  arguments?: Record<string, unknown>
  caller?: Caller
  /** The conversation that the call belongs to. */
  conversation?: string
}

/** What is asked, by kind of question. */
export interface Questions {
  /** May this call happen, and with these arguments? */
  approval: {
    tool: CatalogTool
    arguments: Record<string, unknown>
    decision: Decision
    /** For how long an answer may be remembered; offer nothing else. */
    remember: readonly GrantScope[]
    /**
     * The tools that one answer may allow for the conversation (`Remember.readOnlyTools`): this one and the others of the
     * server that say they are read-only. Absent where this tool does not say so, the server has changed definitions
     * that are not accepted, or there is no conversation.
     */
    readOnlyTools?: readonly string[]
    /** Kinds of calls like this one that a remembered answer may cover, the narrowest first. */
    likeness: readonly { label: string; arguments?: readonly ArgumentTest[] }[]
    /** Data of these labels may flow into the call. */
    labels: readonly string[]
    /** What the server is, whatever it is called: its command line, or its address. */
    origin?: string
    /** What to look at before trusting the tool. */
    findings?: readonly TrustFinding[]
    /** Why the answer before could not be used; absent at first. `arguments` are then those of that answer. */
    problem?: string
  }
  /** May the caller see this result, and as it is? */
  result: {
    tool: CatalogTool
    arguments: Record<string, unknown>
    result: CallToolResult
    decision: Decision
  }
  /** A form or a URL of a server. */
  elicitation: {
    params: ElicitParams
    /** What the server is, whatever it is called: its command line, or its address. */
    origin?: string
    /** What to look at before answering: fields that seem to ask for secrets, what is odd about a URL. */
    findings?: readonly TrustFinding[]
    /** Earlier answers that the person let be remembered, by field: to begin with, never sent unseen. */
    remembered?: Readonly<Record<string, ElicitValue>>
    /** The person agreed to the visit: accept now means that they finished, cancel that they gave it up. */
    visit?: Visit
  }
  /** A server wants a model's answer: what would be asked, and which model it would be. */
  'sampling-request': {
    params: CreateMessageParams
    choice: ModelChoice
    /** What leaves this host if the request goes out as it stands: tokens and money, both estimates. */
    estimate: SamplingEstimate
    /** What would be blanked before sending, and where. */
    redactions: readonly Redaction[]
    /** The server also wants parts of the conversation. */
    context?: SamplingContext
    /** Why the answer before could not be used; absent at first. */
    problem?: string
  }
  /** What the server would be told. */
  'sampling-result': {
    params: CreateMessageParams
    result: CreateMessageResult
    choice: ModelChoice
    usage?: { inputTokens: number; outputTokens: number; cost?: number; currency?: string }
    /** Why the answer before could not be used; absent at first. */
    problem?: string
  }
  /** May this server know these folders? */
  roots: {
    roots: Root[]
    /** What the server would see there; absent where it was not looked at. */
    folders?: readonly FolderPreview[]
  }
  /** May this server be started, or this address be spoken to, for the first time or after its configuration changed? */
  install: {
    config: ServerConfig
    /** The file that names it, where one does. */
    file?: string
    /** The exact command line, nothing left out; or the address. */
    command: string
    /** The file that the command names on this machine, and after an arrow what it leads to where it is a link. */
    program?: string
    /** The variables, or headers, that it is given. */
    given?: readonly GivenValue[]
    findings: readonly TrustFinding[]
    /** What it was when it was agreed to, where it was. */
    before?: string
  }
  /** A server now says something else about itself than what was agreed to. What changed is out of use until answered. */
  drift: { changes: readonly DefinitionChange[]; findings: readonly TrustFinding[] }
  /** A server wants the person signed in: may the browser be opened there? */
  login: { url: string; issuer: string; scopes: readonly string[] }
}

/** The kinds of questions a person may be asked. */
export type QuestionKind = keyof Questions

/** One question of one kind, with the id that the inbox gave it. */
export type Question<K extends QuestionKind> = { kind: K; id: string; cause: Cause } & Questions[K]

/** A question to the person. Nothing is ever answered on their behalf unless they said so before. */
export type HostQuestion = { [K in QuestionKind]: Question<K> }[QuestionKind]

/** What a person may answer, by kind of question. */
export interface HostAnswers {
  approval:
    | { verdict: 'allow'; arguments?: Record<string, unknown>; remember?: Remember }
    | { verdict: 'deny'; reason?: string; remember?: Remember }
    /** The person answers in place of the tool, which is not called. */
    | { verdict: 'respond'; result: CallToolResult }
  result: { verdict: 'allow'; result?: CallToolResult } | { verdict: 'deny'; reason?: string }
  /** All but the protocol's own members stay in this host. */
  elicitation: ElicitResult & {
    reason?: string
    /**
     * Beside accept of a URL: the host opens the page, or the person does by themselves, and the person is asked
     * whether they finished before the server hears of it. Left out, the server hears at once.
     */
    visit?: 'open' | 'self'
    /** Fields whose values are remembered for the next time; those of the form's others are forgotten. Never secrets. */
    remember?: readonly string[]
  }
  'sampling-request':
    | {
        verdict: 'allow'
        params?: CreateMessageParams
        /** Another model than the chosen one, by its id. */
        model?: string
        /** Adds the texts of `context`, exactly those that were shown. Default false. */
        context?: boolean
        /** Lets this server's requests through without this question, as long as its budget lasts. */
        remember?: 'conversation' | 'always'
      }
    | { verdict: 'deny'; reason?: string }
  'sampling-result':
    | {
        verdict: 'allow'
        result?: CreateMessageResult
        /** Lets this server have answers without this question, as long as its budget lasts. */
        remember?: 'conversation' | 'always'
      }
    /** Asks a model again, another one if named. */
    | { verdict: 'regenerate'; model?: string }
    | { verdict: 'deny'; reason?: string }
  /** `roots`: only these of those that were shown. Default all. */
  roots: { verdict: 'allow'; roots?: Root[] } | { verdict: 'deny' }
  install: { verdict: 'allow' } | { verdict: 'deny'; reason?: string }
  /** `keep`: go on with what was agreed to where that is possible; `block`: the server's changed things stay out of use. */
  drift: { verdict: 'accept' } | { verdict: 'block' }
  login: { verdict: 'allow' } | { verdict: 'deny' }
}

/**
 * Shows one question and resolves with the person's answer, or with undefined to leave it in the inbox, where any
 * face can answer it. The signal is aborted when the question is answered elsewhere or withdrawn.
 */
export type Show<K extends QuestionKind> = (
  question: Question<K>,
  signal: AbortSignal,
) => Promise<HostAnswers[K] | undefined>

/**
 * The person, as one face shows them. Only kinds that an attached face can show are advertised to servers. A promise
 * may stay open as long as the person thinks.
 */
export interface Surface {
  /** For messages and the activity log: 'terminal', 'answers file', 'web'. */
  readonly name: string
  /** What can be shown; a kind left out cannot be asked here. */
  readonly show: { readonly [K in QuestionKind]?: Show<K> }
  /** Whether URL visits can be shown besides forms. Default false. */
  readonly urlElicitation?: boolean
}
