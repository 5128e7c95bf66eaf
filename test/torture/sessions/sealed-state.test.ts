import {
  type Context,
  defineServer,
  type JsonObject,
  prompt,
  resource,
  type Server,
  tool,
} from '@jackfield/sdk'
import type { Authenticate } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { afterEach, expect, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { type Mounted, modern, webAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const [oldKey, newKey] = ['o'.repeat(32), 'n'.repeat(32)]
const backplane = memoryBackplane()
const authenticate: Authenticate = async (request) => ({ principal: request.header('authorization') ?? '' })
const leastMutations = 300
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'

afterEach(() => {
  vi.useRealTimers()
})

campaign(
  {
    id: 'sealed-state',
    chapter: 'State',
    claim: 'A requestState that was changed, moved, expired or used before has no effect',
    trial: 'retry with a state that is not good',
    trials: { change: 0, long: 100_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const effects: string[] = []
    const node = await mount(shop('shop', effects), [oldKey])
    let trials = 0
    const refused = async (one: Mounted, retry: Retry, what: string): Promise<void> => {
      trials++
      expect(Object(await answer(one, retry))['error'], what).toEqual({
        code: -32602,
        message: 'The requestState is not valid here. Start the request over.',
      })
    }

    const small = await ask(node, { name: 'refund' })
    for (const [at, state] of spoiled(small.state)) await refused(node, { ...small, state }, at)
    for (const state of [0, null, {}, [small.state], true, '']) {
      await refused(node, { ...small, state }, JSON.stringify(state))
    }
    for (const name of ['longer', 'longest']) {
      const one = await ask(node, { name })
      for (const [at, state] of spoiled(one.state, one.state.length - 4)) {
        await refused(node, { ...one, state }, `${name}, ${at}`)
      }
    }
    const large = await ask(node, { name: 'large' })
    expect(large.state.length).toBeLessThan(1000)
    const mutations = Math.max(leastMutations, campaignRun.trials - trials)
    for (let i = 0; i < mutations; i++) {
      const from = random.pick([small, large])
      const state = mutated(from.state, random)
      if (state !== from.state) await refused(node, { ...from, state }, `mutated to ${state}`)
    }

    const other = await mount(shop('shop', effects), [oldKey])
    const stranger = await mount(shop('bank', effects), [oldKey])
    const rotated = await mount(shop('shop', effects), [newKey, oldKey])
    const strange = await mount(shop('shop', effects), [newKey])
    await refused(node, { ...small, user: 'mallory' }, 'another user')
    await refused(node, { ...small, user: '' }, 'no user')
    await refused(node, { ...small, name: 'cancel' }, 'another tool')
    await refused(node, { ...small, method: 'prompts/get' }, 'a prompt of the same name')
    const shown = await ask(node, { name: 'refund', method: 'prompts/get' })
    await refused(node, { ...shown, method: 'tools/call' }, 'a tool of the same name')
    const seen = await ask(node, { name: 'shop://one', method: 'resources/read' })
    await refused(node, { ...seen, name: 'shop://other' }, 'another resource')
    await refused(node, { ...small, args: { order: '8' } }, 'other arguments')
    await refused(node, { ...small, args: {} }, 'no arguments')
    await refused(node, { ...small, state: large.state }, 'the state of another call')
    await refused(stranger, small, 'another server')
    await refused(strange, small, 'a server without the key')
    expect(effects).toEqual([])

    await expectOnce(effects, 'refund', [other, node, rotated], small)
    await expectOnce(effects, 'large', [rotated, node, other], large)
    await expectOnce(effects, 'refund', [rotated, rotated], await ask(rotated, { name: 'refund' }))
    await refused(node, await ask(rotated, { name: 'refund' }), 'a key this node does not have')

    vi.useFakeTimers({ toFake: ['Date'] })
    const late = await ask(node, { name: 'refund' })
    vi.setSystemTime(Date.now() + 30 * 60_000)
    await refused(node, late, 'after its time')
    expect(effects).toEqual([])
    campaignRun.setTrials(trials)
  },
)

interface Retry {
  /** Of a tool or a prompt, or the URI of a resource. */
  name: string
  method?: string | undefined
  user: string
  args: JsonObject
  state: unknown
  inputResponses: JsonObject
}

function shop(name: string, effects: string[]): Server {
  const paying = (what: string, size: number) =>
    tool({
      input: z.object({ order: z.string().optional() }),
      run: (_args, ctx) => paid(ctx, what, size),
    })
  const paid = async (ctx: Context, what: string, size: number): Promise<string> => {
    const receipt = await ctx.step('prepare', () => 'x'.repeat(size))
    const { action } = await ctx.elicit({
      message: `Sure of ${receipt.length}?`,
      schema: z.object({ ok: z.boolean() }),
    })
    if (action === 'accept') effects.push(what)
    return action
  }
  const tools = {
    refund: paying('refund', 10),
    longer: paying('longer', 11),
    longest: paying('longest', 12),
    cancel: paying('cancel', 10),
    large: paying('large', 80_000),
  }
  const prompts = {
    refund: prompt({
      input: z.object({ order: z.string() }),
      run: (_args, ctx) => paid(ctx, 'prompt', 10),
    }),
  }
  const resources = {
    one: resource({ uri: 'shop://one', read: (ctx) => paid(ctx, 'one', 10) }),
    other: resource({ uri: 'shop://other', read: (ctx) => paid(ctx, 'other', 10) }),
  }
  return defineServer({ name, version: '1.0.0', tools, prompts, resources })
}

async function mount(server: Server, keys: string[]): Promise<Mounted> {
  const mounted = await webAdapter(server, { keys, backplane, authenticate })
  onTestFinished(() => mounted.close())
  return mounted
}

type Begun = Pick<Retry, 'name' | 'method'>

const naming = ({ name, method }: Begun, args: JsonObject): JsonObject =>
  method === 'resources/read' ? { uri: name } : { name, arguments: args }

/** Begins a request and accepts its question; returns the retry, which would have an effect. */
async function ask(node: Mounted, begun: Begun): Promise<Retry & { state: string }> {
  const { name, method = 'tools/call' } = begun
  const args = { order: '7' }
  const sent = modern(method, naming(begun, args), { authorization: 'alice' })
  const { requestState, inputRequests } = Object((await (await node.send(sent)).json())['result'])
  const [key = ''] = Object.keys(inputRequests)
  const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
  return { name, method, user: 'alice', args, state: String(requestState), inputResponses }
}

async function answer(node: Mounted, retry: Retry): Promise<JsonObject> {
  const { args, state, inputResponses, user, method = 'tools/call' } = retry
  const params = { ...naming(retry, args), requestState: state, inputResponses }
  return (await node.send(modern(method, params, { authorization: user }))).json()
}

/** A good retry, sent to several nodes at once, has its effect on one of them and is refused on all others. */
async function expectOnce(effects: string[], what: string, nodes: Mounted[], retry: Retry): Promise<void> {
  const answers = await Promise.all(nodes.map((node) => answer(node, retry)))
  expect(answers.filter((one) => 'result' in one)).toHaveLength(1)
  expect(answers.filter((one) => Object(one['error'])['code'] === -32602)).toHaveLength(nodes.length - 1)
  expect(effects.splice(0)).toEqual([what])
}

/** A state with each of its bits turned over, cut off at each of its lengths, and made longer; `from` a place on. */
function* spoiled(state: string, from = 0): Generator<[string, string]> {
  for (let at = from; at < state.length; at++) {
    for (let bit = 1; bit < 256; bit *= 2) {
      const turned = String.fromCharCode(state.charCodeAt(at) ^ bit)
      yield [`bit ${bit} of character ${at}`, `${state.slice(0, at)}${turned}${state.slice(at + 1)}`]
    }
    yield [`the first ${at} characters`, state.slice(0, at)]
    yield [`all but the first ${at + 1} characters`, state.slice(at + 1)]
  }
  for (const more of ['A', '=', '==', '.', '.A', ' ', '\n', '\u0000']) {
    yield [`followed by ${JSON.stringify(more)}`, `${state}${more}`]
    yield [`after ${JSON.stringify(more)}`, `${more}${state}`]
  }
}

/** A state after a few random changes. */
function mutated(state: string, random: Random): string {
  let text = state
  const changes = random.between(1, 4)
  for (let i = 0; i < changes; i++) {
    const at = random.between(0, text.length - 1)
    const other = base64url[random.between(0, base64url.length - 1)] ?? ''
    const kind = random.between(0, 3)
    if (kind === 0) text = `${text.slice(0, at)}${other}${text.slice(at + 1)}`
    else if (kind === 1) text = `${text.slice(0, at)}${text.slice(at + 1)}`
    else if (kind === 2) text = `${text.slice(0, at)}${other}${text.slice(at)}`
    else text = `${text.slice(at)}${text.slice(0, at)}`
  }
  return text
}
