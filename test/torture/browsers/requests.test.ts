import { once } from 'node:events'
import { connect } from 'node:net'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, test } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { counting, mounts, options, path, type Sent, ssePath } from './mounts.ts'

type Headers = Sent['headers']

const json = 'application/json'
const inbox = `${ssePath}?sessionId=one`
const accept = ['Accept', 'application/json, text/event-stream'] as const
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'page', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'shoot', arguments: {}, _meta: meta },
}
const older = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'shoot', arguments: {} } }
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
}

const post = (target: string, body: object, type: string | null = json): Sent => ({
  method: 'POST',
  target,
  headers: [
    accept,
    ...(type === null ? [] : [['Content-Type', type] as const]),
    ...(body === call
      ? ([
          ['MCP-Protocol-Version', '2026-07-28'],
          ['Mcp-Method', 'tools/call'],
          ['Mcp-Name', 'shoot'],
        ] as const)
      : []),
  ],
  body: JSON.stringify(body),
})
const bare = (method: string, target: string, more: Headers = []): Sent => ({ method, target, headers: more })
const events = [['Accept', 'text/event-stream']] as const

/** Every endpoint of a server, and its response if Host and Origin are valid. */
const ways: readonly (readonly [Sent, number])[] = [
  [post(path, call), 200],
  [post(path, initialize), 200],
  [post(inbox, older), 404],
  [bare('GET', path, events), 400],
  [bare('DELETE', path), 400],
  [bare('OPTIONS', path, [['Access-Control-Request-Method', 'POST']]), 405],
  [bare('GET', ssePath, events), 200],
  [bare('GET', '/.well-known/oauth-protected-resource/mcp'), 404],
  [bare('GET', '/.well-known/mcp.json'), 404],
]

const goodHosts = (port: number): string[][] => [
  [`127.0.0.1:${port}`],
  [`localhost:${port}`],
  [`[::1]:${port}`],
]
const badHosts = (port: number): string[][] => [
  ['evil.com'],
  [`evil.com:${port}`],
  [`127.0.0.1.evil.com:${port}`],
  [`localhost.evil.com:${port}`],
  ['localhost:1@evil.com'],
  [`localhost@evil.com:${port}`],
  ['[::1].evil'],
  ['[::1'],
  [`0.0.0.0:${port}`],
  [''],
  [`localhost:${port}`, `localhost:${port}`],
  [`localhost:${port}`, `evil.com:${port}`],
]
const goodOrigins = (port: number): (string | undefined)[] => [
  undefined,
  `http://127.0.0.1:${port}`,
  'http://localhost:5173',
  'https://localhost',
  'http://[::1]:9',
]
const badOrigins = (port: number): string[] => [
  'null',
  'http://evil.com',
  `http://evil.com:${port}`,
  'http://localhost.evil.com',
  `http://127.0.0.1.evil.com:${port}`,
  'http://localhost@evil.com',
  'file://',
  'chrome-extension://abcdef',
  '',
]
const types = [
  null,
  'text/plain',
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain; x=application/json',
  'application/json, text/plain',
  'application/jsonp',
  '',
]

interface Cell {
  readonly mount: string
  readonly sent: Sent
  /** The status it has to be answered with. */
  readonly status: number
}

/** Mounts that hand web requests over. */
const overWeb = ['Hono', 'fetch']

/** Every request to one mount. */
function cellsOf(mount: string, port: number): Cell[] {
  const cells: Cell[] = []
  const add = (sent: Sent, status: number, hosts: readonly string[], origin: string | undefined): void => {
    const headers: Headers = [
      ...hosts.map((host) => ['Host', host] as const),
      ...(origin === undefined ? [] : [['Origin', origin] as const]),
      ...sent.headers,
    ]
    cells.push({ mount, sent: { ...sent, headers }, status })
  }
  const [bad, good] = [badHosts(port), goodHosts(port)]
  for (const [sent, status] of ways) {
    for (const host of [...bad, ...good]) {
      for (const origin of [...badOrigins(port), ...goodOrigins(port)]) {
        const isFine = good.includes(host) && goodOrigins(port).includes(origin)
        // Over node:http a second Host is refused as such; the web joins the two to one that is none of this machine.
        const refusal = host.length > 1 && !overWeb.includes(mount) ? 400 : 403
        add(sent, isFine ? status : refusal, host, origin)
      }
    }
  }
  for (const [sent] of ways) {
    const fromPage = [...sent.headers, ['Sec-Fetch-Site', 'cross-site'] as const]
    for (const host of good) add({ ...sent, headers: fromPage }, 403, host, undefined)
  }
  for (const type of types) {
    for (const [target, body] of [
      [path, call],
      [path, initialize],
      [inbox, older],
    ] as const) {
      for (const origin of goodOrigins(port))
        add(post(target, body, type), 415, [`localhost:${port}`], origin)
    }
  }
  return cells
}

const reaches = (status: number): boolean => status === 200

campaign(
  {
    id: 'foreign-requests',
    chapter: 'Browsers',
    claim:
      'By default only the names and pages of the local machine reach a tool, however the server is mounted',
    trial: 'request with a Host, an Origin and a Content-Type',
    trials: { change: 1500, long: 12_312 },
  },
  async ({ trials, seed, setTrials, measured }) => {
    const random = new Random(seed)
    let count = 0
    let served = 0
    for (const [mount, open] of Object.entries(mounts)) {
      const { server, ran } = counting()
      const mounted = await open(server)
      const all = cellsOf(mount, mounted.port)
      const share = trials / Object.keys(mounts).length / all.length
      const calls = (cell: Cell): boolean => cell.sent.body === JSON.stringify(call) && reaches(cell.status)
      let expected = 0
      for (const cell of all) {
        if (!calls(cell) && random.fraction() >= share) continue
        count++
        if (calls(cell)) expected++
        const got = await mounted.send(cell.sent)
        const seen = { ...cell, status: got.status, readable: got.readable, ran: ran() }
        expect(seen).toEqual({ ...cell, readable: undefined, ran: expected })
      }
      expect(expected).toBeGreaterThan(0)
      served += expected
      await mounted.close()
    }
    setTrials(count)
    measured('requests that were to be served', served, 'calls')
  },
)

test('a server is not reached at other addresses of this machine', async () => {
  const here = await serveHttp(counting().server, options).listen()
  expect(await reachable('127.0.0.1', here.port)).toBe(true)
  expect(await reachable('127.0.0.2', here.port)).toBe(false)
  await here.close()
})

test.runIf(process.platform === 'linux')('other addresses reach a server on all interfaces', async () => {
  const everywhere = await serveHttp(counting().server, { ...options, onWarning: () => {} }).listen({
    host: '0.0.0.0',
  })
  expect(await reachable('127.0.0.2', everywhere.port)).toBe(true)
  await everywhere.close()
})

async function reachable(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
