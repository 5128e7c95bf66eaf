import { RpcError } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it } from 'vitest'
import { revisions } from '../../src/protocol/revisions.ts'
import { liveInput } from '../../src/request/live-run.ts'
import { type LazyHandlerRun, runToOutcome } from '../../src/server/handler-context.ts'
import { exchange, finish, firstRound, form, node, play, type Run, yes } from './rounds.ts'

describe('a straight-line handler on the stateless era', () => {
  it('sends the input requests of one turn in their order', async () => {
    const sizes = [200_000, 1, 50_000, 2, 100_000, 3]
    const { requests } = await firstRound(node().asking, (handle) =>
      Promise.all(sizes.map((size, at) => handle.get().ask(form('x'.repeat(size)), `q${at}`))),
    )
    expect(Object.keys(requests)).toEqual(['q0', 'q1', 'q2', 'q3', 'q4', 'q5'])
  })

  it('is notified of its suspension by a signal obtained before the question', async () => {
    const signals: AbortSignal[] = []
    const { asking } = node()
    await firstRound(asking, async (handle) => {
      const { parked } = handle.get()
      signals.push(parked)
      await handle.get().step('once', () => 1)
      expect(parked.aborted).toBe(false)
      await handle.get().ask(form('Sure?'))
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('is rejected with a guessable key before anything is asked', () => {
    expect(() => node({ keys: ['short'] })).toThrow('at least 32 bytes')
  })

  it('runs again from the top with the responses so far, on any node that shares the keys and the backplane', async () => {
    const backplane = memoryBackplane()
    const nodes = [node({ backplane }), node({ backplane }), node({ backplane })]
    let turn = 0
    let entries = 0
    const { outcome, rounds } = await play(
      () => nodes[turn++ % 3]?.asking ?? nodes[0]?.asking ?? node().asking,
      async (handle) => {
        entries++
        const first = await handle.get().ask(form('First?'))
        const second = await handle.get().ask(form('Second?'))
        return [first.action, second.action]
      },
    )
    expect(outcome).toEqual({ type: 'complete', result: { value: ['accept', 'accept'] } })
    expect(rounds.map((round) => Object.keys(round))).toEqual([['elicitation_1'], ['elicitation_2']])
    expect(entries).toBe(3)
  })

  it('matches responses by question: one never moves to a question inserted before it', async () => {
    const asking = node().asking
    const deleted: string[] = []
    const asked: string[] = []
    let deployed = false
    await play(
      asking,
      async (handle) => {
        if (deployed) {
          const all = await handle.get().ask(form('Delete everything?'))
          if (all.action === 'accept') deleted.push('everything')
        }
        deployed = true
        await handle.get().ask(form('Send a receipt?'))
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

  it('treats the same question twice as two questions', async () => {
    const answers = [yes, { action: 'decline' }]
    const { outcome } = await play(
      node().asking,
      async (handle) => {
        const first = await handle.get().ask(form('Again?'))
        const second = await handle.get().ask(form('Again?'))
        return [first.action, second.action]
      },
      () => answers.shift(),
    )
    expect(outcome).toEqual({ type: 'complete', result: { value: ['accept', 'decline'] } })
  })

  it('is suspended at an unanswered question instead of throwing, so that no catch runs', async () => {
    let fellThrough = false
    const { requests } = await firstRound(node().asking, async (handle) => {
      try {
        await handle.get().ask(form('Delete?'))
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

  it('does not abort the signal of a suspended handler, and aborts `parked`', async () => {
    let signal: AbortSignal | undefined
    let parked: AbortSignal | undefined
    const asking = node().asking
    const one = exchange(asking, {})
    await runToOutcome(
      one,
      async (handle) => {
        signal = one.signal
        parked = handle.get().parked
        await handle.get().ask(form('Go on?'))
      },
      finish,
    )
    expect(signal?.aborted).toBe(false)
    expect(parked?.aborted).toBe(true)
  })

  it('ends the request with -32021 when the client cannot answer, and does not resume the handler', async () => {
    let resumed = false
    const run = async (handle: LazyHandlerRun): Promise<string> => {
      await handle
        .get()
        .ask(form('Delete?'))
        .catch(() => {})
      resumed = true
      return 'deleted'
    }
    const ended = runToOutcome(exchange(node().asking, {}, { capabilities: { sampling: {} } }), run, finish)
    await expect(ended).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    })
    expect(resumed).toBe(false)
  })

  it('names the form mode to a client that declared URLs alone', async () => {
    const run = (handle: LazyHandlerRun): Promise<unknown> => handle.get().ask(form('Delete?'))
    const capabilities = { elicitation: { url: {} } }
    await expect(
      runToOutcome(exchange(node().asking, {}, { capabilities }), run, finish),
    ).rejects.toMatchObject({
      message: expect.stringContaining('not declared: elicitation.form'),
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    })
  })

  it('sends all questions of one turn in one round', async () => {
    const { rounds } = await play(
      node().asking,
      (handle) =>
        Promise.all([
          handle.get().ask(form('A?')),
          handle.get().ask({
            method: 'sampling/createMessage',
            params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
          }),
          handle.get().ask({ method: 'roots/list', params: {} }),
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

  it('prefers the error of a failed sibling over a question that is no longer needed', async () => {
    const run: Run = (handle) =>
      Promise.all([handle.get().ask(form('A?')), Promise.reject(new Error('no stock'))])
    await expect(runToOutcome(exchange(node().asking, {}), run, finish)).rejects.toThrow('no stock')
  })

  it('runs a step once in the lifetime of a request and waits for a running one before it ends the round', async () => {
    let charges = 0
    const keys = new Set<string>()
    const { outcome } = await play(node().asking, async (handle) => {
      const charged = handle.get().step('charge', async (idempotencyKey) => {
        keys.add(idempotencyKey)
        await new Promise((resolve) => setTimeout(resolve, 20))
        return { receipt: ++charges }
      })
      const [receipt] = await Promise.all([charged, handle.get().ask(form('Mail it?'))])
      await handle.get().ask(form('Rate us?'))
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
      const first = await round.ask(form('A?'), name)
      const second = await round.ask(form('B?'), 'b')
      return [value, first.action, second.action]
    })
    expect(outcome).toEqual({ type: 'complete', result: { value: [1, 'accept', 'accept'] } })
    expect(rounds.map((round) => Object.keys(round))).toEqual([[name], ['b']])
    expect(ran).toBe(1)
  })

  it('does not mix up steps with equal names', async () => {
    const { outcome } = await play(node().asking, async (handle) => {
      const round = handle.get()
      const values = [
        await round.step('a', () => 'first a'),
        await round.step('a', () => 'second a'),
        await round.step('a#2', () => 'a#2'),
        await round.step('2:a', () => '2:a'),
      ]
      await round.ask(form('Go?'))
      return values
    })
    expect(outcome).toEqual({ type: 'complete', result: { value: ['first a', 'second a', 'a#2', '2:a'] } })
  })

  it('is replaying until the last stored response was used', async () => {
    const seen: boolean[] = []
    await play(node().asking, async (handle) => {
      seen.push(handle.get().replaying)
      await handle.get().ask(form('A?'))
      seen.push(handle.get().replaying)
    })
    expect(seen).toEqual([false, true, false])
  })

  it('reports and rejects a question that changes between runs', async () => {
    let n = 0
    const run: Run = async (handle) => {
      await handle.get().ask(form(`It is ${n++}. Go?`), 'go')
    }
    await expect(play(node().asking, run)).rejects.toThrow(/"go" differs in every run/)
  })

  it('keeps responses that a later run has not reached yet', async () => {
    const asked: string[] = []
    let runs = 0
    await play(
      node().asking,
      async (handle) => {
        const round = handle.get()
        runs++
        if (runs === 2) await round.ask(form('New first?'))
        await Promise.all([round.ask(form('A?')), round.ask(form('B?'))])
        if (runs > 2) await round.ask(form('New first?'))
      },
      (question) => {
        asked.push('message' in question.params ? String(question.params.message) : '')
        return yes
      },
    )
    expect(asked.sort()).toEqual(['A?', 'B?', 'New first?'])
  })
})

describe('a straight-line handler on a session', () => {
  const peer = { revision: revisions['2025-11-25'] }

  it('runs once, and its steps too', async () => {
    let entries = 0
    const asking = liveInput(async () => yes)
    const run: Run = async (handle) => {
      entries++
      const round = handle.get()
      const [a, b] = await Promise.all([round.ask(form('A?')), round.ask(form('B?'))])
      return [a.action, b.action, await round.step('s', () => 1)]
    }
    const outcome = await runToOutcome(exchange(asking, {}, peer), run, finish)
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
        await handle.get().ask(form('Delete?'))
      } catch {
        resumed = true
      }
      resumed = true
      return 'deleted'
    }
    const outcome = await runToOutcome(exchange(liveInput(request), {}, peer), run, finish)
    expect(outcome).toMatchObject({ type: 'complete', result: { isError: true } })
    expect(JSON.stringify(outcome)).not.toContain('10.0.0.5')
    expect(resumed).toBe(false)
  })

  it('ends with an isError result when the capability is missing', async () => {
    const asking = liveInput(async () => yes)
    const outcome = await runToOutcome(
      exchange(asking, {}, { ...peer, capabilities: {} }),
      async (handle) => (await handle.get().ask(form('Delete?'))).action,
      finish,
    )
    expect(outcome).toMatchObject({ type: 'complete', result: { isError: true } })
  })
})
