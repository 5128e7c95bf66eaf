import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Model, ServerConfig } from '@jackfield/host'
import { createPeerServer, HostService } from '@jackfield/host/service'
import { serveWeb } from '@jackfield/web'
import { type Browser, chromium, type Page } from 'playwright-core'
import { seedCount, seedLog } from '../packages/web/test/fixtures/seed-log.ts'
import { table } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(
    [
      'npm run bench:web -- [--rounds N] [--only firstPaint|log|library|stream|memory]',
      '',
      'Measures the page of jackfield web in Chromium against its budgets: first paint, the log of 100,000 events, 10,000 resources,',
      'a model that streams beside 200 messages, keys of the message field, and the memory of a tab. Times are medians of the rounds.',
    ].join('\n'),
  )
  process.exit(0)
}

const rounds = Number(values.rounds)
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const node = (file: string, ...args: string[]): ServerConfig => ({
  command: process.execPath,
  args: [at(file), ...args],
})
const messages = 200
const tokensPerSecond = 200
const streamMs = 10_000
const resources = 10_000

/** One row of the table. `isMet` is undefined where there is no budget. */
interface Figure {
  name: string
  value: string
  budget: string
  isMet?: boolean
}

/** A host with its web server, and a tab of a browser that is logged in. */
interface Served {
  service: HostService
  folder: string
  url: string
  page: Page
  close(): Promise<void>
}

async function serve(
  browser: Browser,
  options: { servers?: Record<string, ServerConfig>; model?: Model; seeded?: boolean },
): Promise<Served> {
  const { servers = {}, model, seeded = false } = options
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-bench-'))
  mkdirSync(join(folder, 'workspace'))
  const service = new HostService({
    servers,
    models: model === undefined ? [] : [model],
    rules: [{ id: 'all', verdict: 'allow' }],
    store: join(folder, 'store.db'),
    workspace: join(folder, 'workspace'),
    version: '1',
  })
  const peers = await createPeerServer(service)
  const web = await serveWeb({
    peers,
    apps: service.host.apps,
    file: join(folder, 'web.db'),
    port: 0,
    onWarning: console.warn,
  })
  await service.start()
  if (seeded) seedLog(folder)
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.goto(web.link())
  await page.waitForSelector('main h1, header h1')
  return {
    service,
    folder,
    url: web.url,
    page,
    async close() {
      await context.close()
      await web.close()
      peers.close('the measurement is over')
      await service.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
const median = (numbers: readonly number[]): number => quantile(numbers, 0.5)

function ms(name: string, value: number, most: number, more = ''): Figure {
  return { name, value: `${value.toFixed(1)} ms${more}`, budget: `≤ ${most} ms`, isMet: value <= most }
}

/** From the request of an address to the first paint, and to the first content, without a cache. */
async function firstPaint(browser: Browser): Promise<Figure[]> {
  const served = await serve(browser, {})
  const { page, url } = served
  const session = await page.context().newCDPSession(page)
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  const paints: number[] = []
  const contents: number[] = []
  for (let round = 0; round < rounds * 2; round++) {
    await page.goto(`${url}/inbox`)
    await page.waitForSelector('main h1, header h1')
    const [paint = Number.NaN, content = Number.NaN] = await page.evaluate(() =>
      ['first-paint', 'first-contentful-paint'].map(
        (name) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN,
      ),
    )
    paints.push(paint)
    contents.push(content)
  }
  await served.close()
  const more = `, first content ${median(contents).toFixed(1)} ms`
  return [ms('first paint after the address is opened', median(paints), 500, more)]
}

/** Runs in the page: frames a second and rows drawn, while something is scrolled from end to end. */
async function scrolled(forMs: number): Promise<{ perSecond: number; p95: number; rows: number }> {
  const grid = document.querySelector('[role=grid]')
  if (grid === null) throw new Error('There is no list')
  const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve))
  const first = await frame()
  const gaps: number[] = []
  let rows = 0
  for (let last = first; last - first < forMs; ) {
    // From one end to the other and back, as a wheel and a dragged bar do.
    const share = ((last - first) / forMs) * 2
    const to = share <= 1 ? share : 2 - share
    grid.scrollTop = (grid.scrollHeight - grid.clientHeight) * to
    const now = await frame()
    gaps.push(now - last)
    last = now
    rows = Math.max(rows, grid.querySelectorAll('[data-place]').length)
  }
  gaps.sort((one, other) => one - other)
  const total = gaps.reduce((sum, gap) => sum + gap, 0)
  return { perSecond: (gaps.length * 1_000) / total, p95: gaps[Math.floor(gaps.length * 0.95)] ?? 0, rows }
}

async function log(browser: Browser): Promise<Figure[]> {
  const served = await serve(browser, { seeded: true })
  const { page, url, service } = served
  await page.goto(`${url}/activity`)
  await page.waitForFunction(
    (count) => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount')) >= count,
    seedCount,
  )
  await page.locator('[role=grid] [data-place]').first().waitFor()
  const runs: Awaited<ReturnType<typeof scrolled>>[] = []
  for (let round = 0; round < rounds; round++) runs.push(await page.evaluate(scrolled, 4_000))
  const filters: number[] = []
  const filter = page.getByRole('combobox', { name: 'Filter' })
  for (let round = 0; round < rounds * 2; round++) {
    const text = round % 2 === 0 ? 'server:even status:error' : 'dur:>10'
    const count = (await service.host.trace.ids({ filter: text })).length
    await filter.fill(text)
    await page.evaluate((expected) => {
      const state: { ms?: number } = {}
      Object.assign(window, { state })
      document.addEventListener(
        'keydown',
        ({ timeStamp }) => {
          const look = (): void => {
            const grid = document.querySelector('[role=grid]')
            const isShown =
              grid?.getAttribute('aria-rowcount') === String(expected) &&
              grid.querySelector('[data-place]') !== null &&
              grid.querySelector('[aria-busy=true]') === null
            if (isShown) state.ms = performance.now() - timeStamp
            else requestAnimationFrame(look)
          }
          look()
        },
        { once: true, capture: true },
      )
    }, count)
    await filter.press('Enter')
    filters.push(
      Number(
        await page.waitForFunction(() => Reflect.get(window, 'state').ms).then((shown) => shown.jsonValue()),
      ),
    )
  }
  await served.close()
  const perSecond = median(runs.map((run) => run.perSecond))
  const rows = Math.max(...runs.map((run) => run.rows))
  const name = `scrolling the log of ${seedCount.toLocaleString('en')} events`
  return [
    {
      name,
      value: `${perSecond.toFixed(1)} frames/s, p95 ${median(runs.map(({ p95 }) => p95)).toFixed(1)} ms, ${rows} rows drawn`,
      budget: '≥ 50 frames/s',
      isMet: perSecond >= 50,
    },
    ms('its filter, from Enter to the rows', median(filters), 100),
  ]
}

/** From the click to the frame that shows rows: the screen, and a folder with all resources. */
async function library(browser: Browser): Promise<Figure[]> {
  const file = '../packages/web/test/fixtures/big-library-server.ts'
  const served = await serve(browser, { servers: { big: node(file, String(resources)) } })
  const { page, url } = served
  const screens: number[] = []
  const folders: number[] = []
  const timed = async (act: string, shown: string): Promise<number> =>
    Number(
      await page.evaluate(
        async ([press, selector]) => {
          const start = performance.now()
          const button = document.querySelector(press)
          if (!(button instanceof HTMLElement)) throw new Error(`There is no ${press}`)
          button.click()
          while (document.querySelector(selector) === null) await new Promise(requestAnimationFrame)
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
          return performance.now() - start
        },
        [act, shown] as const,
      ),
    )
  for (let round = 0; round < rounds; round++) {
    await page.goto(`${url}/library`)
    await page.locator('[role=treeitem]').first().waitFor()
    await page.goto(`${url}/inbox`)
    await page.locator('nav a[href="/library"]').first().waitFor()
    screens.push(await timed('nav a[href="/library"]', '[role=treeitem]'))
    folders.push(await openFolder(page))
  }
  await served.close()
  const more = `, of the folder with all of them ${median(folders).toFixed(1)} ms`
  const worst = Math.max(median(screens), median(folders))
  return [
    {
      name: `${resources.toLocaleString('en')} resources to the first paint`,
      value: `${median(screens).toFixed(1)} ms${more}`,
      budget: '≤ 300 ms',
      isMet: worst <= 300,
    },
  ]
}

/** Opens the folders of the tree down to the resources, and gives the time of the last one, which has them all. */
async function openFolder(page: Page): Promise<number> {
  return Number(
    await page.evaluate(async () => {
      const paint = (): Promise<void> =>
        new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      const rowOf = (name: string): HTMLElement | undefined =>
        [...document.querySelectorAll<HTMLElement>('[role=treeitem]')].find((row) =>
          row.textContent?.includes(name),
        )
      let ms = 0
      for (const [name, below] of [
        ['big', 'crm://'],
        ['crm://', 'customers'],
        ['customers', 'customers/00000'],
      ] as const) {
        const start = performance.now()
        rowOf(name)?.click()
        while (rowOf(below) === undefined) await paint()
        ms = performance.now() - start
      }
      return ms
    }),
  )
}

/** A model that streams one word at a time. */
function streamingModel(): Model & { isStreaming: boolean } {
  return {
    id: 'talking',
    isLanguageModel: true,
    contextTokens: 1_000_000,
    isStreaming: false,
    async generate({ onText, signal }) {
      let text = `An answer.\n\n- of **two** parts\n- and \`code\`\n`
      if (this.isStreaming) {
        text = ''
        const start = performance.now()
        for (let n = 0; n < (tokensPerSecond * streamMs) / 1_000; n++) {
          signal?.throwIfAborted()
          const ahead = start + (n * 1_000) / tokensPerSecond - performance.now()
          if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead))
          const word = `word${n}${n % 40 === 39 ? '\n\n' : ' '}`
          text += word
          onText?.(word)
        }
      }
      return { content: [{ type: 'text', text }], stopReason: 'endTurn', model: 'talking' }
    },
  }
}

/** Frames, changes of finished messages, and the time from a key to its character, while a model streams. */
async function stream(browser: Browser): Promise<Figure[]> {
  const model = streamingModel()
  const served = await serve(browser, { model })
  const { page, url, service } = served
  const id = service.conversations.open({ context: false })
  const conversation = service.conversations.get(id)
  for (let n = 0; n < messages / 2; n++) await conversation.say({ text: `Question ${n}` }, 'bench')
  await page.goto(`${url}/chat/${id}`)
  await page.waitForFunction(
    (count) => document.querySelectorAll('[role=log] article').length >= count,
    messages,
  )
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.waitFor()
  await page.waitForTimeout(500)
  const idle = await keys(page, 60)
  model.isStreaming = true
  const turn = conversation.say({ text: 'Go on' }, 'bench')
  await page.getByText('word20 ').first().waitFor({ state: 'attached' })
  await page.evaluate(() => {
    const state = { changes: 0, gaps: [] as number[], longest: 0 }
    Object.assign(window, { state })
    const articles = [...document.querySelectorAll('[role=log] article')].slice(0, -1)
    for (const article of articles)
      new MutationObserver((list) => {
        state.changes += list.length
      }).observe(article, { subtree: true, childList: true, characterData: true, attributes: true })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) state.longest = Math.max(state.longest, duration)
    }).observe({ type: 'longtask' })
    let last = performance.now()
    const frame = (now: number): void => {
      state.gaps.push(now - last)
      last = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
  const busy = await keys(page, 60)
  await turn
  const state: { changes: number; gaps: number[]; longest: number } = JSON.parse(
    String(await page.evaluate(() => JSON.stringify(Reflect.get(window, 'state')))),
  )
  await served.close()
  const p95 = quantile(state.gaps, 0.95)
  return [
    {
      name: `${tokensPerSecond} tokens/s beside ${messages} messages: p95 of the frames`,
      value: `${p95.toFixed(1)} ms, longest task ${state.longest.toFixed(0)} ms`,
      budget: '≤ 20 ms',
      isMet: p95 <= 20,
    },
    {
      name: 'changes of finished messages meanwhile',
      value: String(state.changes),
      budget: '0',
      isMet: state.changes === 0,
    },
    ms(
      'key to character, p95, meanwhile',
      quantile(busy, 0.95),
      50,
      `, idle ${quantile(idle, 0.95).toFixed(1)} ms`,
    ),
  ]
}

/** Milliseconds from each key to the frame that shows its character. */
async function keys(page: Page, count: number): Promise<number[]> {
  await page.getByRole('textbox', { name: 'Message' }).focus()
  await page.evaluate(() => {
    const typed: number[] = []
    Object.assign(window, { typed })
    document.addEventListener('keydown', ({ timeStamp }) => {
      requestAnimationFrame(() => setTimeout(() => typed.push(performance.now() - timeStamp)))
    })
  })
  for (let n = 0; n < count; n++) {
    await page.keyboard.press(String.fromCharCode(97 + (n % 26)))
    await page.waitForTimeout(80)
  }
  await page.waitForFunction((wanted) => Reflect.get(window, 'typed').length >= wanted, count)
  const typed: number[] = JSON.parse(
    String(await page.evaluate(() => JSON.stringify(Reflect.get(window, 'typed')))),
  )
  return typed.slice(0, count)
}

/** Memory of a tab that shows the log while 100,000 events come. */
async function memory(browser: Browser): Promise<Figure[]> {
  const served = await serve(browser, { servers: { events: node('servers/events.ts') } })
  const { page, url, service } = served
  await page.goto(`${url}/activity`)
  await page.locator('[role=grid] [data-place]').first().waitFor()
  const session = await page.context().newCDPSession(page)
  const before = await usedBy(browser, session)
  const parts = 20
  for (let n = 0; n < parts; n++)
    await service.host.call(
      'events__emit',
      { count: seedCount / parts },
      { caller: 'cli', timeoutMs: 120_000 },
    )
  await page.waitForFunction(
    (count) => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount')) >= count,
    seedCount,
    { timeout: 120_000 },
  )
  const after = await usedBy(browser, session)
  await served.close()
  return [
    {
      name: `memory of a tab after ${seedCount.toLocaleString('en')} events that it followed`,
      value: `${after.process.toFixed(0)} MB (before ${before.process.toFixed(0)} MB), heap ${after.heap.toFixed(0)} MB`,
      budget: '≤ 200 MB',
      isMet: after.process <= 200,
    },
  ]
}

/** MB that belong to the process of a tab alone, and of its JavaScript heap. */
async function usedBy(
  browser: Browser,
  session: Awaited<ReturnType<ReturnType<Page['context']>['newCDPSession']>>,
): Promise<{ process: number; heap: number }> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const root = await browser.newBrowserCDPSession()
  const { processInfo } = await root.send('SystemInfo.getProcessInfo')
  await root.detach()
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      const kb = /^Private_Dirty:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))?.[1]
      return Number(kb ?? 0) / 1_000
    })
  return { process: Math.max(...sizes), heap: usedSize / 1_000_000 }
}

if (executablePath === undefined) {
  console.error('Chromium is not installed (apt install chromium).')
  process.exit(1)
}
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer'],
})
const figures: Figure[] = []
for (const [name, measured] of Object.entries({ firstPaint, log, library, stream, memory })) {
  if (values.only !== undefined && values.only !== name) continue
  console.error(`${name} …`)
  const found = await measured(browser)
  for (const { name: what, value } of found) console.error(`  ${what}: ${value}`)
  figures.push(...found)
}
console.log(
  `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 1e9)} GB, node ${process.version}, Chromium ${browser.version()} (headless, drawn by software)\n`,
)
await browser.close()
console.log(
  table(
    ['what', 'measured', 'budget', ''],
    figures.map(({ name, value, budget, isMet }) => [
      name,
      value,
      budget,
      isMet === false ? 'not met' : 'met',
    ]),
  ),
)
process.exitCode = figures.some(({ isMet }) => isMet === false) ? 1 : 0
