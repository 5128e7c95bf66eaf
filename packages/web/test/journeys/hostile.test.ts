import type { InboxItem } from '@jackfield/host'
import { defineServer, prompt, resource, ToolError, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { app, shownIn, ui } from '@jackfield/sdk/extensions/ui'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { registry, weather } from '../../../host/test/registry/stand-in.ts'
import { serveConfigured } from '../fixtures/configured.ts'
import { asking, hostile, type Served, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { hostileTexts, tagged } from '../fixtures/hostile-texts.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const batchSize = 20
/** `npm test` shows every twentieth text, the long mode all. */
const batches: readonly (readonly string[])[] =
  process.env['JACKFIELD_LONG'] === '1'
    ? Array.from({ length: hostileTexts.length / batchSize }, (_, n) =>
        hostileTexts.slice(n * batchSize, (n + 1) * batchSize),
      )
    : [hostileTexts.filter((_, n) => n % 21 === 0).slice(0, batchSize)]
/** Places: a kind of text on a screen. */
const placesAtLeast = 80
/** Kinds of texts. */
const kindsAtLeast = 50

/** What a look at the page found. */
interface Look {
  /** The names of the texts that are shown. */
  readonly shown: readonly string[]
  readonly faults: readonly string[]
}

/** Runs in the page: where hostile texts are shown, and what is wrong there. */
function look(): Look {
  const shown = new Set<string>()
  const faults = new Set<string>()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
  const unseen = /[\u0000-\u0008\u000e-\u001f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\u{e0041}/u
  // Three spaces in the widest font.
  const hanging = 24
  const add = (text: string): boolean => {
    const found = [...text.matchAll(/⟦([\w.]+)⟧/g)]
    for (const [, name = ''] of found) shown.add(name)
    return found.length > 0
  }
  const describe = (element: Element): string =>
    `${element.closest('[class]')?.outerHTML.slice(0, 160)} in ${element.closest('section,aside,main,header,dialog')?.getAttribute('aria-label')}`
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    const text = node.nodeValue ?? ''
    if (element === null || element.closest('script, style') !== null) continue
    const isControl = element.closest('textarea, option, .cm-editor') !== null
    if (unseen.test(text) && element.closest('textarea, .cm-editor') === null)
      faults.add(`an unseen character: ${describe(element)}`)
    if (!add(text) || isControl) continue
    // A text of others is isolated from those of the host, and no button of a decision shows one.
    const own = element.closest('bdi')
    if (own === null && getComputedStyle(element).unicodeBidi !== 'isolate')
      faults.add(`not isolated: ${describe(element)}`)
    if (element.closest('footer, [data-armed], nav[aria-label="Screens"]') !== null)
      faults.add(`where the host speaks: ${describe(element)}`)
    // It stays within what it is drawn in. Spaces at the end of a line hang over.
    let slot: Element | null = own ?? element
    const { left, right } = slot.getBoundingClientRect()
    if (right <= left) continue
    while (slot !== null && getComputedStyle(slot).display.startsWith('inline')) slot = slot.parentElement
    const around = slot?.getBoundingClientRect()
    const isClipped = slot !== null && getComputedStyle(slot).overflowX !== 'visible'
    if (
      around !== undefined &&
      !isClipped &&
      (right > around.right + hanging || left < around.left - hanging)
    )
      faults.add(`leaves its slot by ${Math.round(right - around.right)} px: ${describe(element)}`)
  }
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name !== 'value' && name !== 'style' && unseen.test(value))
        faults.add(
          `U+${unseen.exec(value)?.[0].codePointAt(0)?.toString(16)} in ${name}: ${describe(element)}`,
        )
      if (/^(on|srcdoc|formaction|ping)/.test(name)) faults.add(`${name}: ${describe(element)}`)
      if (
        ['href', 'src', 'action', 'data'].includes(name) &&
        /^\s*(javascript|vbscript|data:text)/i.test(value)
      )
        faults.add(`${name}=${value.slice(0, 40)}`)
      if (['src', 'action'].includes(name) && value.includes('evil.example')) faults.add(`${name}=${value}`)
    }
    if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) add(element.value)
    // Icons are the only pictures that are drawn by the page.
    if (
      ['SCRIPT', 'STYLE', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'FORM'].includes(element.tagName) &&
      element.closest('bdi, main pre') !== null
    )
      faults.add(`an element: ${describe(element)}`)
  }
  if (document.querySelector('main iframe, main object, main script, main style') !== null)
    faults.add('an element that loads something')
  if (Reflect.get(globalThis, 'ran') !== undefined) faults.add('a script ran')
  const { scrollWidth } = document.documentElement
  if (scrollWidth > innerWidth) faults.add(`the page is ${scrollWidth - innerWidth} px too wide`)
  return { shown: [...shown], faults: [...faults] }
}

describe.skipIf(missing !== undefined)(
  `hostile texts in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 180_000 },
  () => {
    test.each(batches.map((texts, n) => ({ texts, name: `batch ${n + 1} of ${batches.length}` })))(
      `hostile texts are nothing but texts in each of ${placesAtLeast} places: $name`,
      async ({ texts }) => {
        const places = await showEverywhere(texts)
        expect(new Set([...places].map((place) => place.split(' ').at(-1))).size).toBeGreaterThanOrEqual(
          kindsAtLeast,
        )
        expect(places.size).toBeGreaterThanOrEqual(placesAtLeast)
      },
    )

    test('a word of 1 MB stays in its box, wherever a server, a model or a caller can put one', async () => {
      // The dock shows some of them beside other questions, too.
      expect([...(await showBigWords())]).toEqual(expect.arrayContaining([...bigPlaces]))
    })

    test.each(batches.map((texts, n) => ({ texts, name: `batch ${n + 1} of ${batches.length}` })))(
      'hostile texts of files, a registry, an app and tasks are nothing but texts: $name',
      async ({ texts }) => {
        const places = await showConfigured(texts)
        expect([...new Set([...places].map((place) => place.split(' ').at(-1)))].sort()).toEqual(
          configuredKinds,
        )
      },
    )
  },
)

/** Shows texts in every field of servers, models and callers, and returns the kinds of text on each screen. */
async function showEverywhere(texts: readonly string[]): Promise<ReadonlySet<string>> {
  const all = texts.join('\n\n')
  const args = Object.fromEntries(
    texts.map((text) => [tagged('argument.key', text), tagged('argument.value', text)]),
  )
  const callOf = (name: string): { name: string; arguments: Record<string, unknown> } => ({
    name,
    arguments: name === 'demo__echo' ? { text: 'x', ...args } : {},
  })
  const served = await serveHost({
    servers: { hostile: hostile(texts), demo: asking },
    rules: [
      { id: 'echo', verdict: 'ask', tool: 'echo', scope: 'always' },
      { id: 'look', verdict: 'ask', tool: 't1', gate: 'result' },
      { id: 'rest', verdict: 'allow' },
    ],
    model: scriptedModel([
      { say: tagged('sampled', all) },
      { say: `⟦model.text⟧\n\n${all}`, call: [callOf('hostile__many'), callOf('hostile__fails')] },
      { say: texts.map((text) => tagged('model.inline', text)).join(' ') },
    ]),
  })
  const { host } = served.service
  await until(() => host.connections.get('hostile')?.state === 'ready', 'the server')
  const tab = await openTab(served, '/servers', { viewport: { width: 1440, height: 2_000 } })
  const { page } = tab
  const { places, show } = viewer(tab)
  const visit = async (path: string, selector = 'main'): Promise<void> => {
    await tab.go(path)
    await page.locator(selector).first().waitFor()
    if (!path.startsWith('/servers')) await page.locator('main', { hasText: '⟦' }).waitFor()
    await show(path.replace(/\d+/g, 'n'))
  }

  // What hides characters is out of use until the person accepts it.
  for (const { id } of host.inbox.list()) {
    await tab.go(`/inbox/${id}`)
    await page.locator(`[data-card="${id}"]`).waitFor()
    await show('/inbox drift')
    host.inbox.answer(id, { verdict: 'accept' }, 'test')
  }
  await until(() => host.tools().some(({ tool }) => tool.name === 'many'), 'the tools')
  await visit('/servers')
  await visit('/servers/hostile')
  for (const kind of ['tools', 'prompts', 'resources', 'templates', 'server'])
    await visit(`/inspect/hostile/${kind}`)
  await visit('/inspect/hostile/tools/t0')
  for (const name of ['many', 'fails', 'breaks', 'reports', 'structured']) {
    await tab.go(`/inspect/hostile/tools/${name}`)
    await page.getByRole('heading', { name, exact: true }).waitFor()
    await page.locator('[data-act=run]').waitFor()
    if (name === 'many') await show('/inspect/form')
    // The defaults of the form are no arguments that a server takes.
    await tab.go(`/inspect/hostile/tools/${name}?args=%7B%7D`)
    await page.click('[data-act=run]')
    await page.getByText(/activity #\d+/).waitFor()
    await show(`/inspect/result/${name}`)
    await page.getByRole('button', { name: /^Messages/ }).click()
    for (const row of (await page.locator('main ol details summary').all()).slice(0, 6)) await row.click()
    await show(`/inspect/messages/${name}`)
  }
  await tab.go('/inspect/hostile/prompts/p0?args=%7B%22a%22%3A%22x%22%7D')
  await page.click('[data-act=run]')
  await page.getByText('⟦prompt.message⟧').first().waitFor()
  await show('/inspect/prompt')
  await tab.go(`/inspect/hostile/resources/${encodeURIComponent('hostile://r/1')}`)
  await page.locator('[data-act=run]').click()
  await page.getByText('⟦resource.text⟧').first().waitFor()
  await show('/inspect/resource')
  await tab.go('/library')
  await page.locator('main input[type=text]').first().fill('hostile')
  await page.locator('main', { hasText: '⟦' }).waitFor()
  await show('/library')
  await visit(`/library/hostile/${encodeURIComponent('hostile://r/0')}`)
  await tab.go('/library?in=prompts&prompt=hostile.p0')
  const field = page.getByRole('combobox').or(page.getByRole('textbox')).last()
  await field.fill('x')
  await show('/library prompt')
  await field.press('Enter')
  await page.getByText('⟦prompt.message⟧').first().waitFor()
  await show('/library prompt messages')
  await tab.go(`/library/hostile/${encodeURIComponent('hostile://t0/{a}')}`)
  await page.locator('main', { hasText: '⟦template' }).waitFor()
  await show('/library template')
  await showQuestions(served, tab, texts, args, show)

  await tab.go('/chat')
  await page.getByRole('button', { name: 'New conversation' }).click()
  const composer = page.getByRole('textbox', { name: 'Message' })
  for (const sign of ['/', '@', '#']) {
    await composer.fill(`${sign}hostile`)
    await page.getByRole('option').first().waitFor()
    await show(`/chat suggests ${sign}`)
  }
  await composer.fill(tagged('person', all))
  await page.keyboard.press('Control+Enter')
  await page.getByText('⟦model.inline⟧').first().waitFor()
  await page.locator('[data-act=stop]').waitFor({ state: 'detached' })
  for (const summary of await page.getByRole('log').locator('summary').all()) await summary.click()
  await show('/chat')
  // The failed calls, since the end of the log has none of the texts.
  await visit('/activity?view=list&filter=status%3Aerror', '[data-place]')
  await visit('/activity?view=raw', '[data-place]')
  for (const view of ['tree', 'time', 'stats']) {
    await tab.go(`/activity?view=${view}`)
    await page.locator('main :is([data-place], table)').first().waitFor()
    await show(`/activity ${view}`)
  }
  for (const kind of ['stderr', 'sampling', 'prompt', 'read']) {
    await tab.go(`/activity?view=list&filter=kind%3A${kind}`)
    await page.locator('[data-place]').first().click()
    await page.getByRole('complementary').getByRole('heading', { level: 2 }).waitFor()
    await show(`/activity ${kind}`)
  }
  const calls = host.activity({ kind: 'call' })
  for (const tool of ['many', 'breaks', 'echo']) {
    const row = calls.find(({ detail }) => detail['tool'] === tool)
    if (row !== undefined) await visit(`/activity/${row.id}`, '[data-place], main h2')
  }
  await tab.go('/servers')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('hostile')
  await page.getByRole('option').first().waitFor()
  await show('/palette')
  await page.keyboard.press('Escape')
  await tab.check()
  await page.context().close()
  await host.close()
  return places
}

/** Every kind of question whose texts are a server's, in the inbox and beside another screen. */
async function showQuestions(
  served: Served,
  tab: Tab,
  texts: readonly string[],
  args: Readonly<Record<string, string>>,
  show: (screen: string) => Promise<void>,
): Promise<void> {
  const { host } = served.service
  const params = (name: string): Record<string, unknown> =>
    name === 'form'
      ? {
          message: tagged('form.message', texts.join('\n')),
          requestedSchema: {
            type: 'object',
            properties: Object.fromEntries(
              texts.map((text, n) => [
                `f${n}`,
                {
                  type: 'string',
                  title: tagged('form.title', text),
                  description: tagged('form.description', text),
                  ...(n % 3 === 0
                    ? { enum: texts.map((one) => tagged('form.enum', one)).slice(0, n === 0 ? 5 : 20) }
                    : { default: tagged('form.default', text) }),
                },
              ]),
            ),
          },
        }
      : name === 'page'
        ? {
            mode: 'url',
            elicitationId: 'u',
            message: tagged('page.message', texts.join('\n')),
            // Cut within no code of a character.
            url: `https://evil.example/${encodeURIComponent(texts.join(''))}`
              .slice(0, 2_000)
              .replace(/%.?$/, ''),
          }
        : {
            systemPrompt: tagged('sampling.system', texts.join('\n')),
            messages: texts.map((text) => ({
              role: 'user',
              content: { type: 'text', text: tagged('sampling.message', text) },
            })),
            modelPreferences: { hints: texts.map((text) => ({ name: tagged('sampling.hint', text) })) },
            stopSequences: texts.map((text) => tagged('sampling.stop', text)),
            maxTokens: 1_000,
          }
  const start = (tool: string, given: unknown): void =>
    void served.service.startRun(
      { kind: 'call', tool: `demo__${tool}`, arguments: { params: given } },
      { by: 'test', asks: true },
    )
  const chat = { caller: 'chat', conversation: 'talk' } as const
  void host.call('demo__echo', { text: 'x', ...args }, chat).catch(() => undefined)
  void host.call('hostile__t1', {}, chat).catch(() => undefined)
  start('ask', params('form'))
  start('ask', params('page'))
  start('sample', params('sample'))
  const questions = (): InboxItem[] => host.inbox.list()
  await until(() => questions().length >= 5, 'the questions')
  for (const { id, question } of questions()) {
    await tab.go(`/inbox/${id}`)
    await tab.page.locator(`[data-card="${id}"]`).waitFor()
    await show(`/inbox ${question.kind}`)
  }
  await tab.go('/servers')
  await show('/servers with questions beside it')
  const request = questions().find(({ question }) => question.kind === 'sampling-request')?.id ?? ''
  host.inbox.answer(request, { verdict: 'allow' }, 'test')
  const result = (): InboxItem | undefined =>
    questions().find(({ question }) => question.kind === 'sampling-result')
  await until(() => result() !== undefined, 'the answer of the model')
  await tab.go(`/inbox/${result()?.id}`)
  await tab.page.locator(`[data-card="${result()?.id}"]`).waitFor()
  await show('/inbox sampling-result')
  host.inbox.answer(result()?.id ?? '', { verdict: 'deny' }, 'test')
  for (const { id, question } of questions())
    if (question.kind === 'approval' || question.kind === 'result')
      host.inbox.answer(id, { verdict: 'allow' }, 'test')
    else if (question.kind === 'elicitation') host.inbox.answer(id, { action: 'decline' }, 'test')
}

/** Looks at screens in two widths, and collects the places where texts are shown. */
function viewer({ page }: Tab): { places: Set<string>; show: (screen: string) => Promise<void> } {
  const places = new Set<string>()
  return {
    places,
    async show(screen) {
      await page.waitForFunction(() => document.querySelector('main [aria-busy=true]') === null)
      await page.evaluate(
        () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))),
      )
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 2_000 })
        const { shown, faults } = await page.evaluate(look)
        expect([screen, width, faults]).toEqual([screen, width, []])
        for (const name of shown) places.add(`${screen} ${name}`)
      }
      await page.setViewportSize({ width: 1440, height: 2_000 })
    },
  }
}

/** The kinds of texts that `showConfigured` shows. */
const configuredKinds = [
  'app.context',
  'app.download',
  'app.file',
  'app.message',
  'app.title',
  'argv',
  'env.value',
  'input.description',
  'problem',
  'registry.description',
  'registry.title',
  'registry.variable',
  'rule.tool',
  'rule.value',
  'task.message',
]

/** Shows texts of configuration files, a registry, an app and tasks, and gives the places. */
async function showConfigured(texts: readonly string[]): Promise<ReadonlySet<string>> {
  const some = texts.join(' ').slice(0, 1_000)
  const published = texts.map((text, n) => ({
    ...weather,
    name: `io.github.ann/hostile${n}`,
    title: tagged('registry.title', text).slice(0, 100),
    description: tagged('registry.description', text),
    packages: [
      {
        registryType: 'npm',
        identifier: '@ann/weather',
        version: '1.4.0',
        transport: { type: 'stdio' },
        environmentVariables: [
          { name: 'WEATHER_TOKEN', description: tagged('registry.variable', text), isRequired: true },
        ],
      },
    ],
  }))
  const { url: registryUrl } = await registry(published)
  const page = app({
    uri: 'ui://hostile/page',
    title: tagged('app.title', some),
    html: '<!doctype html><title>App</title><p>App</p>',
  })
  const gate = Promise.withResolvers<void>()
  const { url, close } = await serveHttp(
    defineServer({
      name: 'works',
      version: '1.0.0',
      extensions: [tasks({ pollIntervalMs: 200 }), ui({ page })],
      tools: {
        show: tool({ meta: shownIn(page), input: z.object({}), run: () => 'Shown.' }),
        work: tool({
          task: 'required',
          input: z.object({ n: z.number() }),
          async run({ n }, ctx) {
            ctx.progress(1, 2, tagged('task.message', texts[n] ?? ''))
            await gate.promise
            return 'done'
          },
        }),
      },
    }),
    { keys: ['k'.repeat(32)] },
  ).listen({ port: 0 })
  onTestFinished(async () => {
    gate.resolve()
    await close()
  })
  // No variable of the configuration, and no end of a C string.
  const plain = texts.map((text) => text.replaceAll('\u0000', '').replaceAll('\u0024{', '\u0024 {'))
  const argv = plain.map((text) => tagged('argv', text))
  const env = Object.fromEntries(plain.map((text, n) => [`V${n}`, tagged('env.value', text)]))
  const rules = texts.map((text) => ({
    verdict: 'ask',
    tool: tagged('rule.tool', text),
    arguments: [{ at: '/x', equals: tagged('rule.value', text) }],
  }))
  const needing = { command: process.execPath, args: ['-e', ''], env: { KEY: `\${input:key}` } }
  const own = {
    inputs: [{ id: 'key', type: 'promptString', description: tagged('input.description', some) }],
    mcpServers: {
      works: { url },
      needing,
      wrong: { command: tagged('problem', some), [tagged('problem', some)]: 1 },
    },
    jackfield: { rules: [...rules, { verdict: 'allow' }] },
  }
  const here = { command: process.execPath, args: ['-e', '', ...argv], env }
  const served = await serveConfigured(JSON.stringify(own), {
    project: JSON.stringify({ mcpServers: { here } }),
    registry: registryUrl,
    startProjectServers: false,
  })
  const { host } = served.service
  const tab = await openTab(served, '/servers', { viewport: { width: 1440, height: 2_000 } })
  const { places, show } = viewer(tab)
  const ask = async (kind: string, what = ''): Promise<void> => {
    const item = (): InboxItem | undefined => host.inbox.list().find(({ question }) => question.kind === kind)
    await until(() => item() !== undefined, `a question: ${kind} ${what}`)
    const id = item()?.id ?? ''
    await tab.go(`/inbox/${id}`)
    await tab.page.locator(`[data-card="${id}"]`).waitFor()
    await show(`/inbox ${kind}`)
    if (kind === 'app' && what === '') host.inbox.answer(id, { verdict: 'allow' }, 'test')
    else host.inbox.answer(id, { verdict: 'deny' }, 'test')
    await until(() => host.inbox.get(id)?.state !== 'open', 'the answer')
  }
  await ask('start')
  // Some of the texts hide characters: the host disables what they describe until a person accepts it.
  await until(() => host.tools().some(({ server }) => server === 'works'), 'the tools of the app')
  if (host.trust.server('works').items.length > 0) host.trust.accept('works')
  const opening = host.apps.open('works__show', { conversation: 'talk' })
  await ask('app')
  const { id: opened } = await opening
  const encoded = encodeURIComponent(tagged('app.link', some))
  const wishes: [method: string, params: Record<string, unknown>][] = [
    ['ui/open-link', { url: `https://evil.example/?${encoded}` }],
    ['ui/message', { role: 'user', content: [{ type: 'text', text: tagged('app.message', some) }] }],
    ['ui/update-model-context', { content: [{ type: 'text', text: tagged('app.context', some) }] }],
    [
      'ui/download-file',
      {
        contents: [
          {
            type: 'resource',
            resource: {
              uri: `file:///${encodeURIComponent(tagged('app.file', some.slice(0, 20)))}`,
              mimeType: 'text/html',
              text: tagged('app.download', some),
            },
          },
        ],
      },
    ],
  ]
  for (const [method, params] of wishes) {
    void host.apps.request(opened, { method, params }, { say() {} }).catch(() => undefined)
    await ask('app', method)
  }
  for (const [n] of texts.slice(0, 5).entries())
    void host.call('works__work', { n }, { caller: 'person', typed: true }).catch(() => undefined)
  await tab.go('/tasks')
  await tab.page.locator('[data-task]', { hasText: '⟦' }).first().waitFor()
  await show('/tasks')
  for (const path of [
    '/servers/here',
    '/servers/wrong',
    ...['servers', 'registry', 'secrets', 'config', 'folders', 'surfaces'].map((part) => `/settings/${part}`),
    ...['rules', 'given', 'explain', 'try'].map((part) => `/permissions/${part}`),
  ]) {
    await tab.go(path)
    await tab.page.waitForSelector('main :is(h2, li, input, button)', { state: 'attached' })
    await show(path)
  }
  await tab.go('/settings/registry')
  await tab.page.getByLabel('Search the registry').fill('hostile')
  await tab.page.keyboard.press('Enter')
  await tab.page.getByText('⟦registry.description⟧').first().waitFor()
  await show('/settings/registry found')
  await tab.page.getByText('⟦registry.title⟧').first().click()
  await tab.page.getByText('⟦registry.variable⟧').first().waitFor()
  await show('/settings/registry/server')
  await tab.check()
  await tab.page.context().close()
  return places
}

/** Where a text of 1 MB is shown. */
const bigPlaces = [
  '/activity big.argument',
  '/activity raw big.answer',
  '/activity raw big.log',
  '/activity raw big.progress',
  '/activity raw big.sampled',
  '/chat big.model',
  '/inbox approval big.argument',
  '/inbox elicitation big.form',
  '/inbox result big.result',
  '/inbox sampling-request big.sampled',
  '/inbox sampling-result big.answer',
  '/inbox sampling-result big.sampled',
  '/inspect messages big.progress',
  '/inspect prompt big.prompt',
  '/inspect resource big.resource',
  '/inspect result big.error',
  '/inspect result big.text',
  '/inspect running big.progress',
  '/library big.resource',
]

/** Shows words of 1 MB, and gives the places. */
async function showBigWords(): Promise<ReadonlySet<string>> {
  const word = (place: string): string => tagged(place, `<b>${'W'.repeat(1_000_000)}`)
  const gate = Promise.withResolvers<void>()
  const { url, close } = await serveHttp(
    defineServer({
      name: 'big',
      version: '1.0.0',
      tools: {
        text: tool({ input: z.object({}), run: () => word('big.text') }),
        fail: tool({
          input: z.object({}),
          run() {
            throw new ToolError(word('big.error'))
          },
        }),
        report: tool({
          input: z.object({}),
          async run(_args, ctx) {
            ctx.progress(1, 2, word('big.progress'))
            ctx.log('warning', word('big.log'))
            await gate.promise
            return 'reported'
          },
        }),
        result: tool({ input: z.object({}), run: () => word('big.result') }),
      },
      resources: { big: resource({ uri: 'big://one', read: () => word('big.resource') }) },
      prompts: { big: prompt({ run: () => word('big.prompt') }) },
    }),
  ).listen({ port: 0 })
  onTestFinished(() => close())
  const served = await serveHost({
    sampling: { limits: { tokensPerDay: 10_000_000 } },
    servers: { big: { url: `${url}` }, demo: asking },
    rules: [
      { id: 'echo', verdict: 'ask', tool: 'echo', scope: 'always' },
      { id: 'look', verdict: 'ask', tool: 'result', gate: 'result' },
      { id: 'rest', verdict: 'allow' },
    ],
    model: scriptedModel([{ say: word('big.answer') }, { say: word('big.model') }]),
  })
  const { host } = served.service
  const tab = await openTab(served, '/servers', { viewport: { width: 1440, height: 2_000 } })
  const { page } = tab
  const { places, show } = viewer(tab)
  for (const name of ['text', 'fail', 'report']) {
    await tab.go(`/inspect/big/tools/${name}?args=%7B%7D`)
    await page.getByRole('heading', { name, exact: true }).waitFor()
    if (name === 'report') {
      await page.getByText('Options').click()
      await page.getByLabel('Log level').selectOption('debug')
    }
    await page.click('[data-act=run]')
    if (name === 'report') {
      await page.getByText('⟦big.progress⟧').first().waitFor()
      await show('/inspect running')
      gate.resolve()
    }
    await page.getByText(/activity #\d+/).waitFor()
    if (name !== 'report') {
      await show('/inspect result')
      continue
    }
    await page.getByRole('button', { name: /^Messages/ }).click()
    await page.locator('main ol details', { hasText: 'notifications/progress' }).waitFor()
    for (const row of await page.locator('main ol details summary').all()) await row.click()
    await page.locator('main ol').getByText('⟦big.progress⟧').first().waitFor()
    await show('/inspect messages')
  }
  await tab.go('/inspect/big/prompts/big')
  await page.click('[data-act=run]')
  await page.getByText('⟦big.prompt⟧').first().waitFor()
  await show('/inspect prompt')
  await tab.go(`/inspect/big/resources/${encodeURIComponent('big://one')}`)
  await page.click('[data-act=run]')
  await page.getByText('⟦big.resource⟧').first().waitFor()
  await show('/inspect resource')
  await tab.go(`/library/big/${encodeURIComponent('big://one')}`)
  await page.getByText('⟦big.resource⟧').first().waitFor()
  await show('/library')

  const chat = { caller: 'chat', conversation: 'talk' } as const
  void host.call('demo__echo', { text: word('big.argument') }, chat).catch(() => undefined)
  void host.call('big__result', {}, chat).catch(() => undefined)
  const start = (name: string, params: unknown): void =>
    void served.service.startRun(
      { kind: 'call', tool: `demo__${name}`, arguments: { params } },
      { by: 'test', asks: true },
    )
  const requestedSchema = { type: 'object', properties: { a: { type: 'string' } } }
  start('ask', { message: word('big.form'), requestedSchema })
  await until(() => host.inbox.list().length === 3, 'the questions')
  for (const { id, question } of host.inbox.list()) {
    await tab.go(`/inbox/${id}`)
    await page.locator(`[data-card="${id}"]`).waitFor()
    await show(`/inbox ${question.kind}`)
    if (question.kind === 'elicitation') host.inbox.answer(id, { action: 'decline' }, 'test')
    else if (question.kind === 'approval') host.inbox.answer(id, { verdict: 'allow' }, 'test')
    else host.inbox.answer(id, { verdict: 'deny' }, 'test')
  }
  await until(
    () => host.activity({ kind: 'call' }).every(({ outcome }) => outcome !== 'running'),
    'the calls',
  )
  start('sample', {
    messages: [{ role: 'user', content: { type: 'text', text: word('big.sampled') } }],
    maxTokens: 9,
  })
  for (const kind of ['sampling-request', 'sampling-result']) {
    const item = (): InboxItem | undefined => host.inbox.list().find(({ question }) => question.kind === kind)
    await until(() => item() !== undefined, kind)
    const id = item()?.id ?? ''
    await tab.go(`/inbox/${id}`)
    await page.locator(`[data-card="${id}"] [role=group][aria-labelledby]`).nth(1).waitFor()
    await show(`/inbox ${kind}`)
    host.inbox.answer(id, { verdict: 'allow' }, 'test')
  }
  await tab.go('/activity?view=raw')
  for (const name of ['answer', 'log', 'progress', 'sampled'])
    await page
      .locator('[data-place]', { hasText: `⟦big.${name}⟧` })
      .first()
      .waitFor()
  await show('/activity raw')
  const call = host.activity({ kind: 'call' }).find(({ detail }) => detail['tool'] === 'echo')
  await tab.go(`/activity/${call?.id}`)
  await page.locator('main', { hasText: '⟦big.argument⟧' }).waitFor()
  await show('/activity')
  await tab.go('/chat')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByRole('textbox', { name: 'Message' }).fill('Say it')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('log').getByText('⟦big.model⟧').first().waitFor()
  await page.locator('[data-act=stop]').waitFor({ state: 'detached' })
  await show('/chat')
  await tab.check()
  await page.context().close()
  return places
}
