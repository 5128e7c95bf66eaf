import { existsSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { campaign } from '../campaign.ts'
import { attackPage, attempts, html, servePage } from './attacker.ts'
import { counting, options } from './mounts.ts'

const program = '/usr/bin/chromium'
const isThere = existsSync(program)
const left = isThere ? '' : ` (${program} is not installed: apt-get install chromium)`

let browser: Browser
let page: { port: number; close: () => void }

describe.skipIf(!isThere)(`pages in Chromium${left}`, () => {
  beforeAll(async () => {
    page = await servePage()
    const args = ['--no-sandbox', '--host-resolver-rules=MAP *.example 127.0.0.1']
    browser = await chromium.launch({ executablePath: program, args })
  })
  afterAll(async () => {
    await browser.close()
    page.close()
  })

  campaign(
    {
      id: 'pages-of-other-sites',
      chapter: 'Browsers',
      claim:
        'No page of another site, with or without an origin, under its own or a rebound name, runs a tool',
      trial: 'attempt of a page in a real browser',
      trials: { change: 3 * attempts.length, long: 900 * attempts.length },
    },
    async ({ trials, setTrials, measured }) => {
      let count = 0
      const reached = new Map<string, number>()
      while (count < trials) {
        for (const [name, run] of Object.entries(attacks)) {
          const target = await watched()
          const tab = await browser.newPage()
          const attack = await run(tab, target.port)
          for (const attempt of attempts) {
            const outcome = await attack(attempt)
            count++
            expect({ name, attempt, outcome, ran: target.ran() }).toMatchObject({ ran: 0 })
            expect(outcome).not.toContain('was opened')
          }
          expect({ name, taken: target.taken() }).toEqual({ name, taken: [] })
          for (const attempt of attempts) {
            const tries = target.tries.filter((one) => one.includes(`try=${attempt}`)).length
            expect({ name, attempt, tries: tries > 0 }).toEqual({ name, attempt, tries: true })
            reached.set(attempt, (reached.get(attempt) ?? 0) + tries)
          }
          await tab.close()
          await target.close()
        }
      }
      setTrials(count)
      measured(
        'requests that reached the server',
        [...reached.values()].reduce((sum, one) => sum + one, 0),
        'requests',
      )
    },
  )

  test('the same page runs a tool if the guards are switched off', async () => {
    const target = await watched({ dangerouslyAllowAnyHost: true, dangerouslyAllowAnyOrigin: true })
    const tab = await browser.newPage()
    const attack = await attacks.rebound(tab, target.port)
    await attack('json-post')
    expect(target.ran()).toBe(1)
    await tab.close()
    await target.close()
  })
})

type Attack = (attempt: string) => Promise<string>

/** How a page comes to be in the browser. */
const attacks = {
  /** A site of its own, on the same machine. */
  async foreign(tab: Page, port: number): Promise<Attack> {
    await tab.goto(`http://evil.example:${page.port}/`)
    return attackFrom(tab, `http://127.0.0.1:${port}`)
  },
  /** A frame that was denied its origin. */
  async sandboxed(tab: Page, port: number): Promise<Attack> {
    await tab.goto(`http://evil.example:${page.port}/outer`)
    const frame = tab.frames().find((one) => one !== tab.mainFrame())
    if (frame === undefined) throw new Error('There is no frame')
    await frame.waitForFunction('typeof attack === "function"')
    return (attempt) => frame.evaluate(`attack("http://127.0.0.1:${port}", "${attempt}")`)
  },
  /** A site whose name now resolves to this machine, with the port of the server: to the browser it is one origin. */
  async rebound(tab: Page, port: number): Promise<Attack> {
    const own = `http://rebound.example:${port}`
    await tab.goto(`${own}/page`)
    return attackFrom(tab, own)
  },
}

async function attackFrom(tab: Page, target: string): Promise<Attack> {
  await tab.waitForFunction('typeof attack === "function"')
  return (attempt) => tab.evaluate(`attack("${target}", "${attempt}")`)
}

/** A server with default options that notes what reaches it. At `/page` it is what the name stood for before. */
async function watched(more: ServeHttpOptions = {}) {
  const { server, ran } = counting()
  const handler = serveHttp(server, { ...options, ...more })
  const tries: string[] = []
  const answers: ServerResponse[] = []
  const http = createServer((request, response) => {
    if (request.url === '/page') {
      response.writeHead(200, html).end(attackPage)
      return
    }
    tries.push(`${request.method} ${request.url}`)
    answers.push(response)
    handler.node(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  if (address === null || typeof address === 'string') throw new Error('It listens on no port')
  const close = async (): Promise<void> => {
    await handler.close()
    http.closeAllConnections()
    http.close()
  }
  /** Requests that were not refused. */
  const taken = (): (string | undefined)[] =>
    tries.filter((_, at) => answers[at]?.headersSent !== true || answers[at].statusCode < 400)
  return { port: address.port, ran, tries, taken, close }
}
