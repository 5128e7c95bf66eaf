/**
 * The contract between a host and its surfaces: methods, topics and their rows, as types alone. A terminal, a browser and
 * a test use the same.
 */
import type {
  CallToolResult,
  CompleteParams,
  CreateMessageParams,
  JsonObject,
  LoggingLevel,
  Root,
  SamplingMessage,
} from '@jackfield/sdk'
import type { ServerChange, Watch } from '@jackfield/sdk/client'
import type { Turn } from '../models/agent/index.ts'
import type {
  Activity,
  ActivityVerification,
  AppConsent,
  AppPage,
  AppReply,
  AttachedCopy,
  AttachResult,
  BrokeredCall,
  CatalogPrompt,
  CatalogResource,
  CatalogTemplate,
  CatalogTool,
  CodeRun,
  Completion,
  CompletionField,
  ConfigChange,
  ConfigInput,
  ConfigPlan,
  ConfigText,
  ConfigView,
  ConnectionState,
  ConsentNeeded,
  ConversationCall,
  ConversationEntry,
  ConversationFacts,
  CopyDiff,
  Decision,
  DoctorReport,
  DoctorStep,
  ExplainOptions,
  FolderPreview,
  FoundServer,
  GivenConsent,
  Grant,
  Host,
  HostAnswers,
  HostEvent,
  HostTask,
  InboxItem,
  Inclusion,
  LibraryNode,
  LibraryPrompt,
  LibrarySearch,
  LibrarySearchOptions,
  LoginService,
  MissingInput,
  ModelProvider,
  ModelTest,
  ModelUsage,
  ModelWait,
  OpenFolder,
  PolicyExplanation,
  PolicyPreview,
  PolicyRule,
  PromptPreview,
  QuestionKind,
  Reconfigured,
  Redaction,
  RegistryServer,
  Replay,
  ReplayRequest,
  ResourcePreview,
  ResourceRef,
  ResultPart,
  ResultText,
  ReviewedInstallation,
  RuleHits,
  SamplingEstimate,
  SamplingGrant,
  SamplingUsage,
  ServerDetails,
  ServerRoots,
  ServerTrust,
  TemplateField,
  ToolMeter,
  ToolSearchResult,
  ToolSwitch,
  TraceBins,
  TraceBinsQuery,
  TraceCounters,
  TraceEvent,
  TraceFormat,
  TraceLane,
  TraceNode,
  TracePair,
  TraceQuery,
  TraceStatistics,
  TrustItem,
  Verdict,
  WholeTraceEvent,
} from '../types/index.ts'
import type { Fault } from './frames.ts'

type Call<Params, Result> = { params: Params; result: Result }
type None = Record<string, never>
type Id = { id: string }
type InServer = { server?: string }
type OfServer = { server: string }

/**
 * Parameters and result of every method of a host. A method without a result gives null. Methods with an effect are done
 * once, also where a client sends them again after a lost connection.
 */
export interface Methods {
  /** Version, process and clients of the host. */
  'host.status': Call<None, HostStatus>
  /** Ends the host process once nothing runs, or at once with `now`. */
  'host.stop': Call<{ now?: boolean }, null>
  /** Reads the configuration again where it changed, so that what follows counts on it. */
  'host.sync': Call<None, null>

  /**
   * Adds the client as a surface, or replaces what it said before: it gets questions as rows of `inbox` and answers with
   * `inbox.answer`. It is a surface until its connection is closed for good.
   */
  'surface.attach': Call<SurfaceInfo, null>

  'catalog.tools': Call<InServer, CatalogTool[]>
  'catalog.prompts': Call<InServer, CatalogPrompt[]>
  'catalog.resources': Call<InServer, CatalogResource[]>
  'catalog.templates': Call<InServer, CatalogTemplate[]>
  /** Instructions of each ready server. */
  'catalog.instructions': Call<None, { server: string; text: string }[]>
  'catalog.searchTools': Call<{ query: string; server?: string; limit?: number }, ToolSearchResult>
  /** Tokens that the definitions of the tools take. `conversation`: without the tools that are off in it. */
  'catalog.meter': Call<{ contextTokens?: number; conversation?: string }, ToolMeter>
  /** Values for an argument of a prompt or a variable of a template. */
  'catalog.complete': Call<
    { server: string; params: CompleteParams },
    { values: string[]; total?: number; hasMore?: boolean }
  >

  'servers.list': Call<None, ServerRow[]>
  /** Starts servers, all of them or those named, once; resolves when each is ready or failed. */
  'servers.start': Call<{ servers?: string[] }, null>
  /** What a connected server says about itself; null while it is not connected. */
  'servers.details': Call<OfServer, ServerDetails | null>
  /** Milliseconds until the response to a ping. */
  'servers.ping': Call<OfServer, number>
  /** Sets the minimum level of a server's log messages, until it is connected again. */
  'servers.setLogLevel': Call<{ server: string; level: LoggingLevel }, null>

  /**
   * Starts a run and gives its id. `attached`: the run ends when the client is gone; default false. `asks`: whether its
   * questions wait for a surface of any client, else they fail at once; default true.
   */
  'runs.start': Call<{ request: RunRequest; attached?: boolean; asks?: boolean }, string>
  'runs.get': Call<Id, Run>
  /** Gives the run once it is over. */
  'runs.wait': Call<Id, Run>
  'runs.stop': Call<Id, null>

  /** Tasks that are not over, and the last ones that ended here. */
  'tasks.list': Call<None, HostTask[]>
  /** Gives what the call gave, once its task is over. */
  'tasks.result': Call<Id, BrokeredCall>
  'tasks.cancel': Call<Id, null>

  /**
   * Opens the app of a tool, by the tool's name in the catalog, until the client is gone; asks before a page is first shown and
   * when it changed. `activity`: the row of the call that it shows.
   */
  'apps.open': Call<{ tool: string; conversation?: string; activity?: number }, AppPage>
  /** Does what an open app asks for, by its own JSON-RPC request. */
  'apps.request': Call<{ id: string; method: string; params: Readonly<Record<string, unknown>> }, AppReply>
  'apps.close': Call<Id, null>
  /** What the person decided about pages. */
  'apps.consents': Call<None, AppConsent[]>
  /** Forgets the decision about a page; false where there was none. */
  'apps.forget': Call<{ identity: string; uri: string }, boolean>

  'inbox.list': Call<{ state?: InboxItem['state'] | 'all'; server?: string; limit?: number }, InboxRow[]>
  'inbox.get': Call<Id, InboxRow | null>
  /**
   * Answers a question, exactly once. `seen`: the digest of what the person was shown (`InboxRow.digest`); an answer
   * that carries another one than that of the question now is refused.
   */
  'inbox.answer': Call<{ id: string; answer: HostAnswers[QuestionKind]; seen?: string }, null>
  /** Leaves a question for later: the conversation that asked continues. False where nothing waits for it here. */
  'inbox.defer': Call<Id, boolean>
  /** Why the call that asked cannot be continued here; null where it can. */
  'inbox.refusal': Call<Id, string | null>
  /** Waits for the call that asked, where its answer continues it; null where another program waits for the answer. */
  'inbox.resumed': Call<Id, BrokeredCall | null>

  /** Answers a row of `inputs`; without a value, the server that needs it fails. */
  'inputs.answer': Call<{ id: string; value?: string }, null>

  /** The one in which something was said last comes first. */
  'conversations.list': Call<{ limit?: number }, ConversationFacts[]>
  /** By its id or the beginning of it. */
  'conversations.find': Call<Id, ConversationFacts>
  'conversations.entries': Call<Id, ConversationEntry[]>
  /** What the person said in the conversations that were last spoken in, oldest first, for a history of inputs. */
  'conversations.inputs': Call<None, string[]>
  /** Begins a conversation or continues one; gives its id. Its state is the topic `conversation:<id>`. */
  'conversations.open': Call<OpenOptions, string>
  /**
   * Says something and gives how the turn ended, or null where it was taken out of the queue. It is answered also where
   * the client is gone. `message`: an id for it, unique in the conversation, for `conversations.unqueue` and
   * `info.message`; default: one is made.
   */
  'conversations.say': Call<{ id: string; said: Saying; message?: string }, Turn | null>
  /** Ends the turn that runs; gives what was queued. */
  'conversations.stop': Call<Id, Saying[]>
  /** Cancels the call that runs now, by the id that the model gave it; the turn continues. False where it does not run. */
  'conversations.cancelCall': Call<{ id: string; call: string }, boolean>
  /** Takes a message out of the queue; false where it is not there. */
  'conversations.unqueue': Call<{ id: string; message: string }, boolean>
  /** Copies the conversation before its entry `place` (default all of it); gives the id of the copy. */
  'conversations.fork': Call<{ id: string; place?: number }, string>
  'conversations.setTitle': Call<{ id: string; title: string }, null>
  'conversations.setModel': Call<{ id: string; model: string }, null>
  /** Offers tools to the model or withholds them, by patterns of `server__tool`. */
  'conversations.switchTools': Call<{ id: string; on: boolean; patterns: string[] }, null>
  /** Asks the model for a summary. Nothing changes by it. */
  'conversations.summarize': Call<Id, string>
  /** Gives the model this text in place of everything before. */
  'conversations.compact': Call<{ id: string; summary: string }, null>
  'conversations.remove': Call<Id, null>
  /** Every tool call of the model, in order; a call keeps its place for good. */
  'conversations.calls': Call<Id, readonly ConversationCall[]>
  /** The default first. */
  'models.list': Call<None, ModelRow[]>
  /** Providers, and which of their variables are set. `chosen`: the model that JACKFIELD_MODEL makes the default. */
  'models.providers': Call<None, { providers: ModelProvider[]; chosen: string | null }>
  /** Sends a model one short request. */
  'models.test': Call<Id, ModelTest>

  'library.tree': Call<None, LibraryNode[]>
  /** The nodes under a place of the tree, as one page. `path`: labels from the server on; empty for the servers. */
  'library.children': Call<{ path: string[]; from?: number; limit?: number }, LibraryPage>
  /** The resources under a place, at most 1 000 of `total`. */
  'library.under': Call<{ path: string[] }, { resources: LibraryLeaf[]; total: number }>
  'library.search': Call<{ query: string } & LibrarySearchOptions, LibrarySearch>
  'library.preview': Call<{ server: string; uri: string; characters?: number }, ResourcePreview>
  /** null where the server offers no completion. */
  'library.complete': Call<CompletionField, Completion | null>
  /** The variables of a resource template. */
  'library.fields': Call<{ uriTemplate: string }, TemplateField[]>
  'library.expand': Call<{ uriTemplate: string; values: Record<string, string> }, string>
  'library.attach': Call<{ conversation: string; refs: ResourceRef[] }, AttachResult>
  'library.attached': Call<{ conversation: string }, AttachedCopy[]>
  /** Without `ref`: everything. */
  'library.detach': Call<{ conversation: string; ref?: ResourceRef }, null>
  /** Detaches what `library.include` attached, and never includes it again in this conversation. Without `ref`: everything. */
  'library.exclude': Call<{ conversation: string; ref?: ResourceRef }, null>
  'library.diff': Call<{ conversation: string; ref: ResourceRef }, CopyDiff>
  /**
   * Attaches resources that servers mark as important for a model. Those of servers with labels are left out, since only
   * the person may put labels on a conversation. `budget`: tokens of all that is attached in this way, default 3 % of the
   * model's context.
   */
  'library.include': Call<{ conversation: string; budget?: number }, Inclusion>
  /** Why a model is not given each of these resources; null where it may be. */
  'library.withheld': Call<{ refs: ResourceRef[] }, (string | null)[]>
  'library.prompts': Call<None, LibraryPrompt[]>
  'library.prompt': Call<
    { prompt: string; arguments: Record<string, string>; conversation?: string },
    PromptPreview
  >
  /** The arguments that a prompt was used with last in this folder. */
  'library.promptValues': Call<{ prompt: string }, Record<string, string>>
  /** Keeps these for the next use, and forgets the others of the prompt. */
  'library.keepPromptValues': Call<{ prompt: string; arguments: Record<string, string> }, null>

  'policy.rules': Call<None, { rules: readonly PolicyRule[]; defaultVerdict: Verdict }>
  'policy.grants': Call<None, Grant[]>
  'policy.revoke': Call<Id, boolean>
  'policy.explain': Call<
    { tool: string; arguments: Record<string, unknown> } & ExplainOptions,
    PolicyExplanation
  >
  /** How many calls of the last days each rule decided. */
  'policy.hits': Call<{ days?: number }, RuleHits[]>
  /** Which calls of the last days a rule would have decided. */
  'policy.preview': Call<{ rule: PolicyRule; days?: number }, PolicyPreview>

  /** The files of the configuration, with the place of each value. */
  'config.view': Call<None, ConfigView>
  'config.text': Call<{ file: string }, ConfigText>
  /** The entry of a server as its file has it, with names in brackets in place of secrets. */
  'config.entry': Call<OfServer, { file: string; entry: unknown }>
  /** What a change would do. Nothing is written. */
  'config.plan': Call<ConfigChange, ConfigPlan>
  /** Writes a planned change, unless the file changed meanwhile, and takes it over. */
  'config.write': Call<Id, Reconfigured>
  /** Servers of other applications. */
  'config.found': Call<None, FoundServer[]>

  'registry.search': Call<
    { words: string; cursor?: string },
    { registry: string; servers: Omit<RegistryServer, 'document'>[]; nextCursor?: string }
  >
  /** What installing a server of the registry does. `name`: what it is called here. */
  'registry.review': Call<{ published: string; version?: string; name?: string }, ReviewedInstallation>
  /** The change of the configuration. `values`: by `NeededValue.id`; that of a secret is left empty. */
  'installs.preview': Call<{ id: string; values: Record<string, string> }, ConfigPlan>
  /**
   * Installs and starts it; gives its name in the configuration. `hash`: of the file whose change was shown, which the
   * file must still have.
   */
  'installs.install': Call<
    {
      id: string
      values: Record<string, string>
      secrets: Record<string, string>
      hash: string | null
    },
    string
  >

  'trust.list': Call<None, ServerTrust[]>
  /** What is known of one server. */
  'trust.get': Call<OfServer, ServerTrust>
  /** Without `items`: everything of the server that waits. */
  'trust.accept': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>
  'trust.block': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>
  'trust.reset': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>

  'roots.list': Call<None, OpenFolder[]>
  'roots.add': Call<{ folder: string; name?: string }, OpenFolder>
  'roots.remove': Call<{ folder: string }, boolean>
  'roots.excluded': Call<None, string[]>
  'roots.exclude': Call<{ pattern: string }, null>
  'roots.include': Call<{ pattern: string }, boolean>
  'roots.servers': Call<None, ServerRoots[]>
  'roots.preview': Call<OfServer, FolderPreview[]>
  'roots.allow': Call<{ server: string; folders?: string[] }, Root[]>
  'roots.deny': Call<OfServer, null>
  'roots.forget': Call<OfServer, boolean>

  'sampling.usage': Call<None, SamplingUsage[]>
  'sampling.grants': Call<None, SamplingGrant[]>
  'sampling.revoke': Call<Id, boolean>
  'sampling.preview': Call<
    CreateMessageParams,
    { estimate: SamplingEstimate; redactions: readonly Redaction[] }
  >

  'secrets.names': Call<None, string[]>
  'secrets.set': Call<{ name: string; value: string }, null>
  'secrets.remove': Call<{ name: string }, boolean>
  'secrets.missing': Call<None, MissingInput[]>
  /** Where secrets are stored, and which servers use each. */
  'secrets.list': Call<None, { kind: string; secrets: { name: string; usedBy: string[] }[] }>

  'consents.list': Call<None, GivenConsent[]>
  'consents.needed': Call<OfServer, ConsentNeeded | null>
  'consents.forget': Call<OfServer, number>

  /** Waits for the logins that are under way; false where there were none. */
  'logins.wait': Call<None, boolean>
  'logins.signOut': Call<OfServer, Awaited<ReturnType<LoginService['signOut']>>>

  /** Oldest first. `limit`: the newest so many, default 1 000. */
  'activity.list': Call<{ id?: number; server?: string; kind?: Activity['kind']; limit?: number }, Activity[]>
  'activity.verify': Call<{ head?: string }, ActivityVerification>

  'trace.list': Call<TraceQuery, TraceEvent[]>
  /** The ids of the events, oldest first: all of them, unless there is a `limit`. */
  'trace.ids': Call<TraceQuery, number[]>
  /** Events by id, at most 1 000, oldest first; those that are gone are left out. */
  'trace.rows': Call<{ ids: number[] }, TraceEvent[]>
  /** Counts by time and server, for a timeline. */
  'trace.bins': Call<TraceBinsQuery, TraceBins>
  'trace.get': Call<{ id: number }, WholeTraceEvent | null>
  /** Requests with their responses. */
  'trace.pairs': Call<TraceQuery, TracePair[]>
  'trace.tree': Call<TraceQuery, TraceNode[]>
  'trace.timeline': Call<TraceQuery, TraceLane[]>
  'trace.statistics': Call<TraceQuery, TraceStatistics>
  'trace.counters': Call<None, TraceCounters>
  /** The request of an event, for a run of the kind `replay`. */
  'trace.request': Call<{ id: number }, ReplayRequest>

  /**
   * Makes the log, or what servers answered as a recording, ready to be downloaded once within 60 s, and gives the ticket:
   * `GET /blob/<ticket>` of the web server.
   */
  'trace.export': Call<{ format: TraceFormat | 'recording'; filter?: string }, string>
  /** The types of the tools, as programs use them. */
  'code.types': Call<None, string>

  /** A part of a result that was too large for a model. */
  'results.read': Call<{ id: string } & ResultPart, ResultText>
}

/** The name of a method. */
export type MethodName = keyof Methods

/** A model that can answer in conversations. */
export interface ModelRow {
  readonly id: string
  readonly isLanguageModel: boolean
  /** Tokens of request and response together; null where they are not known. */
  readonly contextTokens: number | null
  /** The configured price of a million tokens. */
  readonly cost?: { readonly input: number; readonly output: number }
  /** Of the price. Default `USD`. */
  readonly currency?: string
}

/** A resource or a template, as a row of the tree. */
export interface LibraryLeaf {
  readonly server: string
  readonly uri: string
  readonly title: string
  readonly isTemplate?: true
  readonly mimeType?: string
  /** About what it costs a model, from its size; absent where the server gives none. */
  readonly tokens?: number
  /** How important its server says it is for a model, from 0 to 1. */
  readonly priority?: number
  /** Its server marks it for the person alone, so it is not given to a model. */
  readonly isForPersonOnly?: true
}

/** A part of the nodes under one place of the tree. */
export interface LibraryPage {
  readonly nodes: readonly {
    readonly label: string
    /** Resources here and beneath. */
    readonly resources: number
    readonly templates: number
    readonly hasChildren: boolean
    /** What has its URI end here. */
    readonly leaves: readonly LibraryLeaf[]
  }[]
  readonly total: number
}

/** A configured server, as a row of the topic `servers`. */
export interface ServerRow {
  readonly name: string
  readonly connection: ConnectionState
  readonly tools: number
  readonly prompts: number
  readonly resources: number
  readonly templates: number
  /** Things of the server that are out of use until the person decides. */
  readonly quarantined: number
  /** The command line or the address. */
  readonly origin: string
}

/** A question, as a row of the topic `inbox`. */
export interface InboxRow extends InboxItem {
  /** Its activity row and those that led to it. */
  readonly rows: readonly number[]
  /** Every surface left it for later: it is no longer shown by itself, and can still be answered. */
  readonly deferred?: true
  /** What an answer that carries it is about: see `inbox.answer`. */
  readonly digest: string
}

/** A value that a server's configuration wants the person to type (`${input:id}`). */
export interface InputRow {
  readonly id: string
  readonly server: string
  readonly input: ConfigInput
}

/** Something for the person that is not kept, as a row of the topic `notices`. */
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

/** The files of the configuration changed: what was done, or why they cannot be used. */
export type ConfigurationNotice =
  /** `rules`: how many there are now, where they changed. */
  | { readonly type: 'configuration'; readonly done: Reconfigured; readonly rules?: number }
  | { readonly type: 'configuration'; readonly problem: string }

/** The rows of each topic by its name; `conversation:<id>` is a topic for each conversation. */
export interface Topics {
  servers: ServerRow
  inbox: InboxRow
  /** Values that configurations want the person to type. */
  inputs: InputRow
  runs: RunRow
  /** Calls that servers run as tasks. */
  tasks: HostTask
  conversations: ConversationFacts
  surfaces: SurfaceRow
  /** The newest activities, those that run among them. */
  activity: Activity
  notices: Notice
  /** One row with a number that grows with every change of a list of any server. */
  catalog: { readonly version: number }
  /** One row with a number that grows with every change of a configuration file. */
  configuration: { readonly version: number }
}

/** The row of a topic. */
export type TopicRow<T extends string> = T extends keyof Topics
  ? Topics[T]
  : T extends `conversation:${string}`
    ? ConversationRow
    : never

/** What a host says about itself. */
export interface HostStatus {
  readonly version: string
  readonly build: string
  readonly pid: number
  /** ISO 8601. */
  readonly since: string
  readonly workspace: string | null
  /** Digests of the variables that its servers and models use, by name, to compare with those of a client. */
  readonly environment: Readonly<Record<string, string>>
  readonly store: string
  readonly clients: readonly string[]
  readonly servers: number
  readonly openQuestions: number
  readonly runs: number
}

/** Work that goes on without the client that started it. */
export type RunRequest =
  /** Calls a tool by its name in the catalog. The person wrote this very call: it needs no approval that policy would ask for. */
  | {
      kind: 'call'
      tool: string
      arguments: Record<string, unknown>
      /** Who calls, for rules. Default `person`. */
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
  /** Follows changes of these resources and of every list that the server reports, until it is stopped. */
  | { kind: 'watch'; server: string; uris: string[] }
  /** Examines a server step by step. */
  | { kind: 'examine'; server: string }
  | { kind: 'reconnect'; server: string }
  | { kind: 'signIn'; server: string }
  | { kind: 'replay'; request: ReplayRequest }
  /** Runs a program over the tools. */
  | { kind: 'code'; program: string; servers?: string[]; maxCalls?: number }

/** What a run of each kind gives. */
export interface RunResults {
  call: BrokeredCall
  read: Awaited<ReturnType<Host['read']>>
  prompt: Awaited<ReturnType<Host['prompt']>>
  watch: null
  examine: DoctorReport
  reconnect: null
  signIn: null
  replay: Replay
  code: CodeRun
}

/** One run, as a row of the topic `runs`. */
export interface RunRow {
  readonly id: string
  readonly kind: RunRequest['kind']
  /** One line for a person: the tool, URI, prompt or server. */
  readonly label: string
  /** The client that started it. */
  readonly by: string
  /** ISO 8601. */
  readonly at: string
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  /** The activity row of what it does. */
  readonly activity?: number
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string }
  /** What a run of the kind `watch` follows, and the last changes, numbered from 1 on. */
  readonly watched?: {
    readonly acknowledged: Watch['acknowledged']
    readonly changes: readonly {
      readonly number: number
      readonly at: string
      readonly change: ServerChange
    }[]
  }
  /** Steps of an examination so far. */
  readonly steps?: readonly DoctorStep[]
  readonly fault?: Fault
  readonly durationMs?: number
}

/** A run with what it gave. */
export interface Run extends RunRow {
  readonly request: RunRequest
  /** One member, named as the kind; absent while it runs, where it failed, and where it was too long ago. */
  readonly result?: Partial<RunResults>
}

/** What a person says: text, messages such as those of a prompt, or both. */
export interface Saying {
  readonly text?: string
  readonly messages?: readonly SamplingMessage[]
}

/** A tool call of the running process, from its start on. */
export interface CallRow {
  readonly kind: 'call'
  /** The id that the model gave it; `name` and `arguments` are the model's, too. */
  readonly id: string
  readonly name: string
  readonly arguments: Record<string, unknown>
  /** `later`: a question of it was left for later, or it is a long task: the turn continued without its result. */
  readonly state: 'running' | 'later' | 'done'
  /** The place of the call among `conversations.calls`, from 1 on. */
  readonly number?: number
  /** It is on its way to its server; before, policy and the person decide. */
  readonly sent?: boolean
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string }
  /** The question that was left for later. */
  readonly question?: string
  /** The task that the turn did not wait for. */
  readonly task?: string
  /** The activity row of the call. */
  readonly activity?: number
  readonly isError?: boolean
  /** Set when policy or the person refused. */
  readonly denied?: boolean
  /** Set when the person cancelled this call alone. */
  readonly cancelled?: boolean
  /** What policy said. */
  readonly decision?: Decision
  /** The result as the tool gave it, where it is not too large; the model's part of it is in the entry `result`. */
  readonly result?: CallToolResult
  /** Milliseconds on its way to its server and back; absent where it was not sent. */
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
      /** Tokens of the model's context, as the configuration or the model says. */
      readonly contextLimit?: number
      readonly state: 'idle' | 'answering' | 'summarizing'
      /** The client whose message is being answered. */
      readonly by?: string
      /** The message that is being answered: see `conversations.say`. */
      readonly message?: string
      readonly usage: readonly ModelUsage[]
      readonly contextTokens?: number
      readonly toolSwitches: readonly ToolSwitch[]
      /** The model is asked again after a pause. */
      readonly wait?: ModelWait
      /** Why the last turn ended early. */
      readonly fault?: Fault
      /** How the last turn ended; absent while one runs. */
      readonly stopReason?: Turn['stopReason']
      /** Tool calls that the last turn did not run because of a limit. */
      readonly callsNotRun?: number
      /** Names of calls that were under way when an earlier process ended: they have no result. */
      readonly unfinished?: readonly string[]
    }
  /** Keys `entry:<place>`, in order. */
  | { readonly kind: 'entry'; readonly place: number; readonly entry: ConversationEntry }
  /** Key `partial`: the text of the reply that is being made. */
  | { readonly kind: 'partial'; readonly text: string }
  /** Keys `call:<count>`. */
  | CallRow
  /** Keys `queued:<id>`: said while a turn runs, answered after it. */
  | { readonly kind: 'queued'; readonly id: string; readonly said: Saying; readonly by: string }
  /** Key `attached`: resources that go along with the next message. */
  | { readonly kind: 'attached'; readonly copies: readonly AttachedCopy[] }

/** Which conversation is opened, and how its turns run. */
export interface OpenOptions {
  /** Continues a stored conversation: its id, or the beginning of it. Default: a new one. */
  id?: string
  /** The model that answers. Default: the one that answered last, else the first. */
  model?: string
  /** Lets the model write programs that call the tools. Default false. */
  code?: boolean
  /** Tool calls of one turn. Default 200. */
  maxCalls?: number
  /** Resources that servers mark as important for a model go along with the first message. Default true. */
  context?: boolean
}

/** What one client can show. */
export interface SurfaceInfo {
  /** For the person and the activity log: `terminal`, `Firefox on lapis`. */
  readonly name: string
  readonly kinds: readonly QuestionKind[]
  /** Whether it can open pages that a server wants the person to visit. Default false. */
  readonly urlElicitation?: boolean
  /** Whether it can ask for values that configurations want. Default false. */
  readonly inputs?: boolean
}

/** An attached surface, as a row of the topic `surfaces`. */
export type SurfaceRow = SurfaceInfo & { readonly id: string }
