import { expect, it } from 'vitest'
import type { HostOptions, PolicyRule } from '../../src/types/index.ts'
import { session, started, textOf, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { form, seatAnswer, storeFile } from '../inbox/programs.ts'
import { asksBack, roundsServer, text } from '../inbox/rounds-server.ts'

const allow: PolicyRule = { id: 'all', verdict: 'allow' }
const later = () =>
  person({ elicitation: () => undefined, result: () => ({ verdict: 'deny', reason: 'mine' }) })

it('a resumed call applies rules about results, and records its labels', async () => {
  const server = await roundsServer(({ inputResponses }, nth) =>
    nth % 2 === 1
      ? asksBack({ q: { method: 'elicitation/create', params: form() } }, 'the state')
      : text(inputResponses),
  )
  const store = storeFile()
  const web = session().config
  const host = (options: Partial<HostOptions>) =>
    started({
      servers: { s: { url: server.url, labels: ['private'] }, web },
      store,
      surface: later(),
      ...options,
    })
  /** Leaves a call behind, and takes it up in another host. */
  const resumedCall = async (conversation: string, rules: PolicyRule[]) => {
    const first = await host({ rules: [allow] })
    const call = first.call('s__book', {}, { caller: 'chat', conversation })
    await until(() => first.inbox.list().length === 1, 'asked')
    const id = first.inbox.list()[0]?.id ?? ''
    await first.close()
    await call
    const second = await host({ rules })
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    const done = await second.inbox.resumed(id)
    if (done === undefined) throw new Error('nothing was taken up')
    const out = second.policy.explain('web__echo', { text: '' }, { conversation })
    await second.close()
    return { done, labels: out.labels }
  }
  const waiting = await resumedCall('one', [allow, { id: 'look', verdict: 'ask', gate: 'result' }])
  expect(waiting.done).toMatchObject({ result: { isError: true }, release: { outcome: 'withheld' } })
  expect(textOf(waiting.done)).toContain('held back: the person refused: mine')
  expect(waiting.labels).toEqual([])
  const passed = await resumedCall('two', [allow])
  expect(passed.done.result.isError).not.toBe(true)
  expect(passed.done).not.toHaveProperty('release')
  expect(passed.labels).toEqual(['private'])
})
