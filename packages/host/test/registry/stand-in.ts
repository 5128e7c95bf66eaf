import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'

/** Descriptions of servers, in the form of `server.json`. */
export type Published = Record<string, unknown> & { name: string; version: string }

/** A registry with these servers (API v0.1), and the paths it was asked for. */
export async function registry(published: Published[], pageSize = 30) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://registry')
    asked.push(`${url.pathname}${url.search}`)
    const answer = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    const entry = (document: Published) => ({
      server: document,
      _meta: {
        'io.modelcontextprotocol.registry/official': {
          status: 'active',
          publishedAt: '2026-01-02T03:04:05Z',
          isLatest: true,
        },
      },
    })
    const [, name, version] = /^\/v0\.1\/servers\/([^/]+)\/versions\/([^/]+)$/.exec(url.pathname) ?? []
    if (name !== undefined && version !== undefined) {
      const own = published.filter((one) => one.name === decodeURIComponent(name))
      const found = version === 'latest' ? own.at(-1) : own.find((one) => one.version === version)
      return found === undefined ? answer(404, { title: 'Not Found' }) : answer(200, entry(found))
    }
    if (url.pathname !== '/v0.1/servers') return answer(404, { title: 'Not Found' })
    const words = url.searchParams.get('search') ?? ''
    const fitting = published.filter((one) => one.name.includes(words))
    const from = Number(url.searchParams.get('cursor') ?? 0)
    const page = fitting.slice(from, from + pageSize)
    const next = from + pageSize < fitting.length ? { nextCursor: String(from + pageSize) } : {}
    answer(200, { servers: page.map(entry), metadata: { count: page.length, ...next } })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked }
}

export const weather: Published = {
  name: 'io.github.ann/weather',
  description: 'Says how the weather is',
  version: '1.4.0',
  repository: { url: 'https://example.org/ann/weather', source: 'github' },
  packages: [
    {
      registryType: 'npm',
      identifier: '@ann/weather',
      version: '1.4.0',
      transport: { type: 'stdio' },
      packageArguments: [
        { type: 'named', name: '--units', default: 'metric', choices: ['metric', 'imperial'] },
      ],
      environmentVariables: [
        { name: 'WEATHER_TOKEN', description: 'Your token', isRequired: true, isSecret: true },
        { name: 'REGION', isRequired: true, choices: ['eu', 'us'] },
      ],
    },
  ],
}
