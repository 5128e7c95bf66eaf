import type { ProtocolVersion } from '@jackfield/sdk'

/** A JSON object, as arguments and results are. */
export type Json = Record<string, unknown>

/** The address of a server: a URL and its transport, or `node` with a program to start. */
export type ServerAddress =
  | { readonly url: string; readonly transport: 'http' | 'sse' }
  | { readonly command: string; readonly args: readonly string[] }

/** What a server asks a person. */
export interface PersonQuestion {
  mode?: string | undefined
  message: string
  url?: string | undefined
  requestedSchema?: { properties: Record<string, unknown>; required?: string[] | undefined } | undefined
}

export interface PersonAnswer {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

/** What a server asks a model. */
export interface ModelQuestion {
  messages: { role: string; content: unknown }[]
  maxTokens: number
  systemPrompt?: string | undefined
  temperature?: number | undefined
  stopSequences?: string[] | undefined
  modelPreferences?: object | undefined
  tools?: { name: string }[] | undefined
}

export interface ModelText {
  type: 'text'
  text: string
}

export interface ModelToolUse {
  type: 'tool_use'
  id: string
  name: string
  input: Json
}

export interface ModelAnswer {
  role: 'assistant'
  model: string
  stopReason: 'endTurn' | 'toolUse'
  content: ModelText | ModelToolUse[]
}

export interface Folder {
  uri: string
  name?: string
}

/** How a client answers elicitation, sampling and roots requests; tests replace what they need. */
export interface ClientAnswers {
  person(question: PersonQuestion): PersonAnswer
  model(question: ModelQuestion): ModelAnswer
  folders: Folder[]
}

/** The notifications that a client received. */
export interface Received {
  readonly logs: { level: string; data: unknown; logger?: string | undefined }[]
  /** `tools`, `prompts`, `resources`, or the URI of a resource. */
  readonly changes: string[]
  /** `elicitationId`s of completed URL elicitations. */
  readonly completed: string[]
}

export interface ReceivedProgress {
  progress: number
  total?: number | undefined
  message?: string | undefined
}

export interface CallWith {
  onProgress?: (report: ReceivedProgress) => void
  signal?: AbortSignal
  timeoutMs?: number
  meta?: Json
}

export interface Called {
  content: unknown[]
  structuredContent?: unknown
  isError?: boolean | undefined
  _meta?: Json | undefined
}

export interface Listed {
  name: string
  title?: string | undefined
  description?: string | undefined
}

export interface Watched {
  tools?: boolean
  prompts?: boolean
  resources?: boolean
  uris?: string[]
}

/** Lists tests take page by page. */
export type ListMethod = 'tools/list' | 'resources/list' | 'prompts/list'

/** A connected client of any implementation, with one interface for all of them. */
export interface TestClient {
  readonly revision: string | undefined
  readonly server: { name: string; version: string } | undefined
  readonly instructions: string | undefined
  readonly capabilities: object | undefined
  readonly notifications: Received
  tools(): Promise<(Listed & { inputSchema: object; outputSchema?: unknown; annotations?: unknown })[]>
  call(name: string, args?: Json, options?: CallWith): Promise<Called>
  resources(): Promise<(Listed & { uri: string; mimeType?: string | undefined })[]>
  templates(): Promise<(Listed & { uriTemplate: string })[]>
  read(uri: string): Promise<unknown[]>
  prompts(): Promise<(Listed & { arguments?: unknown })[]>
  prompt(name: string, args?: Record<string, string>): Promise<unknown[]>
  complete(
    ref: { prompt: string } | { template: string },
    argument: { name: string; value: string },
    context?: Record<string, string>,
  ): Promise<{ values: string[]; total?: number | undefined; hasMore?: boolean | undefined }>
  /** One page of a list, by its cursor; resources are named by their URIs. */
  page(method: ListMethod, cursor?: string): Promise<{ names: string[]; nextCursor?: string | undefined }>
  logLevel(level: 'debug' | 'info' | 'warning' | 'error'): Promise<void>
  /** Listens for changes, and gives the way to stop. */
  watch(filter: Watched): Promise<() => Promise<void>>
  rootsChanged(): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}

/** Why a call failed, in the same form for all clients. */
export interface Failed {
  kind: 'rpc' | 'timeout' | 'cancelled' | 'closed' | 'other'
  code?: number
  message: string
  data?: unknown
}

export interface ConnectWith {
  /** Answers questions; a client without one declares no capabilities at all. */
  answers?: ClientAnswers
  /** Allows only the named revision; otherwise the client negotiates. */
  only?: boolean
  /** Used instead of the global `fetch`. */
  fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>
}

/** A client implementation. */
export interface ClientKind {
  /** Package and its major version. */
  readonly name: string
  /** Whether this is the client under test rather than a foreign one. */
  readonly ours: boolean
  /** Whether it drops progress that arrives together with the answer. */
  readonly dropsLateProgress?: true
  connect(address: ServerAddress, revision: ProtocolVersion, options: ConnectWith): Promise<TestClient>
  /** Converts an error that this client throws. */
  failure(error: unknown): Failed
}

/** The default answers of a client. */
export const defaultAnswers = (): ClientAnswers => ({
  person: () => ({ action: 'cancel' }),
  model: () => ({
    role: 'assistant',
    model: 'resting',
    stopReason: 'endTurn',
    content: { type: 'text', text: '' },
  }),
  folders: [],
})

export const nothingReceived = (): Received => ({ logs: [], changes: [], completed: [] })

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
