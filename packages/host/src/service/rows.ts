import type { CallToolResult, JsonObject, LoggingLevel, SamplingMessage } from '@jackfield/sdk'
import type { ServerChange, Watch } from '@jackfield/sdk/client'
import type { Turn } from '../models/agent/index.ts'
import type {
  Activity,
  AttachedCopy,
  BrokeredCall,
  CodeRun,
  ConnectionState,
  ConversationEntry,
  ConversationFacts,
  Decision,
  DoctorReport,
  DoctorStep,
  Host,
  HostEvent,
  HostTask,
  InboxItem,
  ModelUsage,
  ModelWait,
  QuestionKind,
  Reconfigured,
  Replay,
  ReplayRequest,
  ToolSwitch,
} from '../types/index.ts'
import type { Fault } from './frames.ts'

/** A model that can answer in conversations. */
export interface ModelRow {
  /** As in `Model`: `provider/model`, `offline`. */
  readonly id: string
  /** False for a program that answers by rules. */
  readonly isLanguageModel: boolean
  /** Tokens of request and response together; null if unknown. */
  readonly contextTokens: number | null
  /** The configured price of a million tokens. */
  readonly cost?: { readonly input: number; readonly output: number }
  /** Of the price. Default `USD`. */
  readonly currency?: string
}

/** A resource or a template, as a row of the tree. */
export interface LibraryLeaf {
  /** The configured server name. */
  readonly server: string
  /** The URI, or the URI template. */
  readonly uri: string
  /** The title, else the name. Unsanitized server text. */
  readonly title: string
  /** Set if it is a template. */
  readonly isTemplate?: true
  /** As declared by the server. */
  readonly mimeType?: string
  /** Estimated token cost by its size; absent if the server reports none. */
  readonly tokens?: number
  /** Its priority for a model according to its server, from 0 to 1. */
  readonly priority?: number
  /** Its server marks it for the user alone, so it is not given to a model. */
  readonly isForPersonOnly?: true
}

/** A page of nodes below one place of the tree. */
export interface LibraryPage {
  /** The nodes of this page. */
  readonly nodes: readonly {
    readonly label: string
    /** Number of resources here and below. */
    readonly resources: number
    readonly templates: number
    readonly hasChildren: boolean
    /** The resource or template at this place. */
    readonly leaves: readonly LibraryLeaf[]
  }[]
  /** The number of nodes on all pages. */
  readonly total: number
}

/** A configured server, as a row of the topic `servers`. */
export interface ServerRow {
  /** The configured server name. */
  readonly name: string
  /** The state of its connection. */
  readonly connection: ConnectionState
  /** Number of its tools. */
  readonly tools: number
  /** Number of its prompts. */
  readonly prompts: number
  /** Number of its resources. */
  readonly resources: number
  /** Number of its resource templates. */
  readonly templates: number
  /** Definitions of the server that are disabled until the user decides. */
  readonly quarantined: number
  /** The command line or the URL. */
  readonly origin: string
}

/** A question, as a row of the topic `inbox`. */
export interface InboxRow extends InboxItem {
  /** Its activity row and the rows that led to it. */
  readonly rows: readonly number[]
  /** Every surface deferred it: it is no longer shown automatically, and can still be answered. */
  readonly deferred?: true
  /** The digest that an answer must repeat: see `inbox.answer`. */
  readonly digest: string
}

/** A transient notice, as a row of the topic `notices`. */
export type Notice = (
  | Extract<
      HostEvent,
      {
        type:
          | 'log'
          | 'stderr'
          | 'warning'
          | 'login'
          | 'sampling'
          | 'policy'
          | 'roots'
          | 'trust'
          | 'resource-updated'
      }
    >
  | ConfigurationNotice
) & { readonly at: string }

/** The configuration files changed: the effect, or why they are invalid. */
export type ConfigurationNotice =
  /** `rules`: their current number, if they changed. */
  | { readonly type: 'configuration'; readonly done: Reconfigured; readonly rules?: number }
  | { readonly type: 'configuration'; readonly problem: string }

/** The rows of each topic by its name; `conversation:<id>` is a topic for each conversation. */
export interface Topics {
  /** Every configured server, by name. */
  servers: ServerRow
  /** Open questions, and the last settled ones. */
  inbox: InboxRow
  /** Runs of all clients, and the last ones that ended. */
  runs: RunRow
  /** Calls that servers run as tasks. */
  tasks: HostTask
  /** Stored conversations. */
  conversations: ConversationFacts
  /** The clients that can show questions. */
  surfaces: SurfaceRow
  /** The newest activities, including running ones. */
  activity: Activity
  /** The last notices. */
  notices: Notice
  /** One row with a number that increases with every change of a server's list. */
  catalog: { readonly version: number }
  /** One row with a number that increases with every change of a configuration file. */
  configuration: { readonly version: number }
}

/** The row of a topic. */
export type TopicRow<T extends string> = T extends keyof Topics
  ? Topics[T]
  : T extends `conversation:${string}`
    ? ConversationRow
    : never

/** Information about a host. */
export interface HostStatus {
  /** The version of the program. */
  readonly version: string
  /** Identifies builds of the same version. */
  readonly build: string
  /** The id of the host process. */
  readonly pid: number
  /** ISO 8601. */
  readonly since: string
  /** The working folder; null without one. */
  readonly workspace: string | null
  /** Digests of the variables that its servers and models use, by name, for comparison with those of a client. */
  readonly environment: Readonly<Record<string, string>>
  /** The SQLite file, or `:memory:`. */
  readonly store: string
  /** The names of the connected clients. */
  readonly clients: readonly string[]
  /** The number of configured servers. */
  readonly servers: number
  /** The number of open questions. */
  readonly openQuestions: number
  /** The number of runs that have not ended. */
  readonly runs: number
}

/** Work that continues without the client that started it. */
export type RunRequest =
  /** Calls a tool by its name in the catalog. The user typed this exact call: it needs no approval that policy would ask for. */
  | {
      kind: 'call'
      tool: string
      arguments: Record<string, unknown>
      /** The caller, for rules. Default `person`. */
      caller?: 'person' | 'cli'
      conversation?: string
      /** Further `_meta` of the request. */
      meta?: JsonObject
      /** Milliseconds without a response or progress before the call fails. Default: that of the server. */
      timeoutMs?: number
      /** Minimum level of the log messages of this call, on 2026-07-28. */
      logLevel?: LoggingLevel
    }
  | { kind: 'read'; server: string; uri: string }
  | { kind: 'prompt'; prompt: string; arguments: Record<string, string> }
  /** Watches these resources and every list the server reports, until it is stopped. */
  | { kind: 'watch'; server: string; uris: string[] }
  /** Diagnoses a server step by step. */
  | { kind: 'examine'; server: string }
  | { kind: 'reconnect'; server: string }
  | { kind: 'signIn'; server: string }
  | { kind: 'replay'; request: ReplayRequest }
  /** Runs a program that calls tools. */
  | { kind: 'code'; program: string; file?: string; servers?: string[]; maxCalls?: number }

/** The result of each kind of run. */
export interface RunResults {
  /** The call, including refusals and failures. */
  call: BrokeredCall
  /** The contents of the resource. */
  read: Awaited<ReturnType<Host['read']>>
  /** The messages of the prompt. */
  prompt: Awaited<ReturnType<Host['prompt']>>
  /** A watch has no result: its changes are in `RunRow.watched`. */
  watch: null
  /** The diagnosis. */
  examine: DoctorReport
  /** No result: the connection's state is in the topic `servers`. */
  reconnect: null
  /** No result: the connection's state is in the topic `servers`. */
  signIn: null
  /** The new result, and its differences to the recorded one. */
  replay: Replay
  /** The program's outcome, output and calls. */
  code: CodeRun
}

/** One run, as a row of the topic `runs`. */
export interface RunRow {
  /** Unique in the host process. */
  readonly id: string
  /** As in the request. */
  readonly kind: RunRequest['kind']
  /** A one-line summary: the tool, URI, prompt or server. */
  readonly label: string
  /** The client that started it. */
  readonly by: string
  /** ISO 8601. */
  readonly at: string
  /** `failed`: see `fault`. `stopped`: cancelled by `runs.stop`, or because its client disconnected. */
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  /** Its activity row. */
  readonly activity?: number
  /** The last progress that was reported. */
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string }
  /** The subjects of a `watch` run, and the last changes, numbered from 1 on. */
  readonly watched?: {
    readonly acknowledged: Watch['acknowledged']
    readonly changes: readonly {
      readonly number: number
      readonly at: string
      readonly change: ServerChange
    }[]
  }
  /** Steps of a diagnosis so far. */
  readonly steps?: readonly DoctorStep[]
  /** Why it failed. */
  readonly fault?: Fault
  /** Milliseconds from its start to its end; absent while it runs. */
  readonly durationMs?: number
}

/** A run with its result. */
export interface Run extends RunRow {
  /** The request that started it. */
  readonly request: RunRequest
  /** One member, named as the kind; absent while it runs, if it failed, and if its result expired. */
  readonly result?: Partial<RunResults>
}

/** A message of the user: text, messages such as those of a prompt, or both. */
export interface UserMessage {
  /** Text of the user. */
  readonly text?: string
  /** Messages added before the text. */
  readonly messages?: readonly SamplingMessage[]
}

/** A tool call of the running process. */
export interface CallRow {
  readonly kind: 'call'
  /** The model's id for it; `name` and `arguments` are the model's, too. */
  readonly id: string
  /** The name of the tool, as in the catalog or of the conversation's own. */
  readonly name: string
  /** The arguments as the model wrote them. */
  readonly arguments: Record<string, unknown>
  /** `later`: its question was deferred, or it is a long task: the turn continued without its result. */
  readonly state: 'running' | 'later' | 'done'
  /** The index of the call in `conversations.calls`, from 1 on. */
  readonly number?: number
  /** It was sent to its server; before, policy and the user decide. */
  readonly sent?: boolean
  /** The last progress that the server reported. */
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string }
  /** The deferred question. */
  readonly question?: string
  /** The task that the turn did not wait for. */
  readonly task?: string
  /** The activity row of the call. */
  readonly activity?: number
  /** As in the tool's result. */
  readonly isError?: boolean
  /** Set if policy or the user refused. */
  readonly denied?: boolean
  /** Set if the user cancelled this call only. */
  readonly cancelled?: boolean
  /** The policy decision. */
  readonly decision?: Decision
  /** The tool's result, if it is not too large; the model's version is in the entry `result`. */
  readonly result?: CallToolResult
  /** Milliseconds between sending and the response; absent if it was not sent. */
  readonly durationMs?: number
}

/** The rows of the topic `conversation:<id>`. */
export type ConversationRow =
  /** Key `info`. */
  | {
      readonly kind: 'info'
      readonly id: string
      readonly title: string
      readonly model: string
      readonly isLanguageModel: boolean
      /** Tokens of the model's context, as configured or reported by the model. */
      readonly contextLimit?: number
      readonly state: 'idle' | 'answering' | 'summarizing'
      /** The client whose message is being answered. */
      readonly by?: string
      /** The message being answered: see `conversations.say`. */
      readonly message?: string
      readonly usage: readonly ModelUsage[]
      readonly contextTokens?: number
      readonly toolSwitches: readonly ToolSwitch[]
      /** The model request is retried after a pause. */
      readonly wait?: ModelWait
      /** Why the last turn ended early. */
      readonly fault?: Fault
      /** How the last turn ended; absent while one runs. */
      readonly stopReason?: Turn['stopReason']
      /** Tool calls that the last turn did not run because of a limit. */
      readonly callsNotRun?: number
      /** Names of calls that were running when an earlier process ended: they have no result. */
      readonly unfinished?: readonly string[]
    }
  /** Keys `entry:<place>`, in order. */
  | { readonly kind: 'entry'; readonly place: number; readonly entry: ConversationEntry }
  /** Key `partial`: the text of the reply being generated. */
  | { readonly kind: 'partial'; readonly text: string }
  /** Keys `call:<count>`. */
  | CallRow
  /** Keys `queued:<id>`: sent while a turn runs, answered after it. */
  | { readonly kind: 'queued'; readonly id: string; readonly input: UserMessage; readonly by: string }
  /** Key `attached`: resources sent with the next message. */
  | { readonly kind: 'attached'; readonly copies: readonly AttachedCopy[] }

/** Which conversation is opened, and settings of its turns. */
export interface OpenOptions {
  /** Continues a stored conversation: its id, or a prefix of it. Default: a new one. */
  id?: string
  /** The model that answers. Default: the one that answered last, else the first. */
  model?: string
  /** Lets the model write programs that call the tools. Default false. */
  code?: boolean
  /** Maximum tool calls of one turn. Default 200. */
  maxCalls?: number
  /** Resources that servers mark as important for a model are sent with the first message. Default true. */
  context?: boolean
}

/** The capabilities of a client's surface. */
export interface SurfaceInfo {
  /** For users and the activity log: `terminal`, `Firefox on lapis`. */
  readonly name: string
  /** The kinds of questions that it can show. */
  readonly kinds: readonly QuestionKind[]
  /** Whether it can open URL elicitations. Default false. */
  readonly urlElicitation?: boolean
}

/** An attached surface, as a row of the topic `surfaces`. */
export type SurfaceRow = SurfaceInfo & { readonly id: string }
