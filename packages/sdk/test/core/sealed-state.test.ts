import { type Exchange, type InputStrategy, type JsonObject, type Outcome, RpcError } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it } from 'vitest'
import { createSealer } from '../../src/request/state.ts'
import { runToOutcome } from '../../src/server/handler-context.ts'
import { exchange, finish, firstRound, form, key, node, play, type Run, yes } from './rounds.ts'

describe('the sealed state', () => {
  const run: Run = async (handle) => {
    const answer = await handle.get().ask(form('Refund 7?'))
    return answer.action
  }
  const retry = async (
    asking: InputStrategy,
    state: unknown,
    overrides?: { params?: JsonObject; peer?: Partial<Exchange['peer']> },
  ) =>
    runToOutcome(
      exchange(
        asking,
        { requestState: state, inputResponses: { elicitation_1: yes }, ...overrides?.params },
        overrides?.peer,
      ),
      run,
      finish,
    )

  it('is rejected with the same message for any change, and the reason is only logged', async () => {
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

  it('is invalid after a change of any single character', async () => {
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

  it('is single-use: the same retry sent twice runs once', async () => {
    const shop = node()
    const { state } = await firstRound(shop.asking, run)
    const both = await Promise.allSettled([retry(shop.asking, state), retry(shop.asking, state)])
    expect(both.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(shop.refusals).toEqual(['used before'])
  })

  it('opens with an older key of the ring, and not for another audience', async () => {
    const backplane = memoryBackplane()
    const old = node({ keys: [key], backplane })
    const { state } = await firstRound(old.asking, run)
    const rotated = node({ keys: ['n'.repeat(32), key], backplane })
    await expect(retry(rotated.asking, state)).resolves.toMatchObject({ type: 'complete' })
    const other = node({ audience: 'bank', backplane })
    const again = await firstRound(old.asking, run)
    await expect(retry(other.asking, again.state)).rejects.toMatchObject({ code: -32602 })
  })

  it('is stored in the backplane when it exceeds 64 kB', async () => {
    const shop = node()
    const big = 'x'.repeat(100_000)
    const { outcome, states } = await play(shop.asking, async (handle) => {
      const text = await handle.get().step('load', () => big)
      await handle.get().ask(form('Go?'))
      return text.length
    })
    expect(states[0]?.length).toBeLessThan(500)
    expect(outcome).toEqual({ type: 'complete', result: { value: 100_000 } })
  })

  it('is encrypted', async () => {
    const { state } = await firstRound(node().asking, run)
    expect(Buffer.from(state.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('Refund')
  })

  it('rejects short keys', () => {
    expect(() => createSealer(['short'])).toThrow(/at least 32 bytes/)
  })
})
