import { type Backplane, defineServer, tool } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { session, webAdapter } from './http-support.ts'

/** The timers and clocks of leases, without those of streams and of the test runner. */
const clocks = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] as const

/** A node whose leases the store accepts only while `store.isThere`. */
async function leasing() {
  vi.useFakeTimers({ toFake: [...clocks] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const memory = memoryBackplane()
  const store = { isThere: true, refused: 0, leases: new Set<string>() }
  const backplane: Backplane = {
    ...memory,
    spansProcesses: true,
    set: async (key, ...rest) => {
      if (key.startsWith('lease:')) {
        store.leases.add(key)
        if (!store.isThere) {
          store.refused++
          throw new Error('The store is not there')
        }
      }
      await memory.set(key, ...rest)
    },
  }
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: { look: tool({ run: () => 'seen' }) },
    onError: () => {},
  })
  const node = await webAdapter(server, { backplane })
  onTestFinished(() => node.close())
  await session(node)
  const lease = async (): Promise<string | undefined> => {
    const [key = ''] = store.leases
    return memory.get(key)
  }
  return { store, lease }
}

it.each([6, 60])('a node has its lease again a second after the store was away for %s s', async (seconds) => {
  const { store, lease } = await leasing()
  expect(await lease()).toBe('running')
  for (let outage = 1; outage <= 3; outage++) {
    store.isThere = false
    store.refused = 0
    await vi.advanceTimersByTimeAsync(seconds * 1000)
    expect(store.refused).toBeGreaterThan(1)
    if (seconds > 10) expect(await lease()).toBeUndefined()
    store.isThere = true
    await vi.advanceTimersByTimeAsync(1000)
    expect(await lease()).toBe('running')
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await lease()).toBe('running')
  }
  expect(store.leases.size).toBe(1)
})
