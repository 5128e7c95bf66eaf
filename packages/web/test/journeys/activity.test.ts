import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { defineServer, type JsonSchema, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { compileSchema } from '@jackfield/sdk/schema'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { asking, type Reply, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { perTrace, seedCount, seedLog } from '../fixtures/seed-log.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const allow = [{ id: 'all', verdict: 'allow' as const }]
/** Ids of rows that a page asked for, as its socket sent them. */
function askedRows(page: Page): { next(): number } {
  let asked = 0
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const text = String(payload)
      if (!text.includes('"trace.rows"')) return
      asked += JSON.parse(text).params.ids.length
    }),
  )
  return {
    next() {
      const count = asked
      asked = 0
      return count
    },
  }
}

const grid = '[role=grid]'
const drawn = (tab: Tab): Promise<number> => tab.page.locator(`${grid} [data-place]`).count()
const loaded = (tab: Tab): Promise<unknown> =>
  tab.page.waitForFunction(
    () =>
      document.querySelectorAll('[role=grid] [data-place]').length > 0 &&
      document.querySelector('[role=grid] [aria-busy=true]') === null,
  )

const sizes: JsonSchema = { type: 'integer', minimum: -1 }
const pairs: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'value'],
    properties: { name: { type: 'string' }, value: { type: 'string' } },
  },
}
/** HTTP Archive 1.2, as http://www.softwareishard.com/blog/har-12-spec/ requires its members. */
const harSchema: JsonSchema = {
  type: 'object',
  required: ['log'],
  properties: {
    log: {
      type: 'object',
      required: ['version', 'creator', 'entries'],
      properties: {
        version: { const: '1.2' },
        creator: { type: 'object', required: ['name', 'version'] },
        entries: {
          type: 'array',
          items: {
            type: 'object',
            required: ['startedDateTime', 'time', 'request', 'response', 'cache', 'timings'],
            properties: {
              startedDateTime: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' },
              time: { type: 'number', minimum: 0 },
              request: {
                type: 'object',
                required: [
                  'method',
                  'url',
                  'httpVersion',
                  'cookies',
                  'headers',
                  'queryString',
                  'headersSize',
                  'bodySize',
                ],
                properties: { headers: pairs, queryString: pairs, headersSize: sizes, bodySize: sizes },
              },
              response: {
                type: 'object',
                required: [
                  'status',
                  'statusText',
                  'httpVersion',
                  'cookies',
                  'headers',
                  'content',
                  'redirectURL',
                  'headersSize',
                  'bodySize',
                ],
                properties: {
                  headers: pairs,
                  status: { type: 'integer' },
                  content: { type: 'object', required: ['size', 'mimeType'] },
                },
              },
              timings: { type: 'object', required: ['send', 'wait', 'receive'] },
            },
          },
        },
      },
    },
  },
}
/** ExportTraceServiceRequest in its JSON encoding. */
const otlpSchema: JsonSchema = {
  type: 'object',
  required: ['resourceSpans'],
  properties: {
    resourceSpans: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['resource', 'scopeSpans'],
        properties: {
          scopeSpans: {
            type: 'array',
            items: {
              type: 'object',
              required: ['scope', 'spans'],
              properties: {
                spans: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
                    properties: {
                      traceId: { type: 'string', pattern: '^[0-9a-f]{32}$' },
                      spanId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
                      parentSpanId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
                      kind: { enum: [1, 2, 3, 4, 5] },
                      startTimeUnixNano: { type: 'string', pattern: '^\\d+$' },
                      endTimeUnixNano: { type: 'string', pattern: '^\\d+$' },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
}

/** Milliseconds between two flushes of a model's text. */
const flushMs = 33
/** Usual intervals between two flushes of a model's text that an export may take from one of them. */
const maxFlushes = 15

/** Seconds between each time and the one before. */
function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, n) => time - (times[n] ?? time))
}

/** Begins to measure the longest time, in milliseconds, that this thread computes between two turns of its event loop. */
function longestComputation(): () => number {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let [last, longest] = [used(), 0]
  const timer = setInterval(() => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  return () => {
    clearInterval(timer)
    return longest
  }
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

describe.skipIf(missing !== undefined)(
  `the activity log in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 300_000 },
  () => {
    test('100,000 events: scrolled to any, filtered, followed, and the linked row is shown again after a reload', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const { host } = served.service
      seedLog(dirname(served.file))
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      await page.reload()
      const asked = askedRows(page)
      await page.goto(`${served.url}/activity`)
      await loaded(tab)
      const all = (await host.trace.ids()).length
      expect(all).toBeGreaterThan(seedCount)
      await page.getByText(`${all.toLocaleString('en')} of`).waitFor()
      await expect.poll(() => page.locator(grid).getAttribute('aria-rowcount')).toBe(String(all))
      expect(asked.next()).toBeLessThanOrEqual(400)

      for (const share of [0, 0.5, 0.123, 0.9, 1]) {
        await page.locator(grid).evaluate((element, to) => {
          element.scrollTop = (element.scrollHeight - element.clientHeight) * to
        }, share)
        await page.waitForFunction(
          ([to, count]) => {
            const places = [...document.querySelectorAll('[role=grid] [data-place]')].map((row) =>
              Number(row.getAttribute('data-place')),
            )
            const wanted = Math.round(to * (count - 30))
            return Math.min(...places) <= wanted + 30 && Math.max(...places) >= wanted
          },
          [share, all] as const,
        )
        await loaded(tab)
        expect(await drawn(tab)).toBeLessThanOrEqual(60)
        expect(asked.next()).toBeLessThanOrEqual(400)
      }

      const filter = page.getByRole('combobox', { name: 'Filter' })
      await filter.fill('server:even status:error')
      await filter.press('Enter')
      const errors = (await host.trace.ids({ filter: 'server:even status:error' })).length
      await page.waitForFunction(
        (count) => document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') === String(count),
        errors,
      )
      await loaded(tab)
      await page.locator(grid).focus()
      await page.keyboard.press('Home')
      await page.locator(`${grid} [data-place="7"]`).click()
      await page.getByRole('complementary').getByRole('heading', { level: 2 }).waitFor()
      const link = page.url()
      const row = await page.locator(`${grid} [aria-selected=true]`).innerText()
      await tab.check()

      // An invalid filter: the position, and what is expected there.
      await filter.fill('server:even dur:slow')
      await filter.press('Enter')
      await page.getByText('column 17 of the filter').waitFor()
      await tab.check()

      // What happens now comes to the end, while the end is followed.
      await page.goto(`${served.url}/activity?filter=${encodeURIComponent('kind:call')}`)
      await page.locator('[data-act=follow][aria-pressed=true]').waitFor()
      for (let n = 0; n < 5; n++) await host.call('demo__echo', { text: `call ${n}` }, { caller: 'chat' })
      await page.waitForFunction(
        () => document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') === '5',
      )
      await loaded(tab)

      await page.goto(link)
      await page.locator(`${grid} [aria-selected=true]`).waitFor()
      await loaded(tab)
      await expect.poll(() => page.locator(`${grid} [aria-selected=true]`).innerText()).toBe(row)
      // By keys alone: the next row, and back.
      await page.locator(grid).focus()
      await page.keyboard.press('ArrowDown')
      await page.waitForFunction((before) => location.href !== before, link)
      await page.keyboard.press('ArrowUp')
      await page.waitForFunction((before) => location.href === before, link)
      await tab.check()
    })

    test('the newest event stays in view where the list becomes shorter, below a timeline and in another window', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const { host } = served.service
      for (let n = 0; n < 20; n++) await host.call('demo__echo', { text: `call ${n}` }, { caller: 'chat' })
      const tab = await openTab(served, '/activity?view=time')
      await tab.page.locator('main canvas').waitFor()
      await tab.page.getByRole('button', { name: 'Following' }).waitFor()
      const toEnd = (element: HTMLElement | SVGElement): number =>
        element.scrollHeight - element.scrollTop - element.clientHeight
      await expect.poll(() => tab.page.locator(grid).evaluate(toEnd)).toBeLessThan(2)
      await tab.page.setViewportSize({ width: 1440, height: 500 })
      await expect.poll(() => tab.page.locator(grid).evaluate(toEnd)).toBeLessThan(2)
      await tab.check()
    })

    test('a call is repeated, edited and repeated, and a denied one repeated', async () => {
      const served = await serveHost({
        servers: { demo: asking },
        rules: [{ id: 'never', verdict: 'deny', tool: 'slow' }, ...allow],
      })
      const { host } = served.service
      await host.call('demo__echo', { text: 'Oslo' }, { caller: 'chat' })
      await host.call('demo__slow', {}, { caller: 'chat' })
      const calls = (): string[] => host.activity({ kind: 'call' }).map(({ outcome }) => outcome)
      expect(calls()).toEqual(['ok', 'denied'])
      const tab = await openTab(served, `/activity?filter=${encodeURIComponent('kind:call')}`)
      await tab.click('[data-place="0"]')
      await tab.click('[data-act=again]')
      await tab.page.getByText('The same result.').waitFor()
      await tab.click('[data-act=edit-again]')
      await tab.page.getByRole('complementary').getByLabel('text').fill('Bergen')
      await tab.click('[data-act=run-edited]')
      const changed = tab.page.locator('[data-replay]')
      await changed.getByText('1 place of the result is different').waitFor()
      await changed.getByText('/content/0/text').waitFor()
      await expect.poll(() => changed.locator('del').first().innerText()).toContain('Oslo')
      await expect.poll(() => changed.locator('ins').first().innerText()).toContain('Bergen')
      await tab.check()
      await tab.click('[data-place="1"]')
      await tab.click('[data-act=again]')
      await tab.page.getByText('It was denied').waitFor()
      expect(calls()).toEqual(['ok', 'denied', 'ok', 'ok', 'denied'])
      await expect.poll(() => tab.page.getByText('never').first().isVisible()).toBe(true)
      await tab.check()

      // A field whose text is no value bars sending, and is named.
      await host.call('demo__echo', { text: 5 }, { caller: 'chat' })
      await tab.click('[data-place="5"]')
      await tab.click('[data-act=edit-again]')
      const details = tab.page.getByRole('complementary')
      await details.getByLabel('text').fill('Rome')
      const note = details.getByText('Correct /text first.')
      await note.waitFor()
      await details.locator('[data-act=run-edited]').click({ force: true })
      await details.getByLabel('text').press('Enter')
      await tab.check()
      await details.getByLabel('text').fill('"Rome"')
      await note.waitFor({ state: 'detached' })
      await tab.click('[data-act=run-edited]')
      await details.getByText(/places? of the result (?:is|are) different/).waitFor()
      expect(calls()).toEqual(['ok', 'denied', 'ok', 'ok', 'denied', 'error', 'ok'])
    })

    test('a failed call leads from the row to the bytes, and is repeated with one value changed, in four actions', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      await served.service.host.call('demo__echo', { text: 5 }, { caller: 'chat' })
      const tab = await openTab(served, `/activity?filter=${encodeURIComponent('kind:call status:error')}`)
      const details = tab.page.getByRole('complementary')
      await tab.click('[data-place="0"]')
      await tab.click('[data-act=edit-again]')
      // The field of a value that is no text takes JSON.
      await details.getByLabel('text').fill('"Rome"')
      await tab.click('[data-act=run-edited]')
      await details.getByText(/places? of the result (?:is|are) different/).waitFor()
      await tab.click('[aria-label="What it caused"] button:has-text("tools/call echo")')
      // The message as it was sent.
      await details.getByText('jsonrpc').waitFor()
      await details.getByText('"2.0"').waitFor()
      expect(tab.acts).toBe(4)
      expect(served.service.host.activity({ kind: 'call' }).map(({ outcome }) => outcome)).toEqual([
        'error',
        'ok',
      ])
      await tab.check()
    })

    test('100,000 events are exported in three forms while a model streams without a gap; nothing secret is in them', async () => {
      const secret = 'planted-4f1c77-secret'
      const words = Array.from({ length: 20_000 }, (_, n) => `word${n}`).join(' ')
      const replies: Reply[] = [{ say: words, pauseMs: 10 }]
      const { url, close } = await serveHttp(
        defineServer({
          name: 'remote',
          version: '1',
          tools: { repeat: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }) },
        }),
      ).listen({ port: 0 })
      onTestFinished(() => close())
      const served = await serveHost({
        servers: {
          demo: { ...asking, env: { DEMO_API_KEY: secret } },
          remote: { url: `${url}`, headers: { Authorization: `Bearer ${secret}` } },
        },
        rules: allow,
        model: scriptedModel(replies),
      })
      const { host } = served.service
      const spellings = [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)]
      for (const one of ['demo__echo', 'remote__repeat'])
        await host.call(one, { text: `planted: ${spellings.join(' ')}` }, { caller: 'chat' })
      seedLog(dirname(served.file))
      const tab = await openTab(served, '/chat')
      const { page } = tab
      // By the clock of the browser, which continues while the clock of the host is stopped.
      const flushes: number[] = []
      const session = await page.context().newCDPSession(page)
      session.on('Network.webSocketFrameReceived', ({ timestamp, response }) => {
        if (response.payloadData.includes('"partial"')) flushes.push(timestamp)
      })
      await session.send('Network.enable')
      await page.reload()
      const second = await page.context().newPage()
      await second.goto(`${served.url}/activity`)
      await second.locator('[data-place]').first().waitFor()
      await page.getByRole('button', { name: 'New conversation' }).click()
      await page.getByRole('textbox', { name: 'Message' }).fill('Talk')
      await page.keyboard.press('Enter')
      await page.getByText('word9 ').first().waitFor()
      await until(() => flushes.length > 60, 'flushes before an export')
      const usual = median(gapsOf(flushes.slice(10)))

      const texts: Record<string, string> = {}
      for (const format of ['jsonl', 'har', 'otlp']) {
        const longest: number[] = []
        // A busy machine can delay the text as well, but not each time.
        do {
          const before = flushes.length - 1
          const computed = longestComputation()
          await second.locator('[data-act=export]').click()
          const [download] = await Promise.all([
            second.waitForEvent('download', { timeout: 120_000 }),
            second.locator(`[data-format=${format}]`).click(),
          ])
          const path = await download.path()
          const longestMs = computed()
          const count = flushes.length
          await until(() => flushes.length > count, 'a flush after the export')
          const gaps = gapsOf(flushes.slice(before))
          // The host is in this process, which reading a large file would stop.
          texts[format] = readFileSync(path, 'utf8')
          expect(download.suggestedFilename()).toMatch(/^jackfield-.*\.(jsonl|har|otlp\.json)$/)
          expect(gaps.length).toBeGreaterThan(3)
          // By CPU time, which a busy machine does not change: the text never waits for more than a flush.
          expect(longestMs, format).toBeLessThan(flushMs)
          longest.push(Math.max(...gaps) / usual)
        } while (Math.min(...longest) > maxFlushes && longest.length < 3)
        expect(Math.min(...longest), format).toBeLessThan(maxFlushes)
      }
      for (const text of Object.values(texts))
        for (const spelling of spellings) expect(text).not.toContain(spelling)

      const lines = (texts['jsonl'] ?? '').trimEnd().split('\n')
      expect(lines.length).toBeGreaterThan(seedCount)
      const ids = lines.map((line) => Number(JSON.parse(line).id))
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
      // The calls that carry the secret are there, without it.
      const carried = lines.filter((line) => line.includes('planted: '))
      for (const server of ['demo', 'remote'])
        expect(carried.filter((line) => JSON.parse(line).server === server).length).toBeGreaterThan(1)
      const steps = { steps: 100_000_000, trusted: true }
      const har = JSON.parse(texts['har'] ?? '')
      expect(compileSchema(harSchema, steps).check(har)).toBeUndefined()
      const entries: { request: { url: string } }[] = har.log.entries
      const own = entries.filter(({ request }) => request.url === `${url}`)
      expect(entries.length - own.length).toBe(seedCount / perTrace)
      expect(JSON.stringify(own)).toContain('planted: ')
      expect(JSON.stringify(own)).toMatch(/"name":"authorization","value":"[^"]*\[/i)
      const otlp = JSON.parse(texts['otlp'] ?? '')
      expect(compileSchema(otlpSchema, steps).check(otlp)).toBeUndefined()
      const spans: { name: string }[] = otlp.resourceSpans[0].scopeSpans[0].spans
      expect(spans.length).toBeGreaterThan(seedCount / perTrace - 100)
      await tab.check()
    })

    test.each([
      [1440, 'light', 'en'],
      [1024, 'dark', 'zh-CN'],
      [390, 'light', 'zh-CN'],
    ] as const)('every view is accessible at %i px, %s, %s', async (width, colorScheme, locale) => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const { host } = served.service
      for (let n = 0; n < 3; n++) await host.call('demo__echo', { text: `call ${n}` }, { caller: 'chat' })
      const [event] = await host.trace.ids({ filter: 'kind:call' })
      const tab = await openTab(served, '/inbox', { viewport: { width, height: 844 }, colorScheme, locale })
      for (const query of [`view=list&event=${event}`, 'view=tree', 'view=time', 'view=raw', 'view=stats']) {
        await tab.go(`/activity?${query}`)
        await tab.page.waitForSelector('main :is([data-place], table)')
        await tab.check()
      }
      // The number of an activity leads to its event.
      await tab.go(`/activity/${host.activity({ kind: 'call' })[0]?.id}`)
      await tab.page.waitForURL((url) => url.searchParams.get('event') === String(event))
      await tab.check()
    })
  },
)
