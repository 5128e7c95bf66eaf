import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost } from '../../src/host.ts'
import type { BrokeredCall, Host, HostAnswers, Surface } from '../../src/types/index.ts'
import { sessionProgram, until } from '../fixtures/hosts.ts'
import { type StatelessServer, statelessServer } from '../fixtures/stateless-server.ts'
import { form, type Program, program, seatAnswer } from './programs.ts'

const count = 20
const runs = process.env['JACKFIELD_LONG'] === undefined ? 20 : 1_000
const over: (() => unknown)[] = []
const names = ['a', 'b', 'c', 'd', 'e']
let asking: Host
let beside: Host
let child: Program

/** A surface that answers a question on request, as long as it is attached and shows it. */
class Face {
  readonly #shown = new Map<string, (answer: HostAnswers['elicitation']) => void>()
  readonly surface: Surface

  constructor(name: string) {
    this.surface = {
      name,
      show: {
        elicitation: ({ id }, signal) =>
          new Promise((resolve, reject) => {
            this.#shown.set(id, resolve)
            signal.addEventListener('abort', () => {
              this.#shown.delete(id)
              reject(signal.reason)
            })
          }),
      },
    }
  }

  answer(id: string, answer: HostAnswers['elicitation']): boolean {
    const answered = this.#shown.get(id)
    answered?.(answer)
    return answered !== undefined
  }
}

beforeAll(async () => {
  const at = mkdtempSync(join(tmpdir(), 'jackfield-inbox-'))
  over.push(() => rmSync(at, { recursive: true, force: true }))
  const store = join(at, 'activity.db')
  const stateless: StatelessServer[] = await Promise.all([1, 2, 3].map(() => statelessServer()))
  const configs = [
    ...stateless.map(({ url }) => ({ url })),
    ...[1, 2].map(() => ({ command: process.execPath, args: [sessionProgram()] })),
  ]
  asking = createHost({
    servers: Object.fromEntries(configs.map((config, n) => [names[n] ?? '', config])),
    models: [],
    store,
    rules: [{ id: 'all', verdict: 'allow' }],
    surface: { name: 'shelf', show: { elicitation: async () => undefined } },
  })
  await asking.start()
  beside = createHost({ servers: {}, models: [], store })
  child = await program('answerer.ts', { STORE: store }, (stop) => over.push(stop))
  over.push(
    () => asking.close(),
    () => beside.close(),
    ...stateless.map((server) => () => server.stop()),
  )
}, 60_000)

afterAll(async () => {
  for (const end of over.reverse()) await end()
})

type By = 'face' | 'inbox' | 'beside' | 'child'

it(`answers each of ${count} questions once, and to the call that asked, however they are answered`, async () => {
  const order = fc.shuffledSubarray(
    Array.from({ length: count }, (_, n) => n),
    { minLength: count, maxLength: count },
  )
  const answerers = fc.array(fc.constantFrom<By>('face', 'inbox', 'beside', 'child'), {
    minLength: count,
    maxLength: count,
  })
  const steps = fc.array(fc.integer({ min: 0, max: count - 1 }), { minLength: 4, maxLength: 4 })
  let run = 0
  await fc.assert(
    fc.asyncProperty(order, answerers, steps, async (order, answerers, steps) => {
      run++
      const label = (n: number): string => `run ${run} question ${n}`
      const calls = order.map((_, n) =>
        asking.call(`${names[n % names.length]}__ask`, { params: form(label(n)) }, { caller: 'cli' }),
      )
      await until(() => asking.inbox.list().length === count, 'all questions')
      const ids = new Map(
        beside.inbox.list().map(({ id, question }) => {
          if (question.kind !== 'elicitation') throw new Error(question.kind)
          return [question.params.message, id]
        }),
      )
      const attached = new Face('face')
      let detach: (() => void) | undefined
      const refusals: string[] = []
      const answerFrom = async (by: By, id: string, answer: HostAnswers['elicitation']): Promise<boolean> => {
        if (by === 'face') return attached.answer(id, answer)
        if (by === 'child') {
          const reply = await child.sendLine({ id, answer })
          if (reply !== 'answered') refusals.push(reply)
          return reply === 'answered'
        }
        try {
          const host = by === 'inbox' ? asking : beside
          host.inbox.answer(id, answer, by)
          return true
        } catch (error) {
          refusals.push(String(error))
          return false
        }
      }
      let refused = 0
      for (const [step, n] of order.entries()) {
        // Faces come and go twice while the questions are open.
        if (steps.includes(step)) {
          if (detach === undefined) detach = asking.attach(attached.surface)
          else {
            detach()
            detach = undefined
          }
          await new Promise(setImmediate)
        }
        const id = ids.get(label(n)) ?? ''
        const by = answerers[n] ?? 'inbox'
        if (!(await answerFrom(by, id, seatAnswer(label(n)))))
          expect(await answerFrom('beside', id, seatAnswer(label(n)))).toBe(true)
        await new Promise(setImmediate)
        const again = answerers[(n + 1) % count] ?? 'inbox'
        if (again !== 'face') {
          expect(await answerFrom(again, id, seatAnswer('somebody else'))).toBe(false)
          refused++
        }
      }
      detach?.()
      expect(refusals).toHaveLength(refused)
      for (const refusal of refusals)
        expect(refusal).toMatch(/was already answered by (face|inbox|beside|another program) at/)
      const results = await Promise.all(calls)
      expect(results.map(answeredSeat)).toEqual(calls.map((_, n) => label(n)))
      expect(asking.inbox.list()).toEqual([])
    }),
    { numRuns: runs },
  )
  expect(beside.inbox.list({ state: 'all', limit: 100_000 }).length).toBeLessThanOrEqual(1_000 + count)
}, 1_800_000)

function answeredSeat({ result }: BrokeredCall): unknown {
  const [block] = result.content
  return block?.type === 'text' ? JSON.parse(block.text).answer?.content?.seat : undefined
}
