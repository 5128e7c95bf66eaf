import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { loadLayers } from '../../src/config/layers.ts'
import { ConfigError } from '../../src/config/reader.ts'
import { folder } from '../fixtures/hosts.ts'

const read = (jackfield: object) => parseConfig(JSON.stringify({ mcpServers: {}, jackfield }))

describe('the models of a configuration', () => {
  it('are names, or facts to choose by', () => {
    const facts = {
      id: 'b/y',
      name: 'Why',
      cost: { input: 0.5, output: 2 },
      currency: 'EUR',
      speed: 0.5,
      intelligence: 1,
      contextTokens: 32_000,
    }
    const config = read({ models: ['a/x', facts] })
    expect(config.models).toEqual(['a/x', 'b/y'])
    expect(config.sampling.models).toEqual([{ id: 'a/x' }, facts])
    expect(config.problems).toEqual([])
  })

  it.each<[unknown, string]>([
    [{ id: 'a/x', speed: 2 }, 'jackfield.models[0].speed'],
    [{ id: 'a/x', cost: { input: -1, output: 1 } }, 'jackfield.models[0].cost.input'],
    [{ id: 'a/x', cost: { input: 1 } }, 'jackfield.models[0].cost.output'],
    [{ name: 'nameless' }, 'jackfield.models[0]'],
    [{ id: 'a/x', price: 1 }, 'jackfield.models[0].price'],
    [7, 'jackfield.models[0]'],
  ])('%j is reported with its position', (model, path) => {
    expect(read({ models: [model] }).problems.map((problem) => problem.path)).toEqual([path])
  })
})

describe('the sampling section', () => {
  const settings = {
    limits: { requestsPerMinute: 3, tokensPerDay: 0, costPerDay: 0.5 },
    servers: { s: { limits: { maxTokens: 100 }, approve: ['request', 'result'], reviewOffline: false } },
    reviewOffline: true,
    redact: [{ name: 'ticket', pattern: 'T-\\d+$' }, { builtin: 'email' }, { builtin: 'api-key', off: true }],
  }

  it('is parsed', () => {
    expect(read({ sampling: settings }).sampling).toEqual({ models: [], ...settings })
  })

  it.each<[object, string]>([
    [{ limits: { requestsPerMinute: 1.5 } }, 'jackfield.sampling.limits.requestsPerMinute must be a whole'],
    [{ limits: { perMinute: 5 } }, 'jackfield.sampling.limits.perMinute is unknown'],
    [
      { servers: { s: { approve: ['all'] } } },
      'jackfield.sampling.servers.s.approve[0] must be request, result',
    ],
    [
      { redact: [{ name: 'x', pattern: '(a)\\1' }] },
      'jackfield.sampling.redact[0].pattern cannot be searched',
    ],
    [{ redact: [{ builtin: 'passwords' }] }, 'jackfield.sampling.redact[0].builtin must be'],
    [{ redact: [{ pattern: 'x' }] }, 'jackfield.sampling.redact[0] needs "name" and "pattern"'],
    [{ reviewOffline: 'yes' }, 'jackfield.sampling.reviewOffline'],
    [{ budget: 5 }, 'jackfield.sampling.budget is unknown'],
  ])('%j fails the configuration, since it restricts access', (sampling, expected) => {
    expect(() => read({ sampling })).toThrow(ConfigError)
    expect(() => read({ sampling })).toThrow(expected)
  })

  it('in a file of the working folder can only restrict', async () => {
    const home = folder()
    const cwd = folder()
    await mkdir(join(home, '.config', 'jackfield'), { recursive: true })
    const write = (file: string, jackfield: object) =>
      writeFileSync(file, JSON.stringify({ mcpServers: {}, jackfield }))
    write(join(home, '.config', 'jackfield', 'config.json'), {
      models: [{ id: 'a/x', cost: { input: 3, output: 9 } }],
      sampling: {
        limits: { tokensPerDay: 1_000 },
        servers: { s: { approve: ['request'] }, t: { reviewOffline: true } },
      },
    })
    write(join(cwd, 'jackfield.json'), {
      models: [
        { id: 'a/x', cost: { input: 0, output: 0 } },
        { id: 'b/y', cost: { input: 0, output: 0 }, speed: 1 },
      ],
      sampling: {
        limits: { tokensPerDay: 9_999, requestsPerMinute: 2, maxTokens: 1_000_000, costPerDay: 1 },
        servers: {
          s: { limits: { toolRounds: 1 }, reviewOffline: true },
          t: { reviewOffline: false },
          evil: { approve: ['request', 'result'] },
        },
        reviewOffline: false,
        redact: [{ builtin: 'email' }, { builtin: 'api-key', off: true }],
      },
    })
    const { sampling, problems } = await loadLayers({ cwd, home, env: {} })
    expect(sampling).toEqual({
      models: [
        { id: 'a/x', cost: { input: 3, output: 9 } },
        { id: 'b/y', speed: 1 },
      ],
      limits: { tokensPerDay: 1_000, requestsPerMinute: 2, costPerDay: 1 },
      servers: {
        s: { limits: { toolRounds: 1 }, approve: ['request'], reviewOffline: true },
        t: { limits: {}, reviewOffline: true },
        evil: { limits: {} },
      },
      redact: [{ builtin: 'email' }],
    })
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('"reviewOffline": false'),
      expect.stringContaining('approval of sampling'),
      expect.stringContaining('disabling a redaction'),
      expect.stringContaining('the price of a model'),
    ])
  })
})
