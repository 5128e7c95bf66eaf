import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToolSearch } from '../../src/models/tool-search/tool-index.ts'
import type { CatalogTool, ToolSearchService } from '../../src/types/index.ts'
import { popularServers } from '../fixtures/popular-servers.ts'
import { corpusTools } from './corpus.ts'
import { popularQueries } from './popular-queries.ts'
import { queries } from './queries.ts'

const scale = createToolSearch(() => corpusTools)
const named = (of: ToolSearchService, query: string, limit?: number): string[] =>
  of.search(query, limit === undefined ? {} : { limit }).matches.map(({ tool }) => tool.name)

describe('searching among five hundred tools', () => {
  test('finds the right one among the first five for nine of ten queries', () => {
    expect(queries).toHaveLength(200)
    const missed = queries.filter(
      ({ server, tool, query }) =>
        !scale
          .search(query, { limit: 5 })
          .matches.some((match) => match.tool.server === server && match.tool.tool.name === tool),
    )
    expect(missed.length, missed.map(({ query }) => query).join('\n')).toBeLessThanOrEqual(20)
  })

  test('ranks an exact name first, alone and among other words', () => {
    for (const { name } of corpusTools.filter((_, n) => n % 10 === 0)) {
      expect(named(scale, name, 1)).toEqual([name])
      expect(named(scale, `please use ${name} for this delete list`, 1)).toEqual([name])
    }
  })

  test("ranks a tool's own name first", () => {
    for (const { tool } of corpusTools.filter((_, n) => n % 10 === 5)) {
      expect(scale.search(tool.name, { limit: 1 }).matches[0]?.tool.tool.name).toBe(tool.name)
    }
  })

  test('tolerates misspellings and word endings', () => {
    expect(named(scale, 'kubernets deploymnt replicas', 5)).toContain('kubernetes__get-deployment')
    expect(named(scale, 'creating invoices', 3)).toContain('stripe__create_invoice')
  })

  test('filters by server, and returns the total number', () => {
    const found = scale.search('create', { server: 'jira', limit: 3 })
    expect(found.matches.map(({ tool }) => tool.server)).toEqual(['jira', 'jira', 'jira'])
    expect(found.total).toBeGreaterThan(3)
    expect(scale.search('create', { server: 'nobody' })).toEqual({ matches: [], total: 0 })
  })

  test('works for any words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.integer(), (query, limit) => {
        const { matches, total } = scale.search(query, { limit })
        expect(matches.length).toBeLessThanOrEqual(Math.min(100, total))
        for (const { score } of matches) expect(score).toBeGreaterThan(0)
      }),
      { numRuns: 150 },
    )
  })
})

describe('searching among the tools of popular servers', () => {
  const tools = popularServers.flatMap(({ server, tools }) =>
    tools.map((tool): CatalogTool => ({ name: `${server}__${tool.name}`, server, tool })),
  )
  const popular = createToolSearch(() => tools)
  const places = popularQueries.map(({ server, tool, query }) => ({
    query,
    wanted: `${server}__${tool}`,
    found: named(popular, query, 3),
  }))
  const within = (count: number): number =>
    places.filter(({ wanted, found }) => found.slice(0, count).includes(wanted)).length / places.length

  test('has at least 200 queries, over at least 40 servers, each for an existing tool', () => {
    expect(popularQueries.length).toBeGreaterThanOrEqual(200)
    expect(new Set(popularQueries.map(({ server }) => server)).size).toBeGreaterThanOrEqual(40)
    const names = new Set(tools.map(({ name }) => name))
    expect(places.filter(({ wanted }) => !names.has(wanted))).toEqual([])
  })

  test('ranks the right one first for eight of ten queries, and among the first three for nine', () => {
    const missed = places
      .filter(({ wanted, found }) => found[0] !== wanted)
      .map(({ query, wanted, found }) => `${query}: wanted ${wanted}, found ${found.join(', ')}`)
    const figures = `first: ${(within(1) * 100).toFixed(1)} %, among three: ${(within(3) * 100).toFixed(1)} %\n${missed.join('\n')}`
    expect(within(3), figures).toBeGreaterThanOrEqual(0.9)
    expect(within(1), figures).toBeGreaterThanOrEqual(0.8)
  })
})

describe('the index follows tools', () => {
  const tool = (name: string, description: string): CatalogTool => ({
    name: `shop__${name}`,
    server: 'shop',
    tool: { name, description, inputSchema: { type: 'object' } },
  })

  test('that are added, removed and changed', () => {
    let tools = [tool('sell', 'Sells a teapot')]
    const shop = createToolSearch(() => tools)
    expect(named(shop, 'teapot')).toEqual(['shop__sell'])
    tools = [...tools, tool('weigh', 'Weighs a teapot')]
    expect(named(shop, 'teapot')).toHaveLength(2)
    tools = [tool('sell', 'Sells a kettle'), ...tools.slice(1)]
    expect(named(shop, 'teapot')).toEqual(['shop__weigh'])
    expect(named(shop, 'kettle')).toEqual(['shop__sell'])
    tools = []
    expect(named(shop, 'kettle')).toEqual([])
  })

  test('with hostile names and schemas', () => {
    const odd = [tool('__proto__', 'odd one'), tool('constructor', 'odd two'), tool('', 'odd three')]
    const strange = { ...tool('long', 'odd '.repeat(100_000)), always: true as const }
    const shop = createToolSearch(() => [
      ...odd,
      strange,
      {
        name: 'shop__x',
        server: 'shop',
        tool: {
          name: 'x',
          description: 'odd',
          inputSchema: { type: 'object', properties: JSON.parse('{"a":null}') },
        },
      },
    ])
    expect(named(shop, 'odd').sort()).toEqual([
      'shop__',
      'shop____proto__',
      'shop__constructor',
      'shop__long',
      'shop__x',
    ])
  })
})

describe('the token meter', () => {
  test('counts every server and tool, the largest first, with the reason for search', () => {
    const meter = scale.meter()
    expect(meter).toMatchObject({ tools: 500, deferred: true, contextTokens: 128_000 })
    expect(meter.reason).toContain('500 tools, more than the 40')
    expect(meter.servers).toHaveLength(20)
    const sums = meter.servers.map(({ tools }) => tools.reduce((sum, { tokens }) => sum + tokens, 0))
    expect(meter.servers.map(({ tokens }) => tokens)).toEqual(sums)
    expect(sums).toEqual(sums.toSorted((a, b) => b - a))
    expect(meter.tokens).toBe(sums.reduce((sum, tokens) => sum + tokens, 0))
  })

  test.each([
    [40, 1_000_000, false, 'given them in full'],
    [41, 1_000_000, true, '41 tools, more than the 40'],
    [10, 10_000, true, "of the model's context, more than 10 %"],
    [3, 10_000, false, 'up to 10 %'],
    [0, 10_000, false, '0.0 %'],
  ])('%i tools in a context of %i', (count, contextTokens, deferred, why) => {
    const meter = createToolSearch(() => corpusTools.slice(0, count)).meter({ contextTokens })
    expect(meter.deferred).toBe(deferred)
    expect(meter.reason).toContain(why)
  })
})
