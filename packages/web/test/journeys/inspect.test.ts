import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ServerConfig } from '@jackfield/host'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { everything, serveHost } from '../fixtures/harness.ts'
import { missing, openTab, type Tab } from './journey.ts'

const allow = [{ id: 'all', verdict: 'allow' as const }]

/** Serves at an address of this machine until the test is over. */
async function served(server: Parameters<typeof serveHttp>[0]): Promise<string> {
  const { url, close } = await serveHttp(server).listen({ port: 0 })
  onTestFinished(() => close())
  return `${url}`
}

/** One exchange, as it crossed a proxy in front of the server. */
interface Crossed {
  readonly status: number
  readonly request: { readonly headers: IncomingHttpHeaders; readonly body: string }
  readonly response: { readonly headers: IncomingHttpHeaders; body: string }
  /** The client closed it before the response was whole. */
  isCut: boolean
}

/** The texts of its messages so far: the one that was sent first. */
function textsOf({ request, response }: Crossed): string[] {
  return [...messagesIn(request.body), ...messagesIn(response.body)]
}

function methodOf(text: string): unknown {
  return JSON.parse(text).method
}

/** What the HTTP client adds itself: the host does not see it. */
const ofClient = new Set([
  'host',
  'connection',
  'content-length',
  'accept-encoding',
  'accept-language',
  'sec-fetch-mode',
  'user-agent',
])

/** Forwards everything to an address and notes what crosses. */
async function proxyTo(target: string): Promise<{ url: string; crossed: Crossed[] }> {
  const crossed: Crossed[] = []
  const { port, pathname } = new URL(target)
  const proxy = createServer((incoming, outgoing) => {
    const body: Buffer[] = []
    const forward = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, host: `127.0.0.1:${port}` },
      },
      (response) => {
        const entry: Crossed = {
          status: response.statusCode ?? 0,
          request: { headers: incoming.headers, body: Buffer.concat(body).toString() },
          response: { headers: response.headers, body: '' },
          isCut: false,
        }
        crossed.push(entry)
        outgoing.writeHead(response.statusCode ?? 500, response.headers)
        response.on('data', (piece: Buffer) => {
          entry.response.body += piece.toString()
          outgoing.write(piece)
        })
        response.on('end', () => outgoing.end())
        response.on('error', () => outgoing.destroy())
        outgoing.on('close', () => {
          entry.isCut = !outgoing.writableFinished
        })
      },
    )
    forward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forward.destroy())
    incoming.on('data', (piece: Buffer) => {
      body.push(piece)
      forward.write(piece)
    })
    incoming.on('end', () => forward.end())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const { port: own } = proxy.address() as AddressInfo
  return { url: `http://127.0.0.1:${own}${pathname}`, crossed }
}

/** The texts of the JSON-RPC messages of a body: JSON, or the data of server-sent events. */
function messagesIn(text: string): string[] {
  return text.startsWith('{')
    ? [text]
    : text
        .split(/\r?\n\r?\n/)
        .map((event) =>
          event
            .split(/\r?\n/)
            .filter((line) => line.startsWith('data:'))
            .map((line) => line.slice(5).trim())
            .join('\n'),
        )
        .filter((data) => data.startsWith('{'))
}

const settled = (tab: Tab): Promise<void> =>
  tab.page
    .getByText(/^(done|stopped|failed)$/i)
    .first()
    .waitFor()

describe.skipIf(missing !== undefined)(
  `the inspector in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 120_000 },
  () => {
    test('500 tools on 20 servers: the palette leads to a run in three actions, and a link fills arguments and runs nothing', async () => {
      const run = ({ text }: { text: string }): string => `said ${text}`
      const servers: Record<string, ServerConfig> = {}
      for (let n = 1; n <= 20; n++) {
        const tools = Object.fromEntries(
          Array.from({ length: 25 }, (_, at) => [
            `tool_${n}_${at + 1}`,
            tool({
              description: `Tool ${at + 1} of ${n}`,
              input: z.object({ text: z.string().default('hi') }),
              run,
            }),
          ]),
        )
        servers[`server${n}`] = {
          url: await served(defineServer({ name: `server${n}`, version: '1', tools })),
        }
      }
      const host = await serveHost({ servers, rules: allow })
      const calls = (): number => host.service.host.activity({ kind: 'call' }).length
      const tab = await openTab(host, '/servers')
      await tab.page.getByText('20/20').waitFor()
      await tab.press('Control+k')
      await tab.page.getByRole('combobox').fill('tool_17_23')
      await tab.page.getByRole('option', { name: /tool_17_23/ }).waitFor()
      await tab.press('Enter')
      await tab.page.getByRole('heading', { name: 'tool_17_23' }).waitFor()
      await tab.press('Control+Enter')
      await settled(tab)
      expect(tab.acts).toBe(3)
      expect(calls()).toBe(1)
      // The rows of the list that are not in view are not in the document.
      expect(await tab.page.locator('main li a').count()).toBeLessThanOrEqual(40)

      const address = `/inspect/server3/tools/tool_3_9?args=${encodeURIComponent('{"text":"50% of /a&b#c"}')}`
      await tab.page.goto(`${host.url}${address}`)
      await tab.page.getByRole('heading', { name: 'tool_3_9' }).waitFor()
      await expect.poll(() => tab.page.getByLabel('text').inputValue()).toBe('50% of /a&b#c')
      expect(calls()).toBe(1)
      await tab.check()
    })

    test('a call shows progress, logs and its cancellation, as recorded by a proxy', async () => {
      const total = 7
      let gates = Array.from({ length: total + 1 }, () => Promise.withResolvers<void>())
      const url = await served(
        defineServer({
          name: 'slow',
          version: '1',
          tools: {
            count: tool({
              input: z.object({ to: z.int() }),
              async run({ to }, ctx) {
                for (let n = 1; n <= to; n++) {
                  await gates[n - 1]?.promise
                  ctx.progress(n, to, `step ${n}`)
                  ctx.log('warning', { step: n })
                }
                await gates[to]?.promise
                return 'counted'
              },
            }),
          },
        }),
      )
      const proxy = await proxyTo(url)
      const host = await serveHost({ servers: { slow: { url: proxy.url } }, rules: allow })
      const args = encodeURIComponent(JSON.stringify({ to: total }))
      const tab = await openTab(host, `/inspect/slow/tools/count?args=${args}`)
      const call = (): Crossed => {
        const found = proxy.crossed.findLast(({ request }) => request.body.includes('"tools/call"'))
        if (found === undefined) throw new Error('No call crossed the proxy')
        return found
      }
      await tab.click('[data-act=run]')
      // The bar is where the notifications are: after each, at its number.
      for (let n = 1; n <= total; n++) {
        gates[n - 1]?.resolve()
        await tab.page.waitForFunction((at) => document.querySelector('progress')?.value === at, n)
        expect(await tab.page.evaluate(() => document.querySelector('progress')?.max)).toBe(total)
        await tab.page.getByText(`${n}/${total} step ${n} `).waitFor()
        const progress = textsOf(call()).filter((text) => methodOf(text) === 'notifications/progress')
        expect(progress.map((text) => JSON.parse(text).params.progress)).toEqual(
          Array.from({ length: n }, (_, at) => at + 1),
        )
      }
      gates[total]?.resolve()
      await settled(tab)

      await tab.page.getByRole('button', { name: /^Messages/ }).click()
      const rows = tab.page.locator('main ol details')
      const expected = textsOf(call())
      // The call and its response, and a progress and a log notification for each step.
      expect(expected.map(methodOf).toSorted()).toEqual(
        [
          'tools/call',
          undefined,
          ...Array<string>(total).fill('notifications/progress'),
          ...Array<string>(total).fill('notifications/message'),
        ].toSorted(),
      )
      await tab.page.waitForFunction(
        (count) => document.querySelectorAll('main ol details').length >= count,
        expected.length,
      )
      await expect.poll(() => rows.count()).toBe(expected.length)
      for (const [n, text] of expected.entries()) {
        const row = rows.nth(n)
        await row.locator('summary').click()
        await row.getByRole('button', { name: 'JSON' }).click()
        // The same members in the same order, and as many bytes.
        const shown: unknown = JSON.parse(await row.locator('pre').innerText())
        expect(JSON.stringify(shown)).toBe(text)
        await expect
          .poll(() => row.locator('summary').innerText())
          .toContain(`${Buffer.byteLength(text).toLocaleString('en')} B`)
        await row.locator('summary').click()
      }
      await tab.page.getByRole('button', { name: /^HTTP/ }).click()
      await tab.page.getByText(`POST ${proxy.url}`).waitFor()
      const { request, response, status } = call()
      const block = tab.page.locator('main div', { has: tab.page.getByText(`POST ${proxy.url}`) }).last()
      const head = await block.locator('header').first().innerText()
      expect(head).toContain(String(status))
      expect(head).toContain(`${Buffer.byteLength(request.body).toLocaleString('en')} B`)
      for (const [title, headers] of [
        ['Request headers', request.headers],
        ['Response headers', response.headers],
      ] as const) {
        const cells = await block
          .getByRole('table', { name: title })
          .locator('tr')
          .evaluateAll((found) => found.map((row) => [...row.children].map((cell) => cell.textContent ?? '')))
        const crossed = Object.entries(headers).filter(
          ([name]) => title === 'Response headers' || !ofClient.has(name),
        )
        expect(Object.fromEntries(cells.filter(([name = '']) => !ofClient.has(name)))).toEqual(
          Object.fromEntries(crossed.filter(([name]) => !ofClient.has(name))),
        )
      }
      await tab.check()

      // The bar of the next run begins anew; stopping it reaches the server, and the cut exchange is shown.
      gates = Array.from({ length: total + 1 }, () => Promise.withResolvers<void>())
      onTestFinished(() => {
        for (const { resolve } of gates) resolve()
      })
      const before = call()
      for (const { resolve } of gates.slice(0, 3)) resolve()
      await tab.click('[data-act=run]')
      await tab.page.waitForFunction(() => document.querySelector('progress')?.value === 3)
      await tab.click('[data-act=stop]')
      await tab.page.getByText('stopped').waitFor()
      await expect.poll(() => proxy.crossed.filter(({ isCut }) => isCut)).toEqual([call()])
      expect(call()).not.toBe(before)
      await tab.check()
    })

    test('a form by schema has nested values, defaults, choices, and errors at their fields', async () => {
      let got: unknown
      const url = await served(
        defineServer({
          name: 'forms',
          version: '1',
          tools: {
            plan: tool({
              input: z.object({
                trip: z.object({ from: z.string(), stops: z.array(z.string()).optional() }),
                people: z.int().min(1).max(9),
                class: z.enum(['economy', 'first']).default('economy'),
                flexible: z.boolean().optional(),
              }),
              output: z.object({ price: z.number() }),
              run: (given) => {
                got = given
                return { price: given.people * 100 }
              },
            }),
          },
        }),
      )
      const host = await serveHost({ servers: { forms: { url } }, rules: allow })
      const tab = await openTab(host, '/inspect/forms/tools/plan')
      await tab.page.getByLabel('from').fill('Oslo')
      await tab.page.getByRole('button', { name: 'Add an item' }).click()
      await tab.page.getByLabel(/^0/).fill('Paris')
      await tab.page.getByLabel('people').fill('40')
      await tab.page
        .getByText(/<= 9|at most 9|maximum|9/)
        .first()
        .waitFor()
      await tab.page.getByLabel('people').fill('4')
      await tab.page.getByLabel('class').selectOption({ label: 'first' })
      await tab.page.getByLabel('flexible').selectOption({ label: 'Yes' })
      await tab.check()
      await tab.page.getByRole('button', { name: 'JSON' }).click()
      await tab.page.getByRole('textbox', { name: 'Arguments as JSON' }).waitFor()
      await tab.check()
      await tab.press('Control+Enter')
      await settled(tab)
      expect(got).toEqual({
        trip: { from: 'Oslo', stops: ['Paris'] },
        people: 4,
        class: 'first',
        flexible: true,
      })
      await tab.page.getByText('matches the output schema').waitFor()
      // Again with one value changed: the difference is named by its place.
      await tab.page.getByRole('button', { name: 'Form' }).click()
      await tab.page.getByLabel('people').fill('5')
      await tab.press('Control+Enter')
      await tab.page.getByText(/differ from the run before/).click()
      await tab.page.getByText('/structuredContent/price').waitFor()
      await tab.check()
    })

    test('structured content that does not match is shown with the position of the error; invalid definitions with the reason', async () => {
      const answers: Record<string, (params: unknown) => object> = {
        'tools/list': () => ({
          tools: [
            {
              name: 'measure',
              inputSchema: { type: 'object' },
              outputSchema: { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] },
            },
            { name: 'broken', inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } } },
          ],
        }),
        'tools/call': () => ({ content: [], structuredContent: { size: 'large' } }),
      }
      const faulty = createServer((incoming, outgoing) => {
        let body = ''
        incoming.on('data', (piece: Buffer) => {
          body += piece.toString()
        })
        incoming.on('end', () => {
          const message = body === '' ? {} : JSON.parse(body)
          const own = answers[message.method]
          const reply = (result: object): void => {
            outgoing.writeHead(200, { 'Content-Type': 'application/json' })
            outgoing.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
          }
          if (own !== undefined) reply(own(message.params))
          else if (message.method === 'initialize')
            reply({
              protocolVersion: '2025-11-25',
              capabilities: { tools: {} },
              serverInfo: { name: 'faulty', version: '1' },
            })
          else if (message.id === undefined) outgoing.writeHead(incoming.method === 'POST' ? 202 : 405).end()
          else {
            outgoing.writeHead(200, { 'Content-Type': 'application/json' })
            outgoing.end(
              JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'unknown' } }),
            )
          }
        })
      })
      await new Promise<void>((resolve) => faulty.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        faulty.closeAllConnections()
        faulty.close()
      })
      const { port } = faulty.address() as AddressInfo
      const host = await serveHost({
        servers: { faulty: { url: `http://127.0.0.1:${port}/mcp` } },
        rules: allow,
      })
      const tab = await openTab(host, '/inspect/faulty/tools/measure')
      await tab.click('[data-act=run]')
      await tab.page.getByText('1 fault by the output schema').waitFor()
      await tab.page.getByText('/size', { exact: true }).waitFor()
      await tab.check()
      await tab.go('/inspect/faulty')
      await tab.page.getByRole('heading', { name: 'Problems' }).waitFor()
      await tab.page
        .getByText(/nowhere/)
        .first()
        .waitFor()
      await tab.check()
    })

    test('a resource is watched and read again when it changes; completion, prompts, images and the server page', async () => {
      const host = await serveHost({ servers: { everything }, rules: allow })
      const { service } = host
      const tab = await openTab(host, '/inspect/everything')
      await tab.page
        .getByRole('heading', { name: /Everything/ })
        .first()
        .waitFor()
      await tab.click('[data-act=ping]')
      await tab.page.getByText(/\d ms/).first().waitFor()
      await tab.check()

      await tab.go('/inspect/everything/prompts/completable-prompt')
      await tab.page.getByLabel('department').fill('E')
      await tab.page.getByRole('listbox').getByRole('option').first().waitFor()
      await tab.press('ArrowDown')
      await tab.press('Enter')
      await expect.poll(() => tab.page.getByLabel('department').inputValue()).toMatch(/^E\w+/)
      await tab.page.getByLabel('name').fill('Ada')
      await tab.press('Control+Enter')
      await settled(tab)
      await tab.check()

      await tab.go('/inspect/everything/tools/get-tiny-image')
      await tab.click('[data-act=run]')
      await tab.page.getByRole('img', { name: /Image/ }).waitFor()
      await tab.page.getByRole('button', { name: 'Bytes' }).click()
      await tab.page.getByText('000000  89 50 4e 47').waitFor()
      await tab.check()

      const uri = plainUri(service.host.resources()[0]?.resource.uri)
      await tab.go(`/inspect/everything/resources/${encodeURIComponent(uri)}`)
      await tab.click('[data-act=run]')
      await settled(tab)
      await tab.click('[data-act=watch]')
      await tab.page.getByText('No change yet').waitFor()
      await tab.check()
      expect(service.host.activity({ kind: 'read' })).toHaveLength(1)
    })

    test.each([
      [1440, 'dark', 'en'],
      [1024, 'light', 'zh-CN'],
      [390, 'dark', 'zh-CN'],
    ] as const)(
      'the inspector is accessible at %i px, %s, %s, before and after a run',
      async (width, colorScheme, locale) => {
        const host = await serveHost({ servers: { everything }, rules: allow })
        const tab = await openTab(host, '/inbox', { viewport: { width, height: 844 }, colorScheme, locale })
        for (const path of [
          '/inspect/everything/server',
          '/inspect/everything/prompts',
          '/inspect/everything/templates',
          '/inspect/everything/tasks',
          '/inspect/everything/tools/get-structured-content',
          '/inspect/everything/prompts/args-prompt',
        ]) {
          await tab.go(path)
          await tab.page.waitForSelector('main nav a', { state: 'attached' })
          await tab.check()
        }
        await tab.go('/inspect/everything/tools/echo?args=%7B%22message%22%3A%22hi%22%7D')
        await tab.click('[data-act=run]')
        await tab.page.waitForSelector('main a[href^="/activity/"]')
        await tab.check()
      },
    )
  },
)

function plainUri(uri: string | undefined): string {
  if (uri === undefined) throw new Error('The server lists no resource')
  return uri
}
