import { createServer, type IncomingMessage, type Server as NodeServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defineServer, tool } from '@jackfield/sdk'
import { bearer } from '@jackfield/sdk/auth'
import { connect, http } from '@jackfield/sdk/client'
import { type HttpHandler, serveHttp } from '@jackfield/sdk/http'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished, vi } from 'vitest'

const wellKnown = '/.well-known/oauth-protected-resource'

/** A handler that takes one token, for an endpoint at a path below this origin. */
function guarded(origin: string, path: string, own?: string): { handler: HttpHandler; warnings: string[] } {
  const warnings: string[] = []
  const whoami = tool({ run: (_args, { peer }) => peer.principal ?? 'nobody' })
  const resource = `${origin}${path}`
  const handler = serveHttp(defineServer({ name: 'shop', version: '1', tools: { whoami } }), {
    keys: ['k'.repeat(32)],
    authenticate: bearer({
      resource,
      authorizationServers: ['https://as.example.com'],
      verify: async (token) =>
        token === 'good' ? { sub: 'ada', iss: 'https://as.example.com', aud: resource, exp: 4e9 } : undefined,
    }),
    onWarning: (warning) => warnings.push(warning),
    ...(own !== undefined && { path: own }),
  })
  return { handler, warnings }
}

/** Where a framework routes requests to, and how: the URL of its port, for the time of the test. */
type Mount = (
  serve: (origin: string) => { handler: HttpHandler; routes: readonly string[] },
) => Promise<string>

/** Listens on a free port first, since the handler must know its own URL. */
async function listening(
  build: (origin: string) => (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  let listener: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  const server: NodeServer = createServer((request, response) => listener?.(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port }: AddressInfo = Object(server.address())
  const origin = `http://127.0.0.1:${port}`
  listener = build(origin)
  return origin
}

const withExpress: Mount = (serve) =>
  listening((origin) => {
    const app = express()
    const { handler, routes } = serve(origin)
    for (const route of routes) app.all(route, handler.node)
    return app
  })

const withParsingExpress: Mount = (serve) =>
  listening((origin) => {
    const app = express().use(express.json())
    const { handler, routes } = serve(origin)
    for (const route of routes) app.use(route, handler.node)
    return app
  })

const withFastify: Mount = (serve) =>
  listening((origin) => {
    const app = fastify()
    const { handler, routes } = serve(origin)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const route of routes) {
      app.all(route, (request, reply) => {
        reply.hijack()
        handler.node(request.raw, reply.raw)
      })
    }
    return (request, response) => {
      app.ready().then(() => app.routing(request, response))
    }
  })

/** Hono on Node, without its adapter: requests of the web, made here of those of node:http. */
const withHono: Mount = (serve) =>
  listening((origin) => {
    const app = new Hono()
    const { handler, routes } = serve(origin)
    for (const route of routes) app.all(route, ({ req }) => handler.fetch(req.raw))
    return async (request, response) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method = 'GET', url, headers } = request
      const body = method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.concat(chunks) }
      const entries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
      const answer = await app.fetch(new Request(`${origin}${url}`, { method, headers: entries, ...body }))
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    }
  })

/** What Koa does: one function for every request, which hands its own objects of node:http on. */
const withKoaLike: Mount = (serve) =>
  listening((origin) => {
    const { handler, routes } = serve(origin)
    return (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? ''
      if (routes.includes(path)) handler.node(request, response)
      else response.writeHead(404).end('Not Found')
    }
  })

const mounts: [string, Mount][] = [
  ['Express', withExpress],
  ['Express with a body parser, by app.use', withParsingExpress],
  ['Fastify', withFastify],
  ['Hono', withHono],
  ['one function, as in Koa', withKoaLike],
]

/** A client of whom the token is known already. */
async function whoami(url: string): Promise<unknown> {
  const client = await connect(http(url, { headers: { authorization: 'Bearer good' } }))
  try {
    const { content } = await client.call('whoami')
    return content
  } finally {
    await client.close()
  }
}

const refused = async (url: string): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })

describe.each(mounts)('authorization behind %s', (_name, mount) => {
  it('accepts a client with a token, and directs one without to the metadata', async () => {
    const origin = await mount((origin) => ({
      ...guarded(origin, '/mcp'),
      routes: ['/mcp', `${wellKnown}/mcp`],
    }))
    await expect(whoami(`${origin}/mcp`)).resolves.toEqual([
      { type: 'text', text: 'https://as.example.com|ada' },
    ])
    const challenge = (await refused(`${origin}/mcp`)).headers.get('www-authenticate') ?? ''
    const [, place = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
    expect(place).toBe(`${origin}${wellKnown}/mcp`)
    await expect(fetch(place).then((answer) => answer.json())).resolves.toMatchObject({
      resource: `${origin}/mcp`,
    })
  })

  it('warns once of the missing route for the metadata', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let warnings: string[] = []
    const origin = await mount((origin) => {
      const made = guarded(origin, '/mcp')
      warnings = made.warnings
      return { ...made, routes: ['/mcp'] }
    })
    for (let n = 0; n < 3; n++) expect((await refused(`${origin}/mcp`)).status).toBe(401)
    expect((await fetch(`${origin}${wellKnown}/mcp`)).status).toBe(404)
    await vi.waitFor(() => {
      vi.advanceTimersByTime(5_000)
      expect(warnings).toHaveLength(1)
    })
    expect(warnings[0]).toContain(`${wellKnown}/mcp`)
    expect(warnings[0]).toContain(`app.all('${wellKnown}/mcp', handler.node)`)
  })
})

describe("a framework's own objects", () => {
  it.each([
    ['Fastify', () => fastify()],
    ['Hono', () => new Hono()],
  ])('are rejected by handler.node with what to pass instead: %s', async (_name, make) => {
    const { node } = guarded('http://127.0.0.1', '/mcp').handler
    const errors: unknown[] = []
    const route = (...given: unknown[]): unknown => {
      try {
        return Reflect.apply(node, undefined, given)
      } catch (error) {
        errors.push(error)
        throw error
      }
    }
    const app = make()
    if (app instanceof Hono) {
      app.onError(() => new Response(null, { status: 500 }))
      app.all('/mcp', (...given) => Promise.resolve(route(...given)).then(() => new Response()))
      await app.request('/mcp', { method: 'POST' })
    } else {
      app.all('/mcp', route)
      await app.inject({ method: 'POST', url: '/mcp' })
    }
    expect(errors).toEqual([expect.any(TypeError)])
    expect(String(errors[0])).toContain('request.raw')
  })
})

describe('the path of an endpoint', () => {
  it.each([
    ['a route', (app: express.Express, { node }: HttpHandler) => app.all('/api/v1/tools', node)],
    ['a prefix', (app: express.Express, { node }: HttpHandler) => app.use('/api/v1/tools', node)],
    [
      'a router below a prefix',
      (app: express.Express, { node }: HttpHandler) =>
        app.use('/api', express.Router().all('/v1/tools', node)),
    ],
  ])('is where Express mounts the handler: %s', async (_what, mount) => {
    const origin = await listening((origin) => {
      const app = express()
      mount(app, guarded(origin, '/api/v1/tools').handler)
      return app
    })
    await expect(whoami(`${origin}/api/v1/tools`)).resolves.toEqual([
      { type: 'text', text: 'https://as.example.com|ada' },
    ])
    const below = await refused(`${origin}/api/v1/tools/more`)
    expect(below.status).toBe(404)
  })

  it('is the one in "path" wherever the handler is mounted', async () => {
    const origin = await listening((origin) => {
      const app = express()
      app.all('/other', guarded(origin, '/mcp', '/mcp').handler.node)
      return app
    })
    expect((await refused(`${origin}/other`)).status).toBe(404)
  })

  it('is not every path if a handler is mounted for all of them', async () => {
    const origin = await listening((origin) => express().use(guarded(origin, '/mcp').handler.node))
    expect((await refused(`${origin}/other`)).status).toBe(404)
    expect((await refused(`${origin}/mcp`)).status).toBe(401)
  })

  it('is named in a warning, once, if a framework routes another path to the handler', async () => {
    let warnings: string[] = []
    const origin = await withFastify((origin) => {
      const made = guarded(origin, '/mcp')
      warnings = made.warnings
      return { ...made, routes: ['/api/mcp'] }
    })
    for (let n = 0; n < 2; n++) expect((await refused(`${origin}/api/mcp`)).status).toBe(404)
    await vi.waitFor(() => expect(warnings).toHaveLength(1))
    expect(warnings[0]).toContain('/api/mcp')
    expect(warnings[0]).toContain('"path"')
  })
})
