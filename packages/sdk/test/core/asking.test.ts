import { describe, expect, it } from 'vitest'
import { live } from '../../src/core/asking.ts'
import { conduct, type RoundHandle } from '../../src/core/conduct.ts'
import { type Asking, type Exchange, InputRequired, local, type Outcome } from '../../src/core/exchange.ts'
import { lateReplay } from '../../src/core/late-replay.ts'
import { memoryBackplane } from '../../src/core/memory-backplane.ts'
import { createSealer } from '../../src/core/seal.ts'
import { RpcError } from '../../src/jsonrpc/error.ts'
import type { JsonObject } from '../../src/jsonrpc/message.ts'
import type { InputRequests, Question } from '../../src/protocol/asking.ts'
import type { ClientCapabilities } from '../../src/protocol/capabilities.ts'
import { revisions } from '../../src/protocol/revisions.ts'

const everything: ClientCapabilities = { elicitation: {}, sampling: { tools: {} }, roots: {} }
const form = (message: string): Extract<Question, { method: 'elicitation/create' }> => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
})
const yes = { action: 'accept', content: { ok: true } }
const key = 'k'.repeat(32)

type Run = (round: RoundHandle) => unknown

function exchange(asking: Asking, params: JsonObject, overrides?: Partial<Exchange['peer']>): Exchange {
  return {
    id: 1,
    method: 'tools/call',
    params: { name: 'refund', arguments: { order: '7' }, ...params },
    peer: {
      revision: revisions['2026-07-28'],
      capabilities: everything,
      info: undefined,
      ...local,
      logLevel: undefined,
      ...overrides,
    },
    signal: new AbortController().signal,
    asking,
    notify: () => {},
  }
}

const finish = (value: unknown): JsonObject => ({ value })

/** A node of a fleet: its own replay over shared keys, and a shared or private backplane. */
function node(options?: {
  backplane?: ReturnType<typeof memoryBackplane>
  ttlMs?: number
  acceptUnasked?: boolean
  audience?: string
  keys?: string[]
}) {
  const refusals: string[] = []
  const asking = lateReplay({
    keys: options?.keys ?? [key],
    backplane: options?.backplane ?? memoryBackplane(),
    audience: options?.audience ?? 'shop',
    ...(options?.ttlMs === undefined ? {} : { ttlMs: options.ttlMs }),
    ...(options?.acceptUnasked === undefined ? {} : { acceptUnasked: options.acceptUnasked }),
    onRefused: (reason) => refusals.push(reason),
  })
  return { asking, refusals }
}

/** Plays the client: answers every round with `answer` until the outcome is complete. */
async function play(
  asking: Asking | (() => Asking),
  run: Run,
  answer: (question: Question, key: string) => unknown = () => yes,
): Promise<{ rounds: InputRequests[]; outcome: Outcome; states: string[] }> {
  const pick = typeof asking === 'function' ? asking : () => asking
  const rounds: InputRequests[] = []
  const states: string[] = []
  let params: JsonObject = {}
  for (let round = 0; round < 12; round++) {
    const outcome = await conduct(exchange(pick(), params), run, finish)
    if (outcome.type !== 'input_required') return { rounds, outcome, states }
    rounds.push(outcome.requests)
    const inputResponses = Object.fromEntries(
      Object.entries(outcome.requests).map(([name, question]) => [name, answer(question, name)]),
    )
    if (outcome.state !== undefined) states.push(outcome.state)
    params = { inputResponses, ...(outcome.state === undefined ? {} : { requestState: outcome.state }) }
  }
  throw new Error('the client gave up')
}

async function firstRound(asking: Asking, run: Run): Promise<{ requests: InputRequests; state: string }> {
  const outcome = await conduct(exchange(asking, {}), run, finish)
  if (outcome.type !== 'input_required' || outcome.state === undefined) throw new Error('no round')
  return { requests: outcome.requests, state: outcome.state }
}

describe('a straight-line handler on the stateless era', () => {
  it('tells the questions of one turn in the order in which they were put', async () => {
    const sizes = [200_000, 1, 50_000, 2, 100_000, 3]
    const { requests } = await firstRound(node().asking, (handle) =>
      Promise.all(sizes.map((size, at) => handle.get().put(form('x'.repeat(size)), `q${at}`))),
    )
    expect(Object.keys(requests)).toEqual(['q0', 'q1', 'q2', 'q3', 'q4', 'q5'])
  })

  it('is told that it was parked by a signal it took before it asked', async () => {
    const signals: AbortSignal[] = []
    const { asking } = node()
    await firstRound(asking, async (handle) => {
      const { parked } = handle.get()
      signals.push(parked)
      await handle.get().step('once', () => 1)
      expect(parked.aborted).toBe(false)
      await handle.get().put(form('Sure?'))
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('is refused a key that could be guessed before anything is asked', () => {
    expect(() => node({ keys: ['short'] })).toThrow('at least 32 bytes')
  })

  it('runs again from the top with the answers so far, on any node that shares the keys and the backplane', async () => {
    const backplane = memoryBackplane()
    const nodes = [node({ backplane }), node({ backplane }), node({ backplane })]
    let turn = 0
    let entries = 0
    const { outcome, rounds } = await play(
      () => nodes[turn++ % 3]?.asking ?? nodes[0]?.asking ?? node().asking,
      async (handle) => {
        entries++
        const first = await handle.get().put(form('First?'))
        const second = await handle.get().put(form('Second?'))
        return [first.action, second.action]
      },
    )
    expect(outcome).toEqual({ type: 'complete', result: { value: ['accept', 'accept'] } })
    expect(rounds.map((round) => Object.keys(round))).toEqual([['elicitation_1'], ['elicitation_2']])
    expect(entries).toBe(3)
  })

  it('finds answers by question: an answer never moves to a question inserted before it', async () => {
    const asking = node().asking
    const deleted: string[] = []
    const asked: string[] = []
    let deployed = false
    await play(
      asking,
      async (handle) => {
        if (deployed) {
          const all = await handle.get().put(form('Delete everything?'))
          if (all.action === 'accept') deleted.push('everything')
        }
        deployed = true
        await handle.get().put(form('Send a receipt?'))
        return 'done'
      },
      (question) => {
        const message = 'message' in question.params ? String(question.params.message) : ''
        asked.push(message)
        return message === 'Send a receipt?' ? yes : { action: 'decline' }
      },
    )
    expect(deleted).toEqual([])
    expect(asked).toContain('Delete everything?')
  })

  it('asks the same question twice as two questions', async () => {
    const answers = [yes, { action: 'decline' }]
    const { outcome } = await play(
      node().asking,
      async (handle) => {
        const first = await handle.get().put(form('Again?'))
        const second = await handle.get().put(form('Again?'))
        return [first.action, second.action]
      },
      () => answers.shift(),
    )
    expect(outcome).toEqual({ type: 'complete', result: { value: ['accept', 'decline'] } })
  })

  it('parks an unanswered question instead of throwing, so that no catch falls through', async () => {
    let fellThrough = false
    const { requests } = await firstRound(node().asking, async (handle) => {
      try {
        await handle.get().put(form('Delete?'))
      } catch {
        fellThrough = true
      } finally {
        fellThrough = true
      }
      return 'deleted'
    })
    expect(Object.keys(requests)).toHaveLength(1)
    expect(fellThrough).toBe(false)
  })

  it('does not abort the signal of a parked handler, and aborts `parked`', async () => {
    let signal: AbortSignal | undefined
    let parked: AbortSignal | undefined
    const asking = node().asking
    const one = exchange(asking, {})
    await conduct(
      one,
      async (handle) => {
        signal = one.signal
        parked = handle.get().parked
        await handle.get().put(form('Go on?'))
      },
      finish,
    )
    expect(signal?.aborted).toBe(false)
    expect(parked?.aborted).toBe(true)
  })

  it('ends the request with -32021 when the client cannot be asked, and does not resume the handler', async () => {
    let resumed = false
    const run = async (handle: RoundHandle): Promise<string> => {
      await handle
        .get()
        .put(form('Delete?'))
        .catch(() => {})
      resumed = true
      return 'deleted'
    }
    const ended = conduct(exchange(node().asking, {}, { capabilities: { sampling: {} } }), run, finish)
    await expect(ended).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    })
    expect(resumed).toBe(false)
  })

  it('sends everything asked in one turn in one round', async () => {
    const { rounds } = await play(
      node().asking,
      (handle) =>
        Promise.all([
          handle.get().put(form('A?')),
          handle.get().put({
            method: 'sampling/createMessage',
            params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
          }),
          handle.get().put({ method: 'roots/list', params: {} }),
        ]),
      (question) =>
        question.method === 'elicitation/create'
          ? yes
          : question.method === 'roots/list'
            ? { roots: [] }
            : { role: 'assistant', content: { type: 'text', text: 'ok' }, model: 'm' },
    )
    expect(rounds.map((round) => Object.keys(round).sort())).toEqual([
      ['elicitation_1', 'roots_1', 'sampling_1'],
    ])
  })

  it('lets a failing sibling win over a question nobody needs any more', async () => {
    const run: Run = (handle) =>
      Promise.all([handle.get().put(form('A?')), Promise.reject(new Error('no stock'))])
    await expect(conduct(exchange(node().asking, {}), run, finish)).rejects.toThrow('no stock')
  })

  it('runs a step once in the life of a request and waits for a running one before it closes the round', async () => {
    let charges = 0
    const keys = new Set<string>()
    const { outcome } = await play(node().asking, async (handle) => {
      const charged = handle.get().step('charge', async (idempotencyKey) => {
        keys.add(idempotencyKey)
        await new Promise((resolve) => setTimeout(resolve, 20))
        return { receipt: ++charges }
      })
      const [receipt] = await Promise.all([charged, handle.get().put(form('Mail it?'))])
      await handle.get().put(form('Rate us?'))
      return receipt
    })
    expect(outcome).toEqual({ type: 'complete', result: { value: { receipt: 1 } } })
    expect(charges).toBe(1)
    expect(keys.size).toBe(1)
  })

  it.each(['__proto__', 'constructor', 'toString'])('may name a step and a question "%s"', async (name) => {
    let ran = 0
    const { outcome, rounds } = await play(node().asking, async (handle) => {
      const round = handle.get()
      const value = await round.step(name, () => ++ran)
      const first = await round.put(form('A?'), name)
      const second = await round.put(form('B?'), 'b')
      return [value, first.action, second.action]
    })
    expect(outcome).toEqual({ type: 'complete', result: { value: [1, 'accept', 'accept'] } })
    expect(rounds.map((round) => Object.keys(round))).toEqual([[name], ['b']])
    expect(ran).toBe(1)
  })

  it('does not take the second step of one name for a step of another', async () => {
    const { outcome } = await play(node().asking, async (handle) => {
      const round = handle.get()
      const values = [
        await round.step('a', () => 'first a'),
        await round.step('a', () => 'second a'),
        await round.step('a#2', () => 'a#2'),
        await round.step('2:a', () => '2:a'),
      ]
      await round.put(form('Go?'))
      return values
    })
    expect(outcome).toEqual({ type: 'complete', result: { value: ['first a', 'second a', 'a#2', '2:a'] } })
  })

  it('is replaying until the last remembered answer was read', async () => {
    const seen: boolean[] = []
    await play(node().asking, async (handle) => {
      seen.push(handle.get().replaying)
      await handle.get().put(form('A?'))
      seen.push(handle.get().replaying)
    })
    expect(seen).toEqual([false, true, false])
  })

  it('names and refuses a question that never reads the same', async () => {
    let n = 0
    const run: Run = async (handle) => {
      await handle.get().put(form(`It is ${n++}. Go?`), 'go')
    }
    await expect(play(node().asking, run)).rejects.toThrow(/"go" reads differently/)
  })

  it('keeps answers that a later run did not reach yet', async () => {
    const asked: string[] = []
    let runs = 0
    await play(
      node().asking,
      async (handle) => {
        const round = handle.get()
        runs++
        if (runs === 2) await round.put(form('New first?'))
        await Promise.all([round.put(form('A?')), round.put(form('B?'))])
        if (runs > 2) await round.put(form('New first?'))
      },
      (question) => {
        asked.push('message' in question.params ? String(question.params.message) : '')
        return yes
      },
    )
    expect(asked.sort()).toEqual(['A?', 'B?', 'New first?'])
  })
})

describe('the sealed state', () => {
  const run: Run = async (handle) => {
    const answer = await handle.get().put(form('Refund 7?'))
    return answer.action
  }
  const retry = (
    asking: Asking,
    state: unknown,
    overrides?: { params?: JsonObject; peer?: Partial<Exchange['peer']> },
  ) =>
    conduct(
      exchange(
        asking,
        { requestState: state, inputResponses: { elicitation_1: yes }, ...overrides?.params },
        overrides?.peer,
      ),
      run,
      finish,
    )

  it('is refused with one and the same message whatever was changed, and the reason stays in the log', async () => {
    const shop = node()
    const cases: [string, (state: string) => Promise<Outcome>][] = [
      ['not sealed by a key of this server', (state) => retry(shop.asking, `${state}A`)],
      ['not a string', (_state) => retry(shop.asking, 12)],
      [
        'sealed for another request',
        (state) => retry(shop.asking, state, { params: { arguments: { order: '8' } } }),
      ],
      [
        'sealed for another principal',
        (state) => retry(shop.asking, state, { peer: { principal: 'mallory' } }),
      ],
    ]
    const messages = new Set<string>()
    for (const [reason, attempt] of cases) {
      const { state } = await firstRound(shop.asking, run)
      const error = await attempt(state).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(RpcError)
      expect(error).toMatchObject({ code: -32602 })
      messages.add(String(error))
      expect(shop.refusals.at(-1)).toBe(reason)
    }
    expect(messages.size).toBe(1)
  })

  it('does not survive a change of any single character', async () => {
    const shop = node()
    const { state } = await firstRound(shop.asking, run)
    for (let i = 0; i < state.length; i += 7) {
      const flipped = `${state.slice(0, i)}${state[i] === 'A' ? 'B' : 'A'}${state.slice(i + 1)}`
      await expect(retry(shop.asking, flipped)).rejects.toMatchObject({ code: -32602 })
    }
    await expect(retry(shop.asking, state)).resolves.toMatchObject({ type: 'complete' })
  })

  it('expires', async () => {
    const shop = node({ ttlMs: -1 })
    const { state } = await firstRound(shop.asking, run)
    await expect(retry(shop.asking, state)).rejects.toMatchObject({ code: -32602 })
    expect(shop.refusals).toEqual(['expired'])
  })

  it('is good once: the same retry sent twice runs once', async () => {
    const shop = node()
    const { state } = await firstRound(shop.asking, run)
    const both = await Promise.allSettled([retry(shop.asking, state), retry(shop.asking, state)])
    expect(both.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(shop.refusals).toEqual(['used before'])
  })

  it('opens under an older key of the ring, and not for another audience', async () => {
    const old = node({ keys: [key] })
    const { state } = await firstRound(old.asking, run)
    const rotated = node({ keys: ['n'.repeat(32), key] })
    await expect(retry(rotated.asking, state)).resolves.toMatchObject({ type: 'complete' })
    const other = node({ audience: 'bank' })
    const again = await firstRound(old.asking, run)
    await expect(retry(other.asking, again.state)).rejects.toMatchObject({ code: -32602 })
  })

  it('moves to the backplane when it grows over 64 kB', async () => {
    const shop = node()
    const big = 'x'.repeat(100_000)
    const { outcome, states } = await play(shop.asking, async (handle) => {
      const text = await handle.get().step('load', () => big)
      await handle.get().put(form('Go?'))
      return text.length
    })
    expect(states[0]?.length).toBeLessThan(500)
    expect(outcome).toEqual({ type: 'complete', result: { value: 100_000 } })
  })

  it('hides what it holds', async () => {
    const { state } = await firstRound(node().asking, run)
    expect(Buffer.from(state.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('Refund')
  })

  it('refuses short keys', () => {
    expect(() => createSealer(['short'])).toThrow(/at least 32 bytes/)
  })
})

describe('answers', () => {
  const run: Run = async (handle) => (await handle.get().put(form('Go?'), 'go')).action

  it('to questions that were never put are not used', async () => {
    const outcome = await conduct(exchange(node().asking, { inputResponses: { go: yes } }), run, finish)
    expect(outcome.type).toBe('input_required')
  })

  it('that were never asked for are used only where that was opted into', async () => {
    const asking = node({ acceptUnasked: true }).asking
    const outcome = await conduct(exchange(asking, { inputResponses: { go: yes } }), run, finish)
    expect(outcome).toEqual({ type: 'complete', result: { value: 'accept' } })
  })

  it('that are missing are asked for again', async () => {
    const asking = node().asking
    const { state } = await firstRound(asking, run)
    const outcome = await conduct(
      exchange(asking, { requestState: state, inputResponses: { other: yes } }),
      run,
      finish,
    )
    expect(outcome).toMatchObject({
      type: 'input_required',
      requests: { go: { method: 'elicitation/create' } },
    })
  })

  it.each([
    ['not an object', 12345, /must be an object/],
    ['an unknown action', { action: 'maybe' }, /accept, decline or cancel/],
    [
      'content that does not fit the form',
      { action: 'accept', content: { ok: 'yes' } },
      /"ok" must be true or false/,
    ],
  ])('that are %s are refused with the reason', async (_what, answer, reason) => {
    const asking = node().asking
    const { state } = await firstRound(asking, run)
    const retry = conduct(
      exchange(asking, { requestState: state, inputResponses: { go: answer } }),
      run,
      finish,
    )
    await expect(retry).rejects.toMatchObject({ code: -32602, message: expect.stringMatching(reason) })
  })

  it('lose the values nobody asked for', async () => {
    const asking = node().asking
    const whole: Run = async (handle) => handle.get().put(form('Go?'), 'go')
    const { state } = await firstRound(asking, whole)
    const inputResponses = { go: { action: 'accept', content: { ok: true, admin: true } } }
    const outcome = await conduct(exchange(asking, { requestState: state, inputResponses }), whole, finish)
    expect(outcome).toEqual({ type: 'complete', result: { value: yes } })
  })
})

describe('the explicit form', () => {
  const run: Run = (handle) => {
    const { state, answers } = handle.carried
    if (state === undefined) return new InputRequired({ name: form('Your name?') }, { step: 1 })
    if (answers['sure'] === undefined) return new InputRequired({ sure: form('Sure?') }, { step: 2 })
    return { state, names: Object.keys(answers).sort() }
  }

  it('carries state and answers over the rounds', async () => {
    const { outcome, rounds } = await play(node().asking, run)
    expect(outcome).toEqual({
      type: 'complete',
      result: { value: { state: { step: 2 }, names: ['name', 'sure'] } },
    })
    expect(rounds.map((round) => Object.keys(round))).toEqual([['name'], ['sure']])
  })

  it('is answered by live requests on a session', async () => {
    const asked: string[] = []
    const asking = live(async (method) => {
      asked.push(method)
      return yes
    })
    const outcome = await conduct(exchange(asking, {}, { revision: revisions['2025-11-25'] }), run, finish)
    expect(outcome).toEqual({
      type: 'complete',
      result: { value: { state: { step: 2 }, names: ['name', 'sure'] } },
    })
    expect(asked).toEqual(['elicitation/create', 'elicitation/create'])
  })

  it('may carry state alone', async () => {
    let runs = 0
    const { outcome, rounds } = await play(node().asking, (handle) =>
      handle.carried.state === undefined && runs++ === 0
        ? new InputRequired({}, 'later')
        : handle.carried.state,
    )
    expect(rounds).toEqual([{}])
    expect(outcome).toEqual({ type: 'complete', result: { value: 'later' } })
  })

  it('must ask or carry something', async () => {
    await expect(
      conduct(exchange(node().asking, {}), () => new InputRequired({}, undefined), finish),
    ).rejects.toThrow(TypeError)
  })
})

describe('a straight-line handler on a session', () => {
  const peer = { revision: revisions['2025-11-25'] }

  it('runs once, and its step too', async () => {
    let entries = 0
    const asking = live(async () => yes)
    const run: Run = async (handle) => {
      entries++
      const round = handle.get()
      const [a, b] = await Promise.all([round.put(form('A?')), round.put(form('B?'))])
      return [a.action, b.action, await round.step('s', () => 1)]
    }
    const outcome = await conduct(exchange(asking, {}, peer), run, finish)
    expect(outcome).toEqual({ type: 'complete', result: { value: ['accept', 'accept', 1] } })
    expect(entries).toBe(1)
  })

  it.each([
    ['the connection is lost', () => Promise.reject(new Error('socket 10.0.0.5 closed'))],
    [
      'the client answers with an error',
      () => Promise.reject(new RpcError(-1, 'User rejected sampling request')),
    ],
    ['the answer makes no sense', async () => ({ action: 'sure' })],
  ])('ends with an isError result and is not resumed when %s', async (_why, request) => {
    let resumed = false
    const run: Run = async (handle) => {
      try {
        await handle.get().put(form('Delete?'))
      } catch {
        resumed = true
      }
      resumed = true
      return 'deleted'
    }
    const outcome = await conduct(exchange(live(request), {}, peer), run, finish)
    expect(outcome).toMatchObject({ type: 'complete', result: { isError: true } })
    expect(JSON.stringify(outcome)).not.toContain('10.0.0.5')
    expect(resumed).toBe(false)
  })

  it('ends with an isError result when the capability is missing', async () => {
    const asking = live(async () => yes)
    const outcome = await conduct(
      exchange(asking, {}, { ...peer, capabilities: {} }),
      async (handle) => (await handle.get().put(form('Delete?'))).action,
      finish,
    )
    expect(outcome).toMatchObject({ type: 'complete', result: { isError: true } })
  })
})
