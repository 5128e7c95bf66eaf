import type { InboxItem } from '@jackfield/host'
import { defineServer, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { app, shownIn, ui } from '@jackfield/sdk/extensions/ui'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { registry, weather } from '../../../host/test/registry/stand-in.ts'
import { serveConfigured } from '../fixtures/configured.ts'
import { asking, hostile, type Served, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { hostileTexts, tagged } from '../fixtures/hostile-texts.ts'
import { viewer } from '../fixtures/hostile-viewer.ts'
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
    // A payload has rows of its own that open, too.
    const rows = page.locator('main ol > li > details > summary')
    for (const row of (await rows.all()).slice(0, 6)) await row.click()
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
  // An opened one may contain others, which would shift the rest.
  await page
    .getByRole('log')
    .locator('details')
    .evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', '')
    })
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
