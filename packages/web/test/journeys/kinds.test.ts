import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type InboxItem,
  parseConfig,
  planForServer,
  type QuestionKind,
  type ServerConfig,
} from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { asking, type Served, scriptedModel, serveHost, weather } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const isLong = process.env['JACKFIELD_LONG'] === '1'

const rules = [
  { id: 'echo asks', verdict: 'ask' as const, tool: 'echo', scope: 'always' as const },
  { id: 'look', verdict: 'ask' as const, tool: 'look', gate: 'result' as const },
  { id: 'rest', verdict: 'allow' as const },
]

/** One answer to one kind of question. */
interface Case {
  readonly kind: QuestionKind
  readonly begin: () => unknown
  /** In turn: a button that decides, one that does not (`+`), or something typed. */
  readonly acts: readonly (string | ((tab: Tab) => Promise<void>))[]
  /** What the host got. */
  readonly answer: unknown
  /** Whether `npm test` also gives it by keys and by touch. */
  readonly isShort?: true
  /** What the server got, where the question was its own. */
  readonly reply?: unknown
}

const form = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { a: { type: 'string', title: 'A' } } },
}
const page = { mode: 'url', elicitationId: 'u', message: 'Pay', url: 'https://pay.example/1' }
const request = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 100 }
const edited = { ...request, messages: [{ role: 'user', content: { type: 'text', text: 'Hi there' } }] }
const textResult = (text: string): object => ({ content: [{ type: 'text', text }] })
const generated = (text: string): object => ({
  model: 'scripted',
  role: 'assistant',
  content: { type: 'text', text },
  stopReason: 'endTurn',
})

const fill =
  (label: string, text: string) =>
  (tab: Tab): Promise<void> =>
    tab.page.getByLabel(label, { exact: true }).last().fill(text)

/** A host on which every kind of question is asked, and the answers to each. */
async function everyKind(): Promise<{ served: Served; cases: readonly Case[] }> {
  const folder = tempFolder()
  const login = await protectedServer()
  login.challenge = 'Bearer scope="read"'
  login.allows = (token, { method }) => {
    const scopes = login.as.good.get(token)?.split(' ')
    if (scopes === undefined || method !== 'tools/call' || scopes.includes('write'))
      return scopes !== undefined
    return 'Bearer error="insufficient_scope", scope="write"'
  }
  // Answers are remembered for what a server is: each of these is another one.
  const named = (name: string): ServerConfig =>
    'command' in asking ? { ...asking, args: [...(asking.args ?? []), name] } : asking
  const own = { mcpServers: { one: named('one'), two: named('two') } }
  const file = join(folder, '.mcp.json')
  const project = parseConfig(JSON.stringify(own), { file, layer: 'project', env: {} }).servers
  const inputs = [{ id: 'key', description: 'The key of the shop' }]
  const from = { file: '/none/mcp.json', layer: 'user' as const, inputs }
  const needing = { ...named('needing'), env: { KEY: `\${input:key}` }, from }
  const replies = ['First.', 'Second.', 'Third.', 'Fourth.', 'Fifth.'].map((say) => ({ say }))
  const served = await serveHost({
    servers: { demo: asking, shop: named('shop'), weather, login: { url: login.url }, needing, ...project },
    rules,
    workspace: folder,
    model: scriptedModel(replies),
    async openPage(url) {
      const { headers } = await fetch(url, { redirect: 'manual' })
      await fetch(new URL(headers.get('location') ?? '', url))
    },
  })
  const { service } = served
  const { host } = service
  await host.logins.signIn('login')
  let calls = 0
  const ask = (tool: string, args: Record<string, unknown>) => (): void => {
    calls += 1
    void host.call(tool, args, { caller: 'chat', conversation: `talk ${calls}` }).catch(() => undefined)
  }
  const start =
    (tool: string, params?: unknown, server = 'demo') =>
    (): string => {
      const args = params === undefined ? {} : { params }
      return service.startRun(
        { kind: 'call', tool: `${server}__${tool}`, arguments: args },
        { by: 'test', asks: true },
      )
    }
  const echo = ask('demo__echo', { text: 'x' })
  const look = ask('demo__look', {})
  const stepUp = ask('login__x', {})
  const { config: _, ...plan } = planForServer('shop', { command: 'npx', args: ['-y', '@ann/shop@1.0.0'] })
  const install = (): void =>
    void host.approveInstallation({ plan, file: '/home/ann/config.json', starts: true })
  const openApp = (): void => {
    for (const { identity, uri } of host.apps.consents()) host.apps.forget(identity, uri)
    void host.apps.open('weather__forecast').catch(() => undefined)
  }
  const connect = (): void => void host.reconnect('needing').catch(() => undefined)
  const cases: Case[] = [
    // Asked as soon as there is a tab.
    { kind: 'start', begin: () => {}, acts: ['deny-once'], answer: { verdict: 'deny' }, isShort: true },
    { kind: 'start', begin: () => {}, acts: ['allow'], answer: { verdict: 'allow' } },
    { kind: 'installation', begin: install, acts: ['deny-once'], answer: { verdict: 'deny' }, isShort: true },
    { kind: 'installation', begin: install, acts: ['allow'], answer: { verdict: 'allow' } },
    { kind: 'input', begin: connect, acts: ['deny-once'], answer: { verdict: 'deny' } },
    {
      kind: 'input',
      begin: connect,
      acts: [(tab) => tab.page.locator('[data-card] input[type=password]').fill('secret'), 'allow'],
      answer: expect.objectContaining({ verdict: 'allow' }),
      isShort: true,
    },
    { kind: 'approval', begin: echo, acts: ['allow'], answer: { verdict: 'allow' }, isShort: true },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+edit', '+button:text-is("JSON")', fill('Arguments as JSON', '{"text":"y"}'), 'allow'],
      answer: { verdict: 'allow', arguments: { text: 'y' } },
    },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+deny', fill('Reason (optional)', 'Not now'), 'deny-once'],
      answer: { verdict: 'deny', reason: 'Not now' },
    },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+deny', 'deny-conversation'],
      answer: { verdict: 'deny', remember: { scope: 'conversation' } },
    },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+respond', fill('Answer in place of the tool', 'Enough'), 'respond-send'],
      answer: { verdict: 'respond', result: textResult('Enough') },
    },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+remember', 'remember-conversation'],
      answer: {
        verdict: 'allow',
        remember: { scope: 'conversation', arguments: [{ at: '', equals: { text: 'x' } }] },
      },
    },
    {
      kind: 'approval',
      begin: echo,
      acts: ['+remember', 'remember-workspace'],
      answer: {
        verdict: 'allow',
        remember: { scope: 'workspace', arguments: [{ at: '', equals: { text: 'x' } }] },
      },
    },
    // Remembered for other arguments than those above.
    {
      kind: 'approval',
      begin: ask('demo__echo', { text: 'z' }),
      acts: ['+remember', 'remember-always'],
      answer: {
        verdict: 'allow',
        remember: { scope: 'always', arguments: [{ at: '', equals: { text: 'z' } }] },
      },
    },
    { kind: 'result', begin: look, acts: ['allow'], answer: { verdict: 'allow' }, isShort: true },
    {
      kind: 'result',
      begin: look,
      acts: [fill('Text', 'seen'), 'allow'],
      answer: { verdict: 'allow', result: textResult('seen') },
    },
    { kind: 'result', begin: look, acts: ['deny-once'], answer: { verdict: 'deny' } },
    {
      kind: 'elicitation',
      begin: start('ask', form),
      acts: ['decline'],
      answer: { action: 'decline' },
      reply: { action: 'decline' },
    },
    {
      kind: 'elicitation',
      begin: start('ask', form),
      acts: ['cancel'],
      answer: { action: 'cancel' },
      reply: { action: 'cancel' },
    },
    {
      kind: 'elicitation',
      begin: start('ask', form),
      acts: ['+review', 'accept'],
      answer: { action: 'accept', content: {} },
      reply: { action: 'accept', content: {} },
    },
    {
      kind: 'elicitation',
      begin: start('ask', form),
      isShort: true,
      acts: [fill('A optional', 'x'), '+review', '+[data-card] table input', 'accept'],
      answer: { action: 'accept', content: { a: 'x' }, remember: ['a'] },
      reply: { action: 'accept', content: { a: 'x' } },
    },
    {
      kind: 'elicitation',
      begin: start('ask', page),
      acts: ['decline'],
      answer: { action: 'decline' },
      reply: { action: 'decline' },
    },
    {
      kind: 'elicitation',
      begin: start('ask', page),
      acts: ['cancel'],
      answer: { action: 'cancel' },
      reply: { action: 'cancel' },
    },
    {
      kind: 'elicitation',
      begin: start('ask', page),
      acts: ['accept'],
      answer: { action: 'accept', visit: 'self' },
    },
    { kind: 'elicitation', begin: () => {}, acts: ['give-up'], answer: { action: 'cancel' } },
    {
      kind: 'elicitation',
      begin: start('ask', page),
      isShort: true,
      acts: ['accept'],
      answer: { action: 'accept', visit: 'self' },
    },
    { kind: 'elicitation', begin: () => {}, acts: ['done'], answer: { action: 'accept' }, isShort: true },
    {
      kind: 'sampling-request',
      begin: start('sample', request),
      acts: ['deny-once'],
      answer: { verdict: 'deny' },
      reply: expect.objectContaining({ code: -1 }),
    },
    {
      kind: 'sampling-request',
      isShort: true,
      begin: start('sample', request),
      acts: ['allow'],
      answer: { verdict: 'allow' },
    },
    { kind: 'sampling-result', begin: () => {}, acts: ['again'], answer: { verdict: 'regenerate' } },
    {
      kind: 'sampling-result',
      begin: () => {},
      acts: ['deny-once'],
      answer: { verdict: 'deny' },
      isShort: true,
    },
    {
      kind: 'sampling-request',
      begin: start('sample', request),
      acts: [fill('user', 'Hi there'), 'allow'],
      answer: { verdict: 'allow', params: edited },
    },
    {
      kind: 'sampling-result',
      begin: () => {},
      acts: [fill('assistant', 'Third, edited.'), 'allow'],
      answer: { verdict: 'allow', result: generated('Third, edited.') },
    },
    {
      kind: 'sampling-request',
      begin: start('sample', request, 'shop'),
      acts: ['+remember', 'pass-conversation'],
      answer: { verdict: 'allow', remember: 'conversation' },
    },
    {
      kind: 'sampling-result',
      begin: () => {},
      acts: ['+remember', 'pass-conversation'],
      answer: { verdict: 'allow', remember: 'conversation' },
    },
    {
      kind: 'sampling-request',
      begin: start('sample', request),
      acts: ['+remember', 'pass-always'],
      answer: { verdict: 'allow', remember: 'always' },
    },
    {
      kind: 'sampling-result',
      begin: () => {},
      acts: ['+remember', 'pass-always'],
      answer: { verdict: 'allow', remember: 'always' },
    },
    {
      kind: 'roots',
      begin: start('roots'),
      acts: ['deny-once'],
      answer: { verdict: 'deny' },
      reply: { roots: [] },
    },
    {
      kind: 'roots',
      isShort: true,
      begin: start('roots', undefined, 'shop'),
      acts: ['allow'],
      answer: {
        verdict: 'allow',
        roots: [expect.objectContaining({ uri: expect.stringMatching(/^file:/) })],
      },
      reply: { roots: [expect.objectContaining({ uri: pathToFileURL(folder).href })] },
    },
    {
      kind: 'login',
      isShort: true,
      begin: stepUp,
      acts: ['deny-once'],
      answer: { verdict: 'deny' },
    },
    { kind: 'login', begin: stepUp, acts: ['allow'], answer: { verdict: 'allow' } },
    { kind: 'app', begin: openApp, acts: ['deny-once'], answer: { verdict: 'deny' } },
    {
      kind: 'app',
      isShort: true,
      begin: openApp,
      acts: ['allow'],
      answer: { verdict: 'allow', permissions: [] },
    },
    { kind: 'drift', begin: start('mutate'), acts: ['block'], answer: { verdict: 'block' }, isShort: true },
    {
      kind: 'drift',
      begin: start('mutate', undefined, 'shop'),
      acts: ['accept'],
      answer: { verdict: 'accept' },
    },
  ]
  return { served, cases }
}

/** What a tool returned after its question: the answer that it received, or the error. */
function repliedIn(result: unknown): unknown {
  const [, text = '{}'] = /"text":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(result)) ?? []
  const { answer, error }: { answer?: unknown; error?: unknown } = JSON.parse(JSON.parse(text))
  return answer ?? error
}

describe.skipIf(missing !== undefined)(
  `kinds of questions in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 180_000 },
  () => {
    // By touch and by keys the first answer of each kind, and all of them in the long mode.
    test.each(['mouse', 'keys', 'touch'] as const)(
      'every kind of question is answered by %s, and each answer is received unchanged',
      async (how) => {
        const { served, cases } = await everyKind()
        const tab = await openTab(served, '/inbox', how === 'touch' ? { hasTouch: true } : {})
        const { inbox } = served.service.host
        const press = async (act: string): Promise<void> => {
          const name = act.replace('+', '')
          const selector = /[[:]/.test(name) ? name : `[data-card] [data-act=${name}]`
          const button = tab.page
            .locator(`${selector}${act.startsWith('+') ? '' : '[data-armed=true]'}`)
            .first()
          await button.waitFor()
          if (how === 'mouse') await button.click()
          else if (how === 'touch') await button.tap()
          else {
            await button.focus()
            await tab.page.keyboard.press('Space')
          }
        }
        const chosen = how === 'mouse' || isLong ? cases : cases.filter(({ isShort }) => isShort)
        for (const { kind, begin, acts, answer, reply } of chosen) {
          const started = begin()
          const item = (): InboxItem | undefined =>
            inbox.list().find(({ question }) => question.kind === kind)
          await until(() => item() !== undefined, `a question: ${kind}`)
          const id = item()?.id ?? ''
          await tab.go(`/inbox/${id}`)
          await tab.page.locator(`[data-card="${id}"]`).waitFor()
          for (const act of acts) await (typeof act === 'string' ? press(act) : act(tab))
          await until(() => inbox.get(id)?.state !== 'open', `the answer: ${kind} ${acts}`)
          expect([kind, acts, inbox.get(id)?.answer?.value]).toEqual([kind, acts, answer])
          if (reply === undefined || typeof started !== 'string') continue
          const { result } = await served.service.runs.wait(started, new AbortController().signal)
          expect([kind, acts, repliedIn(result)]).toEqual([kind, acts, reply])
        }
        await tab.check()
      },
    )
  },
)
