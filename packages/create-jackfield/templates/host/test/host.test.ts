import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Surface } from '@jackfield/host'
import { startHost } from '../src/host.ts'

/** A person who allows every call and accepts every form, with a record of what was asked. */
function agreeable(asked: string[]): Surface {
  return {
    name: 'test',
    show: {
      async approval({ tool }) {
        asked.push(`approval of ${tool.name}`)
        return { verdict: 'allow' }
      },
      async elicitation({ params }) {
        asked.push(params.message)
        return { action: 'accept', content: { confirm: true } }
      },
    },
  }
}

test('calls that a rule allows are not asked about', async () => {
  const asked: string[] = []
  await using host = await startHost(agreeable(asked))
  await host.call('notes__add', { text: 'Buy milk' }, { caller: 'person' })
  const { result } = await host.call('notes__list', {}, { caller: 'person' })
  deepEqual(result.structuredContent, { notes: ['Buy milk'] })
  deepEqual(asked, [])
})

test('any other call needs the person, who then answers the question of the server', async () => {
  const asked: string[] = []
  await using host = await startHost(agreeable(asked))
  const { result, denied } = await host.call('notes__clear', {}, { caller: 'person' })
  equal(denied, false)
  deepEqual(result.content, [{ type: 'text', text: 'All notes were deleted.' }])
  deepEqual(asked, ['approval of notes__clear', 'Delete 0 notes?'])
})

test('without a surface nothing can be asked, and the call is refused', async () => {
  await using host = await startHost()
  const { denied } = await host.call('notes__clear', {}, { caller: 'person' })
  equal(denied, true)
})
