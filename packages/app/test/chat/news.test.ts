import type { AttachedCopy, CatalogTool } from '@jackfield/host'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createNews } from '../../src/chat/news.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const tool = (name: string, description = ''): CatalogTool => ({
  name,
  server: 'shop',
  tool: { name, description, inputSchema: { type: 'object' } },
})

const copy = (more: Partial<AttachedCopy> = {}): AttachedCopy => ({
  ...{ server: 'shop', uri: 'shop://stock', title: 'Stock\u001b[2J', at: '2027-01-01T00:00:00Z' },
  ...{ tokens: 3, messages: [], stale: false, watched: true },
  ...more,
})

/** Notices about changed tools and attached resources. */
function listening() {
  const now: { tools: CatalogTool[]; attached: AttachedCopy[]; connecting: string[] } = {
    tools: [tool('buy')],
    attached: [],
    connecting: [],
  }
  const printed: string[] = []
  const source = {
    tools: async () => now.tools,
    connecting: async () => new Set(now.connecting),
    attached: async () => now.attached,
  }
  const news = createNews(source, (text) => printed.push(text))
  const catalog = async (): Promise<void> => {
    news.catalogChanged()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  return { now, printed, news, catalog }
}

describe('events beside the conversation', () => {
  test('names new, removed and changed tools, once', async () => {
    const { now, printed, catalog } = listening()
    now.tools = [tool('sell'), tool('look')]
    await catalog()
    now.tools = [tool('sell', 'Sells'), tool('look')]
    await catalog()
    await catalog()
    expect(printed).toEqual([
      'Tools: new: sell, look; gone: buy. /tools lists them.',
      'Tools: changed: sell. /tools lists them.',
    ])
  })

  test('reports no tools of a server that is reconnecting', async () => {
    const { now, printed, catalog } = listening()
    await catalog()
    Object.assign(now, { tools: [], connecting: ['shop'] })
    await catalog()
    Object.assign(now, { tools: [tool('buy'), tool('sell')], connecting: [] })
    await catalog()
    expect(printed).toEqual(['Tools: new: sell. /tools lists them.'])
  })

  test('shows a warning of the host about a server, once', async () => {
    const { printed, news } = listening()
    for (let n = 0; n < 2; n++)
      await news.add({ type: 'warning', server: 'shop', message: 'Your answer cannot be recorded\u001b[2J' })
    expect(printed).toEqual(['shop: Your answer cannot be recorded'])
  })

  test('shows a repeated warning of a server once, and at the end how often it occurred', async () => {
    const { printed, news } = listening()
    const warn = (server: string, data: string, level = 'warning'): Promise<void> =>
      news.add({ type: 'log', server, level, data })
    for (let n = 0; n < 3; n++) await warn('shop', 'Stock is low')
    await warn('depot', 'Stock is low')
    for (let n = 0; n < 2; n++) await warn('shop', 'Cannot sell', 'error')
    const shown = ['shop [warning] Stock is low', 'depot [warning] Stock is low']
    const errors = ['shop [error] Cannot sell', 'shop [error] Cannot sell']
    expect(printed).toEqual([...shown, ...errors])
    news.end()
    expect(printed.at(-1)).toBe('shop [warning] Stock is low (repeated 2 times)')
    expect(printed).toHaveLength(5)
  })

  test('does not report tools that disappear only for a moment, and counts large numbers', async () => {
    const { now, printed, news, catalog } = listening()
    const before = now.tools
    now.tools = []
    for (let n = 0; n < 3; n++) {
      news.catalogChanged()
      await vi.advanceTimersByTimeAsync(200)
    }
    now.tools = before
    await catalog()
    now.tools = [...before, ...Array.from({ length: 50 }, (_, n) => tool(`t${n}`))]
    await catalog()
    expect(printed).toEqual(['Tools: new: t0, t1, t2, t3, t4, t5 and 44 more. /tools lists them.'])
  })

  test('names an attached resource that changed once for each attachment', async () => {
    const { now, printed, news } = listening()
    const changed = (): Promise<void> => news.attachedChanged()
    now.attached = [copy()]
    await changed()
    await news.add({ type: 'resource-updated', server: 'shop', uri: 'shop://stock' })
    expect(printed).toEqual([])
    now.attached = [copy({ stale: true })]
    await changed()
    await changed()
    expect(printed).toEqual([
      '! Stock (shop://stock) changed since it was attached. /attach again shows the difference and attaches the current version.',
    ])
    now.attached = [copy({ stale: true, at: '2027-01-02T00:00:00Z' })]
    await changed()
    expect(printed).toHaveLength(2)
  })
})
