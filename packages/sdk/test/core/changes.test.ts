import type { Change } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it, vi } from 'vitest'
import { createChanges } from '../../src/request/changes.ts'

describe('changes', () => {
  it('reach every subscriber, also those published before it reads', async () => {
    const changes = createChanges()
    const stop = new AbortController()
    const seen: Change[] = []
    const watching = changes.watch((change) => change.type !== 'prompts', stop.signal)
    changes.publish({ type: 'tools' })
    changes.publish({ type: 'prompts' })
    changes.publish({ type: 'resource', uri: 'a:b' })
    for await (const change of watching) {
      seen.push(change)
      if (seen.length === 2) stop.abort()
    }
    expect(seen).toEqual([{ type: 'tools' }, { type: 'resource', uri: 'a:b' }])
  })

  it('that are equal and unread are merged, so that a slow reader stays bounded', async () => {
    const changes = createChanges()
    const stop = new AbortController()
    const watching = changes.watch(() => true, stop.signal)
    for (let i = 0; i < 10_000; i++) changes.publish({ type: 'tools' })
    changes.publish({ type: 'resources' })
    const seen: Change[] = []
    for await (const change of watching) {
      seen.push(change)
      if (change.type === 'resources') stop.abort()
    }
    expect(seen).toEqual([{ type: 'tools' }, { type: 'resources' }])
  })

  it('end when the signal aborts, also while waiting', async () => {
    const stop = new AbortController()
    const reading = (async () => {
      for await (const _change of createChanges().watch(() => true, stop.signal));
      return 'over'
    })()
    stop.abort()
    await expect(reading).resolves.toBe('over')
  })
})

describe('the backplane in memory', () => {
  it('adds only if absent, swaps only expected values, and expires in time', async () => {
    vi.useFakeTimers()
    try {
      const plane = memoryBackplane()
      expect(await plane.add('k', 'a', 1000)).toBe(true)
      expect(await plane.add('k', 'b', 1000)).toBe(false)
      expect(await plane.swap('k', 'x', 'c', 1000)).toBe(false)
      expect(await plane.swap('k', 'a', 'c', 1000)).toBe(true)
      expect(await plane.get('k')).toBe('c')
      vi.advanceTimersByTime(1001)
      expect(await plane.get('k')).toBeUndefined()
      expect(await plane.add('k', 'd', 1000)).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  it('returns log entries from a position on, and reports a lost position', async () => {
    const plane = memoryBackplane()
    const positions: string[] = []
    for (const entry of ['a', 'b', 'c', 'd']) positions.push(await plane.append('log', entry, 3, 1000))
    const [a = '', , c = '', d = ''] = positions
    expect(await plane.read('log', c)).toEqual([
      { position: c, entry: 'c' },
      { position: d, entry: 'd' },
    ])
    expect(await plane.read('log', d)).toEqual([{ position: d, entry: 'd' }])
    for (const unknown of [a, '0', `${d}0`, `0${d}`, 'x', '']) {
      expect(await plane.read('log', unknown)).toBeUndefined()
    }
    expect(await plane.read('none', c)).toBeUndefined()
  })

  it('publishes to subscribers until they unsubscribe', async () => {
    const plane = memoryBackplane()
    const received: string[] = []
    const unsubscribe = await plane.subscribe('t', (message) => received.push(message))
    await plane.publish('t', '1')
    unsubscribe()
    await plane.publish('t', '2')
    expect(received).toEqual(['1'])
  })
})
