import { describe, expect, it } from 'vitest'
import { revisions } from '../../src/protocol/revisions.ts'
import { InputRequired } from '../../src/request/exchange.ts'
import { liveInput } from '../../src/request/live-run.ts'
import { runToOutcome } from '../../src/server/handler-context.ts'
import { exchange, finish, firstRound, form, node, play, type Run, yes } from './rounds.ts'

describe('input responses', () => {
  const run: Run = async (handle) => (await handle.get().ask(form('Go?'), 'go')).action

  it('to unknown questions are not used', async () => {
    const outcome = await runToOutcome(exchange(node().asking, { inputResponses: { go: yes } }), run, finish)
    expect(outcome.type).toBe('input_required')
  })

  it('that were not requested are used only with the option for it', async () => {
    const asking = node({ acceptUnasked: true }).asking
    const outcome = await runToOutcome(exchange(asking, { inputResponses: { go: yes } }), run, finish)
    expect(outcome).toEqual({ type: 'complete', result: { value: 'accept' } })
  })

  it('that are missing are requested again', async () => {
    const asking = node().asking
    const { state } = await firstRound(asking, run)
    const outcome = await runToOutcome(
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
  ])('that are %s are rejected with the reason', async (_what, answer, reason) => {
    const asking = node().asking
    const { state } = await firstRound(asking, run)
    const retry = runToOutcome(
      exchange(asking, { requestState: state, inputResponses: { go: answer } }),
      run,
      finish,
    )
    await expect(retry).rejects.toMatchObject({ code: -32602, message: expect.stringMatching(reason) })
  })

  it('lose unrequested values', async () => {
    const asking = node().asking
    const whole: Run = async (handle) => handle.get().ask(form('Go?'), 'go')
    const { state } = await firstRound(asking, whole)
    const inputResponses = { go: { action: 'accept', content: { ok: true, admin: true } } }
    const outcome = await runToOutcome(
      exchange(asking, { requestState: state, inputResponses }),
      whole,
      finish,
    )
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

  it('transfers state and responses over the rounds', async () => {
    const { outcome, rounds } = await play(node().asking, run)
    expect(outcome).toEqual({
      type: 'complete',
      result: { value: { state: { step: 2 }, names: ['name', 'sure'] } },
    })
    expect(rounds.map((round) => Object.keys(round))).toEqual([['name'], ['sure']])
  })

  it('is served with live requests on a session', async () => {
    const asked: string[] = []
    const asking = liveInput(async (method) => {
      asked.push(method)
      return yes
    })
    const outcome = await runToOutcome(
      exchange(asking, {}, { revision: revisions['2025-11-25'] }),
      run,
      finish,
    )
    expect(outcome).toEqual({
      type: 'complete',
      result: { value: { state: { step: 2 }, names: ['name', 'sure'] } },
    })
    expect(asked).toEqual(['elicitation/create', 'elicitation/create'])
  })

  it('may contain only state', async () => {
    let runs = 0
    const { outcome, rounds } = await play(node().asking, (handle) =>
      handle.carried.state === undefined && runs++ === 0
        ? new InputRequired({}, 'later')
        : handle.carried.state,
    )
    expect(rounds).toEqual([{}])
    expect(outcome).toEqual({ type: 'complete', result: { value: 'later' } })
  })

  it('must contain a question or state', async () => {
    await expect(
      runToOutcome(exchange(node().asking, {}), () => new InputRequired({}, undefined), finish),
    ).rejects.toThrow(TypeError)
  })
})
