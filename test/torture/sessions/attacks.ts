import { type JsonObject, MetaKey } from '@jackfield/sdk'
import { expect } from 'vitest'
import {
  type Answer,
  type Ask,
  type Mounted,
  modern,
  session,
} from '../../../packages/sdk/test/serve/http-support.ts'
import { meta, until } from '../../../packages/sdk/test/serve/support.ts'
import type { Random } from '../random.ts'
import { words } from './callers.ts'

/** Longer than any of these waits, and short enough to report which one never ends. */
const watchdogMs = 10_000

/** Where requests are sent. */
export type Sending = Pick<Mounted, 'send'>

export const as = (who: string): { authorization: string } => ({ authorization: `Bearer ${who}` })
const able = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const stateless = (more: JsonObject): JsonObject => ({
  _meta: meta({ [MetaKey.clientCapabilities]: able }),
  ...more,
})

/**
 * What is waited for, unless it does not come in time.
 * @throws Error that names what did not arrive
 */
async function within<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${watchdogMs} ms`)), watchdogMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** One attack: what Mallory sends, given the handle in it. */
type Attack = (handle: { session: string; event: string; task: string; state: string }) => Ask

/** Everything of Alice's that has a name: a session with a broken-off stream, a question, a task and a state. */
export async function prepare(mounted: Sending) {
  const mine = await session(mounted, '2025-11-25', as('alice'))
  const slow = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
  const lost = await mine.post({ ...slow, params: { name: 'slow', _meta: { progressToken: 7 } } })
  await until(() => lost.messages().length === 1, watchdogMs)
  lost.drop()
  const asking = await mine.call(2, 'sure')
  await until(() => asking.messages().length === 1, watchdogMs)
  const ask = (method: string, params: JsonObject, headers: Ask['headers'] = {}): Promise<JsonObject> => {
    const answer = mounted.send(modern(method, stateless(params), { ...as('alice'), ...headers }))
    return within(
      `${method} of Alice's`,
      answer.then((response) => response.json()),
    )
  }
  const begun = await ask('tools/call', { name: 'slow', task: {} })
  const task = String(Object(begun['result'])['taskId'])
  const question = Object((await ask('tools/call', { name: 'sure' }))['result'])
  const state = String(question['requestState'])
  return {
    session: mine.id,
    event: lost.events.at(-1)?.id ?? '',
    task,
    state,
    word: words['alice'] ?? '',
    unharmed: async (open: () => unknown): Promise<void> => {
      const [key = ''] = Object.keys(question['inputRequests'])
      const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
      expect(await ask('tools/call', { name: 'sure', requestState: state, inputResponses })).toMatchObject({
        result: { content: [{ text: 'accept albatross-7f3a9c' }] },
      })
      const elicitation = asking.messages()[0]
      await mine.post({
        jsonrpc: '2.0',
        id: elicitation?.['id'],
        result: { action: 'accept', content: { ok: true } },
      })
      await until(() => asking.over(), watchdogMs)
      expect(asking.messages()).toHaveLength(2)
      expect(await ask('tasks/get', { taskId: task }, { 'mcp-name': task })).toMatchObject({
        result: { status: 'working' },
      })
      await open()
      const resumed = await mine.get({ 'last-event-id': lost.events.at(-1)?.id })
      expect(await within('the stream that Alice resumes', resumed.text())).toContain('albatross-7f3a9c')
      expect(resumed.messages()).toHaveLength(1)
    },
  }
}

/** Sends attacks of Mallory's to nodes by chance; what is not hers must look as if it were not there at all. */
export async function attackAll(
  nodes: readonly Sending[],
  alice: Awaited<ReturnType<typeof prepare>>,
  random: Random,
  trials: number,
): Promise<void> {
  const mallory = await Promise.all(nodes.map((node) => session(node, '2025-11-25', as('mallory'))))
  const own = mallory.map((one) => ({ 'mcp-session-id': one.id, 'mcp-protocol-version': '2025-11-25' }))
  const unknown = { session: 'A'.repeat(32), event: 'AAAAAAAA-0_1', task: 'nothing', state: 'v1.A.A' }
  const all = attacks()
  const handles = [alice.session, alice.event, alice.task, alice.state]
  for (let trial = 0; trial < trials; trial++) {
    const at = random.between(0, nodes.length - 1)
    const attack = random.pick(all)
    const event = nearby(alice.event, random)
    const foreign = attack.ask({ ...alice, event })
    const unknownName = attack.ask(unknown)
    const mine = attack.inOwnSession ? own[at] : {}
    const send = (ask: Ask): Promise<Answer> | undefined =>
      nodes[at]?.send({ ...ask, headers: { ...ask.headers, ...as('mallory'), ...mine } })
    const where = `${attack.name}, node ${at + 1}, trial ${trial}`
    const contentOf = (answer: Answer | undefined): Promise<string | undefined> =>
      attack.streams ? received(answer, 1, where) : within(where, Promise.resolve(answer?.text()))
    const theirs = await within(where, Promise.resolve(send(foreign)))
    // An answer that ought not to be may be a stream without an end, so its status is judged before it is read.
    expect(theirs?.status, where).toBe(attack.status)
    const blank = await within(where, Promise.resolve(send(unknownName)))
    const [content, contentOfBlank] = [await contentOf(theirs), await contentOf(blank)]
    expect([theirs?.status, content], where).toEqual([blank?.status, contentOfBlank])
    expect(content, where).not.toContain(alice.word)
    for (const handle of handles) expect(content, where).not.toContain(handle)
  }
}

interface Named {
  name: string
  status: number
  ask: Attack
  /** Sent in a session that is Mallory's own. */
  inOwnSession?: boolean
  /** Answered with a stream that stays open. */
  streams?: boolean
}

function attacks(): readonly [Named, ...Named[]] {
  const legacy = (session: string, more: object = {}): NonNullable<Ask['headers']> => ({
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
    ...more,
  })
  const request = (method: string, params: object): JsonObject => ({ jsonrpc: '2.0', id: 2, method, params })
  const yes = { elicitation_1: { action: 'accept', content: { ok: true } } }
  const posts =
    (body: JsonObject): Attack =>
    (of) => ({ headers: legacy(of.session), body })
  const taskIn =
    (method: string): Attack =>
    ({ task }) => ({ body: request(method, { taskId: task }) })
  const taskOf =
    (method: string, params: object = {}): Attack =>
    ({ task }) =>
      modern(method, stateless({ taskId: task, ...params }), { 'mcp-name': task })
  return [
    { name: 'a call', status: 404, ask: posts(request('tools/call', { name: 'peek' })) },
    { name: 'a read', status: 404, ask: posts(request('resources/read', { uri: 'vault://safe' })) },
    {
      name: 'a subscription',
      status: 404,
      ask: posts(request('resources/subscribe', { uri: 'vault://safe' })),
    },
    {
      name: 'an answer to a question',
      status: 404,
      ask: posts({ jsonrpc: '2.0', id: 1, result: { action: 'accept', content: { ok: true } } }),
    },
    {
      name: 'a cancellation',
      status: 404,
      ask: posts({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
    },
    { name: 'a GET', status: 404, ask: (of) => ({ method: 'GET', headers: legacy(of.session) }) },
    {
      name: 'a GET that resumes',
      status: 404,
      ask: (of) => ({ method: 'GET', headers: legacy(of.session, { 'last-event-id': of.event }) }),
    },
    { name: 'a DELETE', status: 404, ask: (of) => ({ method: 'DELETE', headers: legacy(of.session) }) },
    {
      name: 'a GET that resumes, in a session of its own',
      status: 400,
      inOwnSession: true,
      ask: (of) => ({ method: 'GET', headers: { 'last-event-id': of.event } }),
    },
    { name: 'a look at a task, in a session', status: 200, inOwnSession: true, ask: taskIn('tasks/get') },
    {
      name: 'the result of a task, in a session',
      status: 200,
      inOwnSession: true,
      ask: taskIn('tasks/result'),
    },
    { name: 'a task cancelled in a session', status: 200, inOwnSession: true, ask: taskIn('tasks/cancel') },
    { name: 'a look at a task', status: 200, ask: taskOf('tasks/get') },
    { name: 'answers to a task', status: 200, ask: taskOf('tasks/update', { inputResponses: yes }) },
    { name: 'a task cancelled', status: 200, ask: taskOf('tasks/cancel') },
    {
      name: 'a state',
      status: 200,
      ask: (of) =>
        modern('tools/call', stateless({ name: 'sure', requestState: of.state, inputResponses: yes })),
    },
    {
      name: 'a subscription to a task',
      status: 200,
      streams: true,
      ask: ({ task }) => modern('subscriptions/listen', stateless({ notifications: { taskIds: [task] } })),
    },
  ]
}

/** An event id as it is, or one that a guesser would try next. */
function nearby(event: string, random: Random): string {
  const [stream = '', position = '0'] = event.split('_')
  const [tag = '', number = '0'] = stream.split(/-(?=\d+$)/)
  const at = Number(position)
  return random.pick([
    event,
    `${stream}_${at - 1}`,
    `${stream}_${at + 1}`,
    `${stream}_${at + 2 ** 32}`,
    `${stream}_${at + 2 ** 48}`,
    `${tag}-${Number(number) + 1}_${at}`,
    `${tag}-0_${at}`,
  ])
}

/** The first messages of a stream that stays open, which is then broken off. */
async function received(answer: Answer | undefined, messages: number, where: string): Promise<string> {
  if (answer === undefined) throw new Error('No answer')
  try {
    await until(() => answer.messages().length >= messages || answer.over(), watchdogMs)
  } catch (cause) {
    throw new Error(`${where}: nothing within ${watchdogMs} ms`, { cause })
  } finally {
    answer.drop()
  }
  return JSON.stringify(answer.messages())
}
