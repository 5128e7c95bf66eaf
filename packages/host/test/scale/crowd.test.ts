import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { createConversation } from '../../src/models/agent/index.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { folder, started } from '../fixtures/hosts.ts'
import { corpus } from './corpus.ts'
import { queries } from './queries.ts'

const program = programFile(new URL('../fixtures/corpus-server.ts', import.meta.url))

function crowd(names: Iterable<string>, settings: Partial<ServerConfig> = {}) {
  const starts = join(folder(), 'starts')
  const servers = Object.fromEntries(
    [...names].map((name): [string, ServerConfig] => [
      name,
      { command: process.execPath, args: [program, name], env: { STARTS: starts }, ...settings },
    ]),
  )
  return { servers, starts: () => readFileSync(starts, 'utf8').trim().split('\n') }
}

// Twenty processes are started.
vi.setConfig({ testTimeout: 120_000 })

test('twenty servers with five hundred tools are usable by a model', async () => {
  const { servers, starts } = crowd(corpus.keys())
  const host = await started({
    servers,
    connectTimeoutMs: 60_000,
    rules: [{ id: 'all', verdict: 'allow' }],
  })
  expect(host.tools()).toHaveLength(500)

  const found = queries.filter(({ server, tool, query }) =>
    host.toolSearch
      .search(query, { limit: 5 })
      .matches.some((match) => match.tool.server === server && match.tool.tool.name === tool),
  )
  expect(found.length / queries.length).toBeGreaterThanOrEqual(0.9)

  const model = scriptedModel(
    ...Array.from({ length: 30 }, (_, n) => [
      uses('', ['search_tools', { query: queries[n * 6]?.query ?? '' }]),
      uses('', ['call_tool', { name: host.tools()[n * 16]?.name ?? '', arguments: { n } }]),
      textReply('ok'),
    ]).flat(),
  )
  const conversation = createConversation({ host, model })
  for (let turn = 0; turn < 30; turn += 1) await conversation.say(`turn ${turn}`)
  const [first, ...others] = model.requests.map(({ tools }) => JSON.stringify(tools))
  expect(others).toHaveLength(89)
  expect(new Set(others)).toEqual(new Set([first]))
  expect((first ?? '').length / 3).toBeLessThanOrEqual(2_500)
  expect(host.toolSearch.meter().tokens).toBeGreaterThan(100_000)

  const rows = host.activity({ kind: 'call' })
  expect(rows.map(({ outcome, detail }) => [outcome, detail['caller']])).toEqual(
    Array(30).fill(['ok', 'chat']),
  )
  expect(starts().toSorted()).toEqual([...corpus.keys()].toSorted())
})

test("the user restricts a server's tools, and pins those that models always get", async () => {
  const { servers } = crowd(['github'], {
    tools: { only: ['*_issue', 'create_*'], without: ['close_issue'], always: ['create_release'] },
  })
  const host = await started({ servers, connectTimeoutMs: 60_000 })
  expect(host.tools().map(({ tool, always }) => `${tool.name}${always ? ' always' : ''}`)).toEqual([
    'create_issue',
    'get_issue',
    'list_issue',
    'update_issue',
    'create_pull_request',
    'create_workflow_run',
    'create_release always',
    'create_code_review',
  ])
  await expect(host.call('github__close_issue', {}, { caller: 'chat' })).rejects.toThrow('no tool named')
})

test('a search starts no server, and calling a found tool does', async () => {
  const { servers, starts } = crowd(['github', 'weather', 'maps'], { lazy: true })
  const options = {
    servers,
    store: join(folder(), 'store.db'),
    connectTimeoutMs: 60_000,
    rules: [{ id: 'all', verdict: 'allow' as const }],
  }
  const before = await started(options)
  expect(before.tools()).toHaveLength(75)
  await before.close()
  expect(starts()).toHaveLength(3)

  const host = await started(options)
  const states = (): string[] => [...host.connections.values()].map(({ state }) => state)
  expect(states()).toEqual(['asleep', 'asleep', 'asleep'])
  const model = scriptedModel(
    uses('', ['search_tools', { query: 'will it rain tomorrow' }]),
    uses('', ['inspect_tool', { names: ['weather__getForecast'] }]),
    textReply('ok'),
    uses('', ['call_tool', { name: 'weather__getForecast', arguments: { city: 'Bath' } }]),
    textReply('ok'),
  )
  const conversation = createConversation({ host, model })
  await conversation.say('How many tools are there for this?')
  for (const { query } of queries) host.toolSearch.search(query)
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('weather__getForecast(city')
  expect(starts()).toHaveLength(3)
  expect(states()).toEqual(['asleep', 'asleep', 'asleep'])
  await conversation.say('Then ask one')
  expect(starts().toSorted()).toEqual(['github', 'maps', 'weather', 'weather'])
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain('Bath')
})
