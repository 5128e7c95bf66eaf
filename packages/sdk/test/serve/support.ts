import { ErrorCode, RpcError } from '../../src/jsonrpc/error.ts'
import type { JsonObject } from '../../src/jsonrpc/message.ts'
import { isObject } from '../../src/jsonrpc/parse.ts'
import type { ServerCapabilities } from '../../src/protocol/definitions.ts'
import type { HeaderPlan } from '../../src/protocol/headers.ts'
import { MetaKey } from '../../src/protocol/meta.ts'
import { methodRow } from '../../src/protocol/methods.ts'
import { createChanges } from '../../src/request/changes.ts'
import type { Exchange, Outcome } from '../../src/request/exchange.ts'
import { type LazyHandlerRun, runToOutcome } from '../../src/server/handler-context.ts'
import type { Server } from '../../src/server/server.ts'
import { listen } from '../../src/server/subscriptions.ts'

export type Tool = (args: JsonObject, exchange: Exchange, round: LazyHandlerRun) => unknown

export interface TestServer extends Server {
  /** Failures the peer was not shown. */
  readonly reports: unknown[]
  /** Names of the tools that were run, in order. */
  readonly ran: string[]
}

/** A server written by hand, so that these tests depend on nothing but what they test. */
export function testServer(
  tools: Record<string, Tool> = {},
  options: { plans?: Record<string, HeaderPlan>; capabilities?: ServerCapabilities } = {},
): TestServer {
  const changes = createChanges()
  const reports: unknown[] = []
  const ran: string[] = []
  const run = async (exchange: Exchange): Promise<Outcome> => {
    const { name, arguments: args } = exchange.params
    const tool = typeof name === 'string' && Object.hasOwn(tools, name) ? tools[name] : undefined
    if (tool === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${String(name)}`)
    ran.push(String(name))
    return runToOutcome(
      exchange,
      (round) => tool(isObject(args) ? args : {}, exchange, round),
      (value) =>
        isObject(value) && Array.isArray(value['content'])
          ? value
          : { content: [{ type: 'text', text: String(value) }] },
    )
  }
  const capabilities = options.capabilities ?? {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
  }
  return {
    reports,
    ran,
    info: { name: 'test', version: '1.0.0' },
    instructions: 'Be gentle.',
    capabilities,
    capabilitiesOn: () => capabilities,
    method: methodRow,
    changes,
    async handle(exchange) {
      switch (exchange.method) {
        case 'tools/call':
          return run(exchange)
        case 'tools/list':
          return {
            type: 'complete',
            result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) },
          }
        case 'resources/read':
          return {
            type: 'complete',
            result: { contents: [{ uri: String(exchange.params['uri']), text: 'contents' }] },
          }
        case 'server/discover':
          return {
            type: 'complete',
            result: { supportedVersions: ['2026-07-28'], capabilities: this.capabilities },
          }
        case 'subscriptions/listen':
          return listen(changes, capabilities, exchange)
        default:
          throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${exchange.method}`)
      }
    },
    add: () => {},
    remove: () => {},
    resourceUpdated: (uri) => changes.publish({ type: 'resource', uri }),
    elicitationComplete: (id) => changes.publish({ type: 'elicitation', id }),
    isSubscribed: (uri) => changes.isWatched({ type: 'resource', uri }),
    log: () => {},
    headerPlan: (tool) => new Map(Object.entries(options.plans ?? {})).get(tool),
    taskSupport: () => undefined,
    takeover: () => 'never',
    scopes: [],
    scopesFor: () => [],
    report: (error) => reports.push(error),
  }
}

export const echo: Tool = ({ text }) => text ?? 'echo'

/** Waits until aborted. */
export const hang: Tool = (_args, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** Never settles, whatever happens. */
export const hung: Tool = () => new Promise(() => {})

/** Asks for a name and greets. */
export const ask: Tool = async (_args, _exchange, round) => {
  const answer = await round.get().ask({
    method: 'elicitation/create',
    params: {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    },
  })
  return answer.action === 'accept' ? `Hello, ${String(answer.content?.['name'])}` : answer.action
}

/** The `_meta` of a request of 2026-07-28. */
export function meta(more: JsonObject = {}): JsonObject {
  return {
    [MetaKey.protocolVersion]: '2026-07-28',
    [MetaKey.clientInfo]: { name: 'tester', version: '1' },
    [MetaKey.clientCapabilities]: { elicitation: {} },
    ...more,
  }
}

export const initialize = (
  version = '2025-11-25',
  id: string | number = 'init',
  capabilities: JsonObject = { elicitation: {} },
): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: {
    protocolVersion: version,
    capabilities,
    clientInfo: { name: 'tester', version: '1' },
  },
})

export const initialized: JsonObject = { jsonrpc: '2.0', method: 'notifications/initialized' }

/** Lets everything that is ready run. */
export const settle = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until a condition is true. */
export async function until(condition: () => boolean, ms = 5000): Promise<void> {
  const end = Date.now() + ms
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Waited ${ms} ms for: ${condition}`)
    await settle(2)
  }
}

/** The code of the error that a response carries. */
export const codeOf = (response: JsonObject): unknown =>
  (response['error'] as JsonObject | undefined)?.['code']
