/**
 * The contract between a host and its clients: methods and topics, as types only. Terminals, browsers and tests use
 * the same contract.
 */
import type { CompleteParams, CreateMessageParams, LoggingLevel, Root } from '@jackfield/sdk'
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
  Completion,
  CompletionField,
  ConfigChange,
  ConfigPlan,
  ConfigText,
  ConfigView,
  ConsentNeeded,
  ConversationCall,
  ConversationEntry,
  ConversationFacts,
  CopyDiff,
  ExplainOptions,
  FolderPreview,
  FoundServer,
  GivenConsent,
  Grant,
  HostAnswers,
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
  OpenFolder,
  PolicyExplanation,
  PolicyPreview,
  PolicyRule,
  PromptPreview,
  QuestionKind,
  Reconfigured,
  Redaction,
  RegistryServer,
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
import type {
  HostStatus,
  InboxRow,
  LibraryLeaf,
  LibraryPage,
  ModelRow,
  OpenOptions,
  Run,
  RunRequest,
  ServerRow,
  SurfaceInfo,
  UserMessage,
} from './rows.ts'

export type * from './rows.ts'

type Call<Params, Result> = { params: Params; result: Result }
type None = Record<string, never>
type Id = { id: string }
type InServer = { server?: string }
type OfServer = { server: string }

/**
 * Parameters and result of every method of a host. A method without a result returns null. Methods with effects run once, even if
 * a client sends them again after a lost connection.
 */
export interface Methods {
  /** Version, process and clients of the host. */
  'host.status': Call<None, HostStatus>
  /** Ends the host process when it is idle, or at once with `now`. */
  'host.stop': Call<{ now?: boolean }, null>
  /** Reloads the configuration if it changed, so that later calls use it. */
  'host.sync': Call<None, null>

  /**
   * Adds the client as a surface, or replaces its capabilities: it receives questions as rows of `inbox` and answers with
   * `inbox.answer`. It remains a surface until its connection is closed for good.
   */
  'surface.attach': Call<SurfaceInfo, null>

  /** The tools that models may call, of one server or all. */
  'catalog.tools': Call<InServer, CatalogTool[]>
  /** The prompts of one server or all. */
  'catalog.prompts': Call<InServer, CatalogPrompt[]>
  /** The resources of one server or all, without the pages of apps. */
  'catalog.resources': Call<InServer, CatalogResource[]>
  /** The resource templates of one server or all. */
  'catalog.templates': Call<InServer, CatalogTemplate[]>
  /** Instructions of each ready server. */
  'catalog.instructions': Call<None, { server: string; text: string }[]>
  /** As `ToolSearchService.search`. */
  'catalog.searchTools': Call<{ query: string; server?: string; limit?: number }, ToolSearchResult>
  /** Token cost of the tool definitions. `conversation`: without the tools that are off in it. */
  'catalog.meter': Call<{ contextTokens?: number; conversation?: string }, ToolMeter>
  /** Completions for an argument of a prompt or a variable of a template. */
  'catalog.complete': Call<
    { server: string; params: CompleteParams },
    { values: string[]; total?: number; hasMore?: boolean }
  >

  /** Every configured server, as in the topic `servers`. */
  'servers.list': Call<None, ServerRow[]>
  /** Starts servers, all of them or those named, once; resolves when each is ready or failed. */
  'servers.start': Call<{ servers?: string[] }, null>
  /** A connected server's information; null while it is not connected. */
  'servers.details': Call<OfServer, ServerDetails | null>
  /** Milliseconds until the response to a ping. */
  'servers.ping': Call<OfServer, number>
  /** Sets the minimum level of a server's log messages, until it is connected again. */
  'servers.setLogLevel': Call<{ server: string; level: LoggingLevel }, null>

  /**
   * Starts a run and returns its id. `attached`: the run ends when the client disconnects; default false. `asks`: whether its
   * questions wait for a surface of any client, else they fail at once; default true.
   */
  'runs.start': Call<{ request: RunRequest; attached?: boolean; asks?: boolean }, string>
  /** Starts a run and returns it when it has ended. A client that cancels this call stops the run. */
  'runs.perform': Call<{ request: RunRequest; attached?: boolean; asks?: boolean }, Run>
  /** The run with its result, if it has ended. */
  'runs.get': Call<Id, Run>
  /** Returns the run when it has ended. */
  'runs.wait': Call<Id, Run>
  /** Cancels a run. */
  'runs.stop': Call<Id, null>

  /** Unfinished tasks, and the last ones that ended here. */
  'tasks.list': Call<None, HostTask[]>
  /** Returns the result of the call when its task has ended. */
  'tasks.result': Call<Id, BrokeredCall>
  /** Cancels a task and removes it. */
  'tasks.cancel': Call<Id, null>

  /**
   * Opens the app of a tool, by the tool's name in the catalog, until the client disconnects; asks before a page is first shown
   * and when it changed. `activity`: the row of the call that it shows.
   */
  'apps.open': Call<{ tool: string; conversation?: string; activity?: number }, AppPage>
  /** Runs a JSON-RPC request of an open app. */
  'apps.request': Call<{ id: string; method: string; params: Readonly<Record<string, unknown>> }, AppReply>
  /** Closes an open app. */
  'apps.close': Call<Id, null>
  /** The user's decisions about pages. */
  'apps.consents': Call<None, AppConsent[]>
  /** Removes the decision about a page; false if there was none. */
  'apps.forget': Call<{ identity: string; uri: string }, boolean>

  /** Questions, oldest first. Default: open ones. */
  'inbox.list': Call<{ state?: InboxItem['state'] | 'all'; server?: string; limit?: number }, InboxRow[]>
  /** One question; null if there is none with this id. */
  'inbox.get': Call<Id, InboxRow | null>
  /**
   * Answers a question, exactly once. `seen`: the digest of the question as shown (`InboxRow.digest`); an answer with another
   * digest than the question's current one is rejected.
   */
  'inbox.answer': Call<{ id: string; answer: HostAnswers[QuestionKind]; seen?: string }, null>
  /** Defers a question: the conversation that asked continues. False if nothing waits for it here. */
  'inbox.defer': Call<Id, boolean>
  /** Why the call that asked cannot be continued here; null if it can. */
  'inbox.refusal': Call<Id, string | null>
  /** Waits for the call that asked, if its answer resumes it; null if another program waits for the answer. */
  'inbox.resumed': Call<Id, BrokeredCall | null>

  /** Most recently used first. */
  'conversations.list': Call<{ limit?: number }, ConversationFacts[]>
  /** By its id or a prefix of it. */
  'conversations.find': Call<Id, ConversationFacts>
  /** All entries of a conversation, in order. */
  'conversations.entries': Call<Id, ConversationEntry[]>
  /** The user's messages in recent conversations, oldest first, for an input history. */
  'conversations.inputs': Call<None, string[]>
  /** Creates or opens a conversation; returns its id. Its state is the topic `conversation:<id>`. */
  'conversations.open': Call<OpenOptions, string>
  /**
   * Sends a message and returns how the turn ended, or null if it was removed from the queue. It is answered even if the client
   * disconnects. `message`: an id for it, unique in the conversation, for `conversations.unqueue` and `info.message`; default:
   * generated.
   */
  'conversations.say': Call<{ id: string; input: UserMessage; message?: string }, Turn | null>
  /** Stops the running turn; returns the queued messages. */
  'conversations.stop': Call<Id, UserMessage[]>
  /** Cancels the running call with this id of the model; the turn continues. False if it is not running. */
  'conversations.cancelCall': Call<{ id: string; call: string }, boolean>
  /** Removes a message from the queue; false if it is not queued. */
  'conversations.unqueue': Call<{ id: string; message: string }, boolean>
  /** Copies the conversation before its entry `place` (default all of it); returns the id of the copy. */
  'conversations.fork': Call<{ id: string; place?: number }, string>
  /** Replaces the title. */
  'conversations.setTitle': Call<{ id: string; title: string }, null>
  /** Sets the model that answers from the next turn on. */
  'conversations.setModel': Call<{ id: string; model: string }, null>
  /** Switches tools on or off for the model, by patterns of `server__tool`. */
  'conversations.switchTools': Call<{ id: string; on: boolean; patterns: string[] }, null>
  /** Asks the model for a summary. Changes nothing. */
  'conversations.summarize': Call<Id, string>
  /** Replaces all earlier messages with this text, for the model. */
  'conversations.compact': Call<{ id: string; summary: string }, null>
  /** Removes a stored conversation. */
  'conversations.remove': Call<Id, null>
  /** Every tool call of the model, in order; a call keeps its index. */
  'conversations.calls': Call<Id, readonly ConversationCall[]>
  /** The default first. */
  'models.list': Call<None, ModelRow[]>
  /** Providers, and which of their variables are set. `chosen`: the model that JACKFIELD_MODEL makes the default. */
  'models.providers': Call<None, { providers: ModelProvider[]; chosen: string | null }>
  /** Sends a short test request to a model. */
  'models.test': Call<Id, ModelTest>

  /** As `Library.tree`. */
  'library.tree': Call<None, LibraryNode[]>
  /** The nodes below a place of the tree, as one page. `path`: labels from the server on; empty for the servers. */
  'library.children': Call<{ path: string[]; from?: number; limit?: number }, LibraryPage>
  /** The resources below a place, at most 1 000 of `total`. */
  'library.under': Call<{ path: string[] }, { resources: LibraryLeaf[]; total: number }>
  /** As `Library.search`. */
  'library.search': Call<{ query: string } & LibrarySearchOptions, LibrarySearch>
  /** As `Library.preview`. */
  'library.preview': Call<{ server: string; uri: string; characters?: number }, ResourcePreview>
  /** null if the server offers no completion. */
  'library.complete': Call<CompletionField, Completion | null>
  /** The variables of a resource template. */
  'library.fields': Call<{ uriTemplate: string }, TemplateField[]>
  /** The URI of a template for these variables. */
  'library.expand': Call<{ uriTemplate: string; values: Record<string, string> }, string>
  /** Attaches copies of resources to a conversation. */
  'library.attach': Call<{ conversation: string; refs: ResourceRef[] }, AttachResult>
  /** The copies attached to a conversation. */
  'library.attached': Call<{ conversation: string }, AttachedCopy[]>
  /** Without `ref`: everything. */
  'library.detach': Call<{ conversation: string; ref?: ResourceRef }, null>
  /** Detaches what `library.include` attached, and excludes it from this conversation. Without `ref`: everything. */
  'library.exclude': Call<{ conversation: string; ref?: ResourceRef }, null>
  /** Compares a resource with its attached copy. */
  'library.diff': Call<{ conversation: string; ref: ResourceRef }, CopyDiff>
  /**
   * Attaches resources that servers mark as important for a model. Those of servers with labels are left out, since only the user
   * may add labels to a conversation. `budget`: tokens of all attachments of this kind, default 3 % of the model's context.
   */
  'library.include': Call<{ conversation: string; budget?: number }, Inclusion>
  /** Why each of these resources is not given to a model; null if it may be. */
  'library.withheld': Call<{ refs: ResourceRef[] }, (string | null)[]>
  /** The prompts of all servers, with their commands. */
  'library.prompts': Call<None, LibraryPrompt[]>
  /** Gets a prompt, by its command or its qualified name. */
  'library.prompt': Call<
    { prompt: string; arguments: Record<string, string>; conversation?: string },
    PromptPreview
  >
  /** The last arguments of a prompt in this folder. */
  'library.promptValues': Call<{ prompt: string }, Record<string, string>>
  /** Stores these for the next use, and removes the prompt's others. */
  'library.keepPromptValues': Call<{ prompt: string; arguments: Record<string, string> }, null>

  /** The policy rules, and the verdict where none matches. */
  'policy.rules': Call<None, { rules: readonly PolicyRule[]; defaultVerdict: Verdict }>
  /** Every remembered answer about a tool, oldest first. */
  'policy.grants': Call<None, Grant[]>
  /** Revokes a remembered answer; false if there is none with this id. */
  'policy.revoke': Call<Id, boolean>
  /** Explains the decision about a call. Nothing is called. */
  'policy.explain': Call<
    { tool: string; arguments: Record<string, unknown> } & ExplainOptions,
    PolicyExplanation
  >
  /** How many recent calls each rule decided. */
  'policy.hits': Call<{ days?: number }, RuleHits[]>
  /** Which recent calls a rule would have decided. */
  'policy.preview': Call<{ rule: PolicyRule; days?: number }, PolicyPreview>

  /** The configuration files, with the position of each value. */
  'config.view': Call<None, ConfigView>
  /** The text of a configuration file, with secrets replaced by names in brackets. */
  'config.text': Call<{ file: string }, ConfigText>
  /** The entry of a server in its file, with secrets replaced by names in brackets. */
  'config.entry': Call<OfServer, { file: string; entry: unknown }>
  /** Previews a change. Nothing is written. */
  'config.plan': Call<ConfigChange, ConfigPlan>
  /** Writes a planned change, unless the file changed meanwhile, and applies it. */
  'config.write': Call<Id, Reconfigured>
  /** Servers of other applications. */
  'config.found': Call<None, FoundServer[]>

  /** One page of the registry's servers whose name matches. */
  'registry.search': Call<
    { words: string; cursor?: string },
    { registry: string; servers: Omit<RegistryServer, 'document'>[]; nextCursor?: string }
  >
  /** Previews the installation of a registry server. `name`: its name here. */
  'registry.review': Call<{ published: string; version?: string; name?: string }, ReviewedInstallation>
  /** The configuration change. `values`: by `NeededValue.id`; secrets are left empty. */
  'installs.preview': Call<{ id: string; values: Record<string, string> }, ConfigPlan>
  /**
   * Installs and starts it; returns its name in the configuration. `hash`: of the file whose change was shown, which must be
   * unchanged.
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

  /** The trust state of every configured and every earlier server. */
  'trust.list': Call<None, ServerTrust[]>
  /** The trust state of one server. */
  'trust.get': Call<OfServer, ServerTrust>
  /** Without `items`: everything pending at the server. */
  'trust.accept': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>
  /** Blocks definitions until they change. Without `items`: everything pending at the server. */
  'trust.block': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>
  /** Removes the decisions about these definitions. Without `items`: about the whole server. */
  'trust.reset': Call<{ server: string; items?: TrustItem[] }, TrustItem[]>

  /** Every open folder, including refused ones. */
  'roots.list': Call<None, OpenFolder[]>
  /** Opens a folder to servers. */
  'roots.add': Call<{ folder: string; name?: string }, OpenFolder>
  /** Closes a folder; false if it is not open. */
  'roots.remove': Call<{ folder: string }, boolean>
  /** Patterns of excluded folders. */
  'roots.excluded': Call<None, string[]>
  /** Excludes folders by path or pattern. */
  'roots.exclude': Call<{ pattern: string }, null>
  /** Removes a pattern of excluded folders; false if there is none. */
  'roots.include': Call<{ pattern: string }, boolean>
  /** The roots of each server, and the decision about it. */
  'roots.servers': Call<None, ServerRoots[]>
  /** The contents that a server would see if everything were allowed. */
  'roots.preview': Call<OfServer, FolderPreview[]>
  /** Allows a server these of its folders; default all. */
  'roots.allow': Call<{ server: string; folders?: string[] }, Root[]>
  /** Denies a server all folders. */
  'roots.deny': Call<OfServer, null>
  /** Removes the decision about a server; false if there was none. */
  'roots.forget': Call<OfServer, boolean>

  /** Sampling usage by server, with its limits. */
  'sampling.usage': Call<None, SamplingUsage[]>
  /** Reviews that are skipped. */
  'sampling.grants': Call<None, SamplingGrant[]>
  /** Revokes a remembered answer; false if there is none with this id. */
  'sampling.revoke': Call<Id, boolean>
  /** Estimated tokens, cost and redactions of a request. Nothing is sent. */
  'sampling.preview': Call<
    CreateMessageParams,
    { estimate: SamplingEstimate; redactions: readonly Redaction[] }
  >

  /** The names of all stored secrets. */
  'secrets.names': Call<None, string[]>
  /** Stores a secret. */
  'secrets.set': Call<{ name: string; value: string }, null>
  /** Removes a secret; false if there is none with this name. */
  'secrets.remove': Call<{ name: string }, boolean>
  /** Values that servers need before they can be started. */
  'secrets.missing': Call<None, MissingInput[]>
  /** Where secrets are stored, and which servers use each. */
  'secrets.list': Call<None, { kind: string; secrets: { name: string; usedBy: string[] }[] }>

  /** Every consent to start a server, oldest first. */
  'consents.list': Call<None, GivenConsent[]>
  /** The consent that a server needs before it starts; null if it needs none. */
  'consents.needed': Call<OfServer, ConsentNeeded | null>
  /** Revokes the consents to a server; returns their number. */
  'consents.forget': Call<OfServer, number>

  /** Waits for running logins; false if there were none. */
  'logins.wait': Call<None, boolean>
  /** Removes the tokens of a server, and revokes them if its authorization server supports that. */
  'logins.signOut': Call<OfServer, Awaited<ReturnType<LoginService['signOut']>>>

  /** Oldest first. `limit`: only the newest, default 1 000. */
  'activity.list': Call<{ id?: number; server?: string; kind?: Activity['kind']; limit?: number }, Activity[]>
  /** As `Host.verifyActivity`. */
  'activity.verify': Call<{ head?: string }, ActivityVerification>

  /** Events of the log, oldest first. */
  'trace.list': Call<TraceQuery, TraceEvent[]>
  /** The ids of the events, oldest first: all of them, unless there is a `limit`. */
  'trace.ids': Call<TraceQuery, number[]>
  /** Events by id, at most 1 000, oldest first; deleted ones are left out. */
  'trace.rows': Call<{ ids: number[] }, TraceEvent[]>
  /** Counts by time and server, for a timeline. */
  'trace.bins': Call<TraceBinsQuery, TraceBins>
  /** One event with its payload; null if it was deleted. */
  'trace.get': Call<{ id: number }, WholeTraceEvent | null>
  /** Requests with their responses. */
  'trace.pairs': Call<TraceQuery, TracePair[]>
  /** Events below their causes. */
  'trace.tree': Call<TraceQuery, TraceNode[]>
  /** Events as spans, in one lane for each server. */
  'trace.timeline': Call<TraceQuery, TraceLane[]>
  /** Counts, response times and bytes by method. */
  'trace.statistics': Call<TraceQuery, TraceStatistics>
  /** The size of the log. */
  'trace.counters': Call<None, TraceCounters>
  /** The request of an event, for a run of the kind `replay`. */
  'trace.request': Call<{ id: number }, ReplayRequest>

  /**
   * Prepares the log, or a recording, for one download within 60 s, and returns the ticket: `GET /blob/<ticket>` of the web
   * server.
   */
  'trace.export': Call<{ format: TraceFormat | 'recording'; filter?: string }, string>
  /** The tools as TypeScript declarations, for programs. */
  'code.types': Call<None, string>

  /** A part of a result that was too large for a model. */
  'results.read': Call<{ id: string } & ResultPart, ResultText>
}

/** The name of a method. */
export type MethodName = keyof Methods
