import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nowhere } from '../setup/ports.ts'
import { bundle } from './bundle.ts'
import { here, installed, missing, type Place, start } from './place.ts'
import { lockedPath, nodeApp, openPath, ssePath } from './programs/app.ts'
import type { Finding, Targets } from './programs/checks.ts'

const run = promisify(execFile)
const node = [process.execPath, '--no-warnings'] as const
const browser = { file: '/usr/bin/chromium', install: 'apt-get install chromium' }

/** Somewhere the client can run. */
interface ClientPlace extends Pick<Place, 'name' | 'needs'> {
  play(targets: Targets): Promise<Finding[]>
}

const open: Server[] = []
let targets: Targets
let page = ''

const places: readonly ClientPlace[] = [
  { name: 'Node', play: (where) => command([...node, 'programs/client.ts'], where) },
  {
    name: 'Bun',
    needs: installed('bun/bin/bun.exe'),
    play: (where) => command([here('node_modules/.bin/bun'), 'programs/client.ts'], where),
  },
  {
    name: 'Deno',
    needs: installed('deno/deno'),
    play: (where) =>
      command([here('node_modules/.bin/deno'), 'run', '--allow-net=127.0.0.1', 'programs/client.ts'], where),
  },
  {
    name: 'workerd',
    needs: installed('workerd/bin/workerd'),
    async play(where) {
      const worker = await start({
        name: 'workerd',
        command: [...node, 'programs/workerd.ts', 'client-worker.ts'],
      })
      try {
        const answer = await fetch(worker.url, { method: 'POST', body: JSON.stringify(where) })
        return await answer.json()
      } finally {
        await worker.stop()
      }
    },
  },
  {
    name: 'Chromium, in a page of another origin',
    needs: browser,
    play: (where) => inPage(page, `play(${JSON.stringify(where)})`),
  },
]

beforeAll(async () => {
  const script = await bundle('client-page.ts')
  page = await listen((request, response) => {
    const [type, body] =
      request.url === '/client.js'
        ? ['text/javascript', script]
        : ['text/html', '<!doctype html><script type="module" src="/client.js"></script>']
    response.writeHead(200, { 'Content-Type': `${type}; charset=utf-8` }).end(body)
  })
  const app = nodeApp({ allowedOrigins: [page], limits: { keepAliveMs: 100 } })
  const server = await listen((request, response) => {
    if (request.url === '/elsewhere') leadAway(request, response)
    else app(request, response)
  })
  targets = {
    url: server + openPath,
    locked: server + lockedPath,
    sse: server + ssePath,
    elsewhere: `${server}/elsewhere`,
    unreachable: `http://${nowhere}${openPath}`,
  }
})

afterAll(() => {
  for (const server of open) {
    server.closeAllConnections()
    server.close()
  }
})

describe.each(places.map((place) => [`${place.name}${missing(place)}`, place] as const))(
  'a client in %s',
  (_title, place) => {
    it.skipIf(missing(place) !== '')(
      'manages everything on both eras',
      async () => {
        const findings = await place.play(targets)
        expect(findings.length).toBeGreaterThan(25)
        for (const { title, version, got, expected } of findings) {
          expect({ title, version, got }).toEqual({ title, version, got: expected })
        }
      },
      90_000,
    )
  },
)

describe(`a page that is not listed${missing({ needs: browser })}`, () => {
  it.skipIf(missing({ needs: browser }) !== '')('reads nothing', async () => {
    const unlisted = page.replace('127.0.0.1', 'localhost')
    const findings = await inPage(unlisted, `play(${JSON.stringify(targets)})`)
    const [first] = findings
    expect(String(first?.got)).toContain('Failed to fetch')
  })
})

async function command(line: readonly string[], where: Targets): Promise<Finding[]> {
  const [program = '', ...args] = line
  const { stdout } = await run(program, [...args, JSON.stringify(where)], { cwd: here(''), timeout: 80_000 })
  return JSON.parse(stdout)
}

async function inPage(url: string, expression: string): Promise<Finding[]> {
  const shown = await chromium.launch({ executablePath: browser.file, args: ['--no-sandbox'] })
  try {
    const tab = await shown.newPage()
    await tab.goto(url)
    await tab.waitForFunction('typeof play === "function"')
    return await tab.evaluate(expression)
  } finally {
    await shown.close()
  }
}

/** Sends a client to another origin, as far as its browser lets it look. */
function leadAway(request: IncomingMessage, response: ServerResponse): void {
  const { origin = '*' } = request.headers
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Allow-Headers', request.headers['access-control-request-headers'] ?? '')
  if (request.method === 'OPTIONS') response.writeHead(204).end()
  else response.writeHead(307, { Location: targets.url.replace('127.0.0.1', 'localhost') }).end()
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle)
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
}
