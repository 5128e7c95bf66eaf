import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { defineServer, type Server, tool } from '@jackfield/sdk'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'

export const path = '/mcp'
export const ssePath = '/sse'
export const options: ServeHttpOptions = { keys: ['k'.repeat(32)], sse: ssePath }

/** A request as its bytes; header names may repeat. */
export interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/** What came back before the body. */
export interface Got {
  readonly status: number
  /** `Access-Control-Allow-Origin`, where there is one. */
  readonly readable: string | undefined
}

/** A server mounted in one way. */
export interface Mount {
  /** What is expected in Host; undefined where the server has no port of its own. */
  readonly port: number
  send(request: Sent): Promise<Got>
  close(): Promise<void>
}

/** A server with one tool, and how often that ran. */
export function counting(): { server: Server; ran: () => number } {
  let count = 0
  const server = defineServer({
    name: 'counting',
    version: '1.0.0',
    tools: {
      shoot: tool({
        run: () => {
          count++
          return 'Shot.'
        },
      }),
    },
  })
  return { server, ran: () => count }
}

/** Every way of mounting that the documentation shows, with its default options. */
export const mounts: Readonly<Record<string, (server: Server) => Promise<Mount>>> = {
  async listen(server) {
    const { port, close } = await serveHttp(server, options).listen()
    return { port, close, send: (request) => overSocket(port, request) }
  },
  'node:http': (server) => onPort(serveHttp(server, options).node),
  Express(server) {
    const app = express()
    app.use(serveHttp(server, options).node)
    return onPort(app)
  },
  async Fastify(server) {
    const handler = serveHttp(server, options)
    const app = fastify()
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      scope.all('*', (request, reply) => {
        reply.hijack()
        handler.node(request.raw, reply.raw)
      })
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = addressOf(app.server)
    const close = async (): Promise<void> => {
      app.server.closeAllConnections()
      await app.close()
    }
    return { port, close, send: (request) => overSocket(port, request) }
  },
  async Hono(server) {
    const handler = serveHttp(server, options)
    const app = new Hono()
    app.all('*', (context) => handler.fetch(context.req.raw))
    return inMemory(async (request) => app.fetch(request), handler.close)
  },
  async fetch(server) {
    const handler = serveHttp(server, options)
    return inMemory(handler.fetch, handler.close)
  },
}

function addressOf(server: HttpServer): { port: number } {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It listens on no port')
  return address
}

async function onPort(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Mount> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = addressOf(server)
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { port, close, send: (request) => overSocket(port, request) }
}

function inMemory(fetch: (request: Request) => Promise<Response>, close: () => Promise<void>): Mount {
  const port = 3000
  return {
    port,
    close,
    async send({ method, target, headers, body }) {
      const all = new Headers()
      for (const [name, value] of headers) all.append(name, value)
      const bytes = body === undefined ? {} : { body: new TextEncoder().encode(body) }
      const init = { method, headers: all, ...bytes }
      const {
        status,
        headers: given,
        body: answer,
      } = await fetch(new Request(`http://localhost:${port}${target}`, init))
      await answer?.cancel()
      return { status, readable: given.get('access-control-allow-origin') ?? undefined }
    },
  }
}

/** Writes the request onto a socket as it is, and reads up to the end of the answer's headers. */
function overSocket(port: number, { method, target, headers, body }: Sent): Promise<Got> {
  const length: Sent['headers'] =
    body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]]
  const lines = [...headers, ...length, ['Connection', 'close']].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let got = ''
    socket.setEncoding('latin1').on('data', (text) => {
      got += text
      if (!got.includes('\r\n\r\n')) return
      const [head = ''] = got.split('\r\n\r\n')
      resolve({
        status: Number(head.slice(9, 12)),
        readable: /^access-control-allow-origin: (.*)$/im.exec(head)?.[1],
      })
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`No answer to ${method} ${target}: ${got}`)))
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`)
  })
}
