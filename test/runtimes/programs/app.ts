import type { IncomingMessage, ServerResponse } from 'node:http'
import { defineServer, resource, type Server, tool } from '@jackfield/sdk'
import { type Authenticate, type HttpHandler, type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'

/** The paths of the open server, also over HTTP+SSE; of the one that authenticates; and of one without keys. */
export const openPath = '/mcp'
export const ssePath = '/sse'
export const lockedPath = '/locked'
export const keylessPath = '/keyless'
/** The one web page that may use the servers. */
export const pageOrigin = 'https://app.example.com'
/** Bytes of a request body the servers take. */
export const bodyBytes = 50_000

const keys = ['runtimes'.repeat(8)]

/** One server with what transports can get wrong: streams, questions, cancellation, changes, size. */
export function makeServer(): Server {
  let hanging = 0
  let stopped = 0
  let opened = 0
  let open: () => void = () => {}
  const server: Server = defineServer({
    name: 'runtimes',
    version: '1.0.0',
    tools: {
      echo: tool({
        input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        run: ({ text }) => String(text),
      }),
      big: tool({ run: () => 'ü'.repeat(500_000) }),
      refund: tool({
        async run(_args, ctx) {
          const receipt = await ctx.step('open', () => ++opened)
          const answer = await ctx.elicit({
            message: 'Refund 42?',
            schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
          })
          const sure = answer.action === 'accept' && answer.content['ok'] === true
          return `${sure ? 'refunded' : 'kept'} ${opened - receipt}`
        },
      }),
      gate: tool({
        description: 'Reports progress unless `quiet` is set, then waits until "pass" is called',
        input: { type: 'object', properties: { quiet: { type: 'boolean' } } },
        async run({ quiet }, ctx) {
          const passed = new Promise<void>((resolve) => {
            open = resolve
          })
          if (quiet !== true) ctx.progress(1, 2, 'waiting')
          await passed
          return 'passed'
        },
      }),
      pass: tool({
        run() {
          open()
          return 'open'
        },
      }),
      hang: tool({
        description: 'Runs until it is cancelled',
        run: (_args, ctx) =>
          new Promise((_, reject) => {
            hanging++
            ctx.signal.addEventListener('abort', () => {
              stopped++
              reject(ctx.signal.reason)
            })
            ctx.progress(1)
          }),
      }),
      hangs: tool({ run: () => `${hanging} ${stopped}` }),
      touch: tool({
        run() {
          server.resourceUpdated('shop://orders')
          return 'touched'
        },
      }),
      detached: tool({
        description: 'Lets go of its stream before it answers',
        async run(_args, ctx) {
          ctx.progress(1)
          ctx.detach()
          await new Promise((resolve) => setTimeout(resolve, 50))
          return 'came back'
        },
      }),
      whoami: tool({ run: (_args, ctx) => String(ctx.peer.principal) }),
    },
    resources: { orders: resource({ uri: 'shop://orders', read: () => 'none' }) },
  })
  return server
}

const defaults: ServeHttpOptions = {
  keys,
  allowedOrigins: [pageOrigin],
  limits: { messageBytes: bodyBytes, keepAliveMs: 100 },
}

/** A server, mounted. */
export interface Mounted {
  readonly path: string
  readonly handler: HttpHandler
}

/** Every server there is, under a prefix that clients see. */
export function mounted(prefix = '', options: ServeHttpOptions = {}): readonly Mounted[] {
  const authenticate: Authenticate = async (request) => {
    const [scheme, principal] = (request.header('authorization') ?? '').split(' ')
    return scheme === 'Bearer' && principal !== undefined
      ? { principal }
      : { status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="test"' } }
  }
  const mount = (path: string, one: ServeHttpOptions): Mounted => ({
    path: prefix + path,
    handler: serveHttp(makeServer(), { ...defaults, ...options, ...one, path: prefix + path }),
  })
  const open = mount(openPath, { sse: prefix + ssePath })
  return [
    open,
    { path: prefix + ssePath, handler: open.handler },
    mount(lockedPath, { authenticate }),
    mount(keylessPath, { keys: [], onWarning: () => {} }),
  ]
}

/** The servers as one `fetch`. */
export function webApp(prefix?: string): { fetch(request: Request): Promise<Response> } {
  const handlers = new Map(mounted(prefix).map(({ path, handler }) => [path, handler]))
  return {
    fetch: async (request) =>
      handlers.get(new URL(request.url).pathname)?.fetch(request) ?? new Response(null, { status: 404 }),
  }
}

/** The servers as one listener of `node:http`. */
export function nodeApp(
  options: ServeHttpOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  const handlers = new Map(mounted('', options).map(({ path, handler }) => [path, handler]))
  return (request, response) => {
    const handler = handlers.get(request.url?.split('?', 1)[0] ?? '')
    if (handler === undefined) response.writeHead(404).end()
    else handler.node(request, response)
  }
}
