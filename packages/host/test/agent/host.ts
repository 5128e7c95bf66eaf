import type { CallToolResult, Tool } from '@jackfield/sdk'
import { openStore } from '../../src/log/store/store.ts'
import { createConversationStore } from '../../src/models/conversation-store.ts'
import { createResults } from '../../src/models/results.ts'
import { createToolSearch } from '../../src/models/tool-search/tool-index.ts'
import { createLibrary } from '../../src/resources/library.ts'
import type {
  Activity,
  BrokeredCall,
  CatalogTool,
  Host,
  Model,
  ModelReply,
  ModelRequest,
} from '../../src/types/index.ts'

type Runs = Record<
  string,
  (args: Record<string, unknown>, signal?: AbortSignal) => CallToolResult | Promise<CallToolResult>
>

export interface FakeHost extends Host {
  /** Every call that reached the broker, in order. */
  calls: { name: string; args: Record<string, unknown>; caller: string; cause: number | undefined }[]
  rows: Activity[]
  runs: Runs
  denied: Set<string>
  instructionTexts: { server: string; text: string }[]
}

/** A host in memory: its tools are functions, its broker denies what `denied` names. */
export function fakeHost(runs: Runs): FakeHost {
  const rows: Activity[] = []
  const calls: FakeHost['calls'] = []
  const refuse = (): never => {
    throw new Error('not part of this test')
  }
  const lists: Parameters<typeof createLibrary>[0] = {
    connections: new Map(),
    resources: () => host.resources(),
    templates: () => host.templates(),
    prompts: () => [],
    on: () => () => {},
    read: refuse,
    prompt: refuse,
    complete: refuse,
    watch: refuse,
  }
  const host: FakeHost = {
    calls,
    rows,
    runs,
    denied: new Set(),
    instructionTexts: [],
    connections: new Map([
      ['shop', { state: 'ready', era: 'stateless', revision: '2026-07-28', sinceMs: 0 }],
    ]),
    start: async () => {},
    reconnect: refuse,
    reconfigure: refuse,
    diagnose: refuse,
    secrets: {
      kind: 'memory',
      names: async () => [],
      set: refuse,
      remove: refuse,
      missing: async () => [],
      redact: (given) => given,
    },
    consents: { list: () => [], needed: async () => undefined, allow: refuse, forget: refuse },
    attach: refuse,
    inbox: {
      list: () => [],
      get: () => undefined,
      answer: refuse,
      refusal: () => undefined,
      resumed: () => undefined,
    },
    apps: {
      open: refuse,
      request: refuse,
      close: refuse,
      document: () => undefined,
      list: () => [],
      takeContext: () => [],
      consents: () => [],
      forget: () => false,
    },
    tasks: { list: () => [], result: refuse, cancel: refuse },
    gateway: { open: refuse },
    roots: {
      list: async () => [],
      add: refuse,
      remove: async () => false,
      excluded: () => [],
      exclude: refuse,
      include: () => false,
      servers: async () => [],
      preview: async () => [],
      allow: refuse,
      deny: refuse,
      forget: () => false,
    },
    toolSearch: createToolSearch(() => host.tools()),
    promptValues: { of: () => ({}), keep: () => {} },
    code: { run: refuse, types: () => '' },
    library: createLibrary(lists, () => {}),
    logins: { signIn: refuse, pending: () => undefined, signOut: refuse },
    results: createResults(memoryResults()),
    conversations: createConversationStore({ store: openStore(':memory:'), redact: (value) => value }),
    endConversation: () => {},
    askAgain: () => {},
    onStored: () => () => {},
    origin: (server) => server,
    labels: () => [],
    details: () => undefined,
    ping: async () => 0,
    async setLogLevel() {},
    sampling: {
      usage: () => [],
      grants: () => [],
      revoke: () => false,
      setModel: () => {},
      rank: refuse,
      preview: refuse,
    },
    tools: () => Object.keys(host.runs).map(catalogTool),
    prompts: () => [],
    resources: () => [
      { server: 'shop', resource: { uri: 'shop://stock', name: 'stock', description: 'What is left' } },
    ],
    templates: () => [{ server: 'shop', template: { uriTemplate: 'shop://item/{id}', name: 'item' } }],
    instructions: () => host.instructionTexts,
    async call(name, args, options): Promise<BrokeredCall> {
      calls.push({ name, args, caller: options.caller, cause: options.cause })
      const run = host.runs[name]
      if (run === undefined) throw new Error(`unknown tool ${name}`)
      if (host.denied.has(name)) {
        const text = 'The person denied this call.'
        return {
          result: { content: [{ type: 'text', text }], isError: true },
          denied: true,
          decision: { verdict: 'deny', rule: 'no-buying' },
          activity: 0,
        }
      }
      const result = await run(args, options.signal)
      return { result, denied: false, decision: { verdict: 'allow', rule: 'default' }, activity: 0 }
    },
    async read(_, uri) {
      if (uri !== 'shop://stock') throw new Error('Resource not found')
      return { contents: [{ uri, text: '3 left' }] }
    },
    prompt: refuse,
    complete: refuse,
    watch: refuse,
    on: () => () => {},
    activity: () => rows,
    policy: {
      defaultVerdict: 'ask',
      rules: () => [],
      grants: () => [],
      revoke: () => false,
      explain: refuse,
      preview: refuse,
      hits: refuse,
    },
    trace: {
      list: refuse,
      ids: refuse,
      rows: refuse,
      bins: refuse,
      get: () => undefined,
      tree: refuse,
      timeline: refuse,
      pairs: refuse,
      statistics: refuse,
      counters: () => ({ events: 0, bytes: 0, dropped: 0, droppedBytes: 0, unwritten: 0 }),
      export: refuse,
      recording: refuse,
      request: refuse,
      replay: refuse,
    },
    trust: {
      servers: () => [],
      server: refuse,
      accept: refuse,
      block: refuse,
      reset: refuse,
    },
    verifyActivity: refuse,
    pruneActivity: refuse,
    approveInstallation: refuse,
    record(row) {
      rows.push({ ...row, id: rows.length + 1, at: '2027-01-01T00:00:00Z' })
      return rows.length
    },
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  return host
}

/** Results in memory. */
function memoryResults(): Parameters<typeof createResults>[0] {
  const rows = new Map<string, Parameters<ReturnType<typeof memoryResults>['put']>[0]>()
  return { get: (id) => rows.get(id), put: (row) => void rows.set(row.id, row) }
}

function catalogTool(name: string): CatalogTool {
  const tool: Tool = { name, description: `Does ${name}`, inputSchema: { type: 'object' } }
  return { name, server: 'shop', tool }
}

export interface ScriptedModel extends Model {
  requests: ModelRequest[]
}

type Step =
  | Partial<ModelReply>
  | ((request: ModelRequest) => Partial<ModelReply> | Promise<Partial<ModelReply>>)

/** A model that gives these replies in turn. */
export function scriptedModel(...steps: Step[]): ScriptedModel {
  const requests: ModelRequest[] = []
  return {
    id: 'scripted',
    isLanguageModel: true,
    requests,
    async generate(request) {
      const { signal: _signal, onText: _onText, onWait: _onWait, ...data } = request
      requests.push(structuredClone(data))
      request.signal?.throwIfAborted()
      const step = steps[Math.min(requests.length, steps.length) - 1] ?? {}
      const reply = typeof step === 'function' ? await step(request) : step
      const content = reply.content ?? []
      const blocks = Array.isArray(content) ? content : [content]
      for (const block of blocks) if (block.type === 'text') request.onText?.(block.text)
      const uses = blocks.some((block) => block.type === 'tool_use')
      return { content, stopReason: uses ? 'toolUse' : 'endTurn', model: 'scripted-1', ...reply }
    },
  }
}

/** A reply with a text and tool calls. */
export function uses(
  text: string,
  ...wanted: [name: string, input?: Record<string, unknown>][]
): Partial<ModelReply> {
  return {
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...wanted.map(([name, input = {}], n) => ({
        type: 'tool_use' as const,
        id: `${name}-${n}`,
        name,
        input,
      })),
    ],
    usage: { inputTokens: 10, outputTokens: 5 },
  }
}

export function textReply(text: string): Partial<ModelReply> {
  return { content: [{ type: 'text', text }], usage: { inputTokens: 10, outputTokens: 5 } }
}

export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}
