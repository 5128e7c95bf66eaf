import { defineServer, resource, tool } from '@jackfield/sdk'
import { bearer } from '@jackfield/sdk/auth'
import { afterEach, expect, onTestFinished, vi } from 'vitest'
import {
  type Answer,
  type Ask,
  type Mounted,
  modern,
  session,
  webAdapter,
} from '../../../packages/sdk/test/serve/http-support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const audience = 'https://news.example.com/mcp'
const [second, minute] = [1000, 60_000]
const stepMs = 10 * second
const spanMs = 10 * minute
/** What the token of a stream comes to, and by when its stream must then be over. */
const fates = {
  expires: { standing: stepMs, answer: minute + stepMs },
  revoked: { standing: minute, answer: minute },
  unknown: { standing: minute + stepMs, answer: minute + stepMs },
  lasts: undefined,
}

const extra = tool({ run: () => 'extra' })

interface Token {
  fate: keyof typeof fates
  /** Milliseconds since 1970. */
  at: number
}

interface Open {
  what: string
  token: Token
  answer: Answer
  standing: boolean
  events: number
  heardAt: number
  endedAt: number
}

afterEach(() => {
  vi.useRealTimers()
})

campaign(
  {
    id: 'ends-of-tokens',
    chapter: 'Authorization',
    claim: 'A stream ends within a minute of the expiry of its token, and not before',
    trial: 'stream whose token expires, is revoked, or cannot be looked up',
    trials: { change: 60, long: 1000 },
  },
  async (campaignRun) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    const random = new Random(campaignRun.seed)
    const tokens = new Map<string, Token>()
    const { server, mounted } = await served(tokens)
    const all: Open[] = []
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const name = `t${trial}`
      const fate = random.pick<Token['fate']>(['expires', 'expires', 'revoked', 'unknown', 'lasts'])
      const token: Token = { fate, at: Date.now() + minute + random.between(0, spanMs / second) * second }
      tokens.set(name, token)
      const [what, open] = random.pick(ways)
      const opening = open(mounted, { authorization: `Bearer ${name}` })
      const standing = !what.startsWith('answer')
      all.push({
        what,
        token,
        answer: await meanwhile(opening, all),
        standing,
        events: 0,
        heardAt: 0,
        endedAt: 0,
      })
    }
    const news = Date.now()
    const until = news + spanMs + 5 * minute
    while (Date.now() < until) {
      server.resourceUpdated('news://today')
      server.add({ tools: { extra } })
      server.remove({ tools: ['extra'] })
      await vi.advanceTimersByTimeAsync(stepMs)
      for (const one of all) look(one)
    }
    const late = { expires: 0, revoked: 0, unknown: 0 }
    for (const [trial, one] of all.entries()) {
      const { fate, at } = one.token
      const where = `trial ${trial}: ${one.what} whose token ${fate}`
      const sawNews = one.endedAt === 0 || one.endedAt > news + stepMs
      if (sawNews) expect(one.events, where).toBeGreaterThan(0)
      if (fate === 'lasts') {
        expect(one.endedAt, where).toBe(0)
        continue
      }
      const bound = one.standing ? fates[fate].standing : fates[fate].answer
      expect(one.endedAt, where).toBeGreaterThanOrEqual(at)
      expect(one.endedAt, where).toBeLessThanOrEqual(at + bound)
      expect(one.heardAt, where).toBeLessThanOrEqual(at + bound)
      if (one.standing) late[fate] = Math.max(late[fate], one.endedAt - at)
    }
    campaignRun.measured('latest end after a token was revoked', late.revoked / second, 's')
    for (const { answer } of all) answer.drop()
  },
)

/** Waits for something that happens while time goes by for streams that are open already. */
async function meanwhile<T>(work: Promise<T>, open: readonly Open[]): Promise<T> {
  let done = false
  const noted = work.finally(() => {
    done = true
  })
  while (!done) {
    await vi.advanceTimersByTimeAsync(10)
    await new Promise((resolve) => setImmediate(resolve))
    for (const one of open) look(one)
  }
  return noted
}

function look(one: Open): void {
  const { answer } = one
  if (answer.events.length > one.events) one.heardAt = Date.now()
  one.events = answer.events.length
  if (answer.over() && one.endedAt === 0) one.endedAt = Date.now()
}

/** A server that always sends changes to requests with a valid token. */
async function served(tokens: ReadonlyMap<string, Token>) {
  const server = defineServer({
    name: 'news',
    version: '1.0.0',
    resources: { today: resource({ uri: 'news://today', read: () => 'news' }) },
    tools: {
      follow: tool({
        run: (_args, ctx) =>
          new Promise<string>((resolve) => {
            let progress = 0
            const timer = setInterval(() => ctx.progress(++progress), stepMs)
            ctx.signal.addEventListener('abort', () => {
              clearInterval(timer)
              resolve('stopped')
            })
          }),
      }),
    },
    onError: () => {},
  })
  const authenticate = bearer({
    resource: audience,
    authorizationServers: ['https://as.example.com'],
    clockToleranceMs: 0,
    verify: async (name) => {
      const token = tokens.get(name)
      if (token === undefined) return undefined
      const due = token.at <= Date.now()
      if (due && token.fate === 'revoked') return undefined
      if (due && token.fate === 'unknown') throw new Error('The authorization server does not answer')
      const claims = { sub: name, aud: audience }
      return token.fate === 'expires' ? { ...claims, exp: token.at / second } : claims
    },
  })
  const mounted = await webAdapter(server, {
    authenticate,
    sse: '/sse',
    limits: { sessions: 20_000, listenStreams: 20_000 },
  })
  onTestFinished(() => mounted.close())
  return { server, mounted }
}

type Way = (mounted: Mounted, headers: NonNullable<Ask['headers']>) => Promise<Answer>

const following = { name: 'follow', _meta: { progressToken: 1 } }
const inSession =
  (version: string): Way =>
  async (mounted, headers) => {
    const own = await session(mounted, version, headers)
    return own.call(1, 'follow', { _meta: following._meta })
  }

const ways: readonly [[string, Way], ...[string, Way][]] = [
  ['stream of a session', async (mounted, headers) => (await session(mounted, '2025-11-25', headers)).get()],
  [
    'subscription',
    (mounted, headers) => {
      const notifications = { resourceSubscriptions: ['news://today'] }
      return mounted.send(modern('subscriptions/listen', { notifications }, headers))
    },
  ],
  ['event stream of HTTP+SSE', (mounted, headers) => mounted.send({ method: 'GET', path: '/sse', headers })],
  ['answer on 2025-06-18', inSession('2025-06-18')],
  ['answer on 2025-11-25', inSession('2025-11-25')],
  [
    'answer on 2026-07-28',
    (mounted, headers) => {
      const sent = modern('tools/call', { name: 'follow' }, headers)
      Object.assign(Object(Object(sent.body)['params'])['_meta'], following._meta)
      return mounted.send(sent)
    },
  ],
]
