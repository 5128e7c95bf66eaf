import { defineServer, resource, type Server, tool } from '@jackfield/sdk'
import { type HttpHandler, type HttpOptions, serveHttp } from '@jackfield/sdk/http'

/** Where the open server stands, and the one that asks who calls. */
export const openPath = '/mcp'
export const lockedPath = '/locked'
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
        description: 'Reports progress unless told to be quiet, then waits until somebody calls "pass"',
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

const options: HttpOptions = {
  keys,
  allowedOrigins: [pageOrigin],
  limits: { messageBytes: bodyBytes, keepAliveMs: 200 },
}

/** The handler of the open server. */
export function openHandler(more: HttpOptions = {}): HttpHandler {
  return serveHttp(makeServer(), { ...options, path: openPath, sse: '/sse', ...more })
}

/** The handler of the server that asks who calls. */
export function lockedHandler(): HttpHandler {
  return serveHttp(makeServer(), {
    ...options,
    path: lockedPath,
    authenticate: async (request) => {
      const [scheme, principal] = (request.header('authorization') ?? '').split(' ')
      return scheme === 'Bearer' && principal !== undefined
        ? { principal }
        : { status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="test"' } }
    },
  })
}

/** Both servers as one `fetch`. */
export function makeApp(): { fetch(request: Request): Promise<Response> } {
  const open = openHandler()
  const locked = lockedHandler()
  return {
    fetch: (request) =>
      new URL(request.url).pathname === lockedPath ? locked.fetch(request) : open.fetch(request),
  }
}
