import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseModel } from '../../src/models/sampling/choose.ts'
import type { ModelFacts } from '../../src/types/index.ts'
import { scripted } from '../fixtures/hosts.ts'
import { vectors } from './vectors.ts'

describe('the model for a request', () => {
  const models = [
    scripted('anthropic/claude-sonnet'),
    scripted('openai/gpt-mini'),
    scripted('ollama/llama'),
  ] as const
  const chosen = (...hints: (string | undefined)[]) =>
    chooseModel(models, { hints: hints.map((name) => (name === undefined ? {} : { name })) })

  it.each<[(string | undefined)[], string, string]>([
    [[], 'anthropic/claude-sonnet', 'it is the first of your models'],
    [['gpt'], 'openai/gpt-mini', 'the server\'s hint "gpt" matches its name'],
    [['haiku', 'LLAMA'], 'ollama/llama', 'the server\'s hint "LLAMA" matches its name'],
    [['mini', 'sonnet'], 'openai/gpt-mini', 'the server\'s hint "mini" matches its name'],
    [['', undefined, ' '], 'anthropic/claude-sonnet', 'it is the first of your models'],
    [['ollama'], 'ollama/llama', 'the server\'s hint "ollama" matches its name'],
    [['openai/gpt'], 'openai/gpt-mini', 'the server\'s hint "openai/gpt" matches its name'],
    [
      ['open'],
      'anthropic/claude-sonnet',
      "none of the server's hints (open) matches a model, and it is the first of your models",
    ],
    [
      ['a', 'gpt'],
      'anthropic/claude-sonnet',
      'the server\'s hint "a" matches its name, and of 2 that it matches, it is the first of those',
    ],
    [
      ['gemini', 'nova'],
      'anthropic/claude-sonnet',
      "none of the server's hints (gemini, nova) matches a model, and it is the first of your models",
    ],
  ])('by the hints %j is %s', (hints, model, reason) => {
    expect(chosen(...hints)).toMatchObject({ model, reason })
  })

  it("is the best by the server's priorities, with rough ranks for models without settings", () => {
    expect(chooseModel(models, { intelligencePriority: 1 })).toMatchObject({
      model: 'anthropic/claude-sonnet',
      reason: 'it scores best (0.75) for intelligence 1',
    })
    expect(chooseModel(models, { speedPriority: 1, costPriority: 0.5 }).model).toBe('openai/gpt-mini')
    expect(chooseModel(models, { costPriority: 1 }).model).toBe('ollama/llama')
  })

  it('is not the offline planner if there is a language model, unless the server names it', () => {
    const offline = { ...scripted('offline'), isLanguageModel: false }
    const all = [...models, offline]
    expect(chooseModel(all, { costPriority: 1, speedPriority: 1 }).ranking.at(-1)?.model).toBe('offline')
    expect(chooseModel(all, { hints: [{ name: 'offline' }] }).model).toBe('offline')
  })

  it('is the offline planner if the user configured it first, unless a hint matches another', () => {
    const all = [{ ...scripted('offline'), isLanguageModel: false }, ...models]
    expect(chooseModel(all, { intelligencePriority: 1 }).model).toBe('offline')
    expect(chooseModel(all, { hints: [{ name: 'claude' }] }).model).toBe('anthropic/claude-sonnet')
  })

  it('has enough context for the request if known, whatever the hints', () => {
    const facts = [{ id: 'openai/gpt-mini', contextTokens: 1_000 }]
    const choice = chooseModel(models, { hints: [{ name: 'gpt' }] }, { facts, tokens: 2_000 })
    expect(choice).toMatchObject({
      model: 'anthropic/claude-sonnet',
      reason:
        "the models that match the server's hints have too small a context, and it is the first of your models",
    })
    expect(choice.ranking.at(-1)).toMatchObject({ model: 'openai/gpt-mini', hint: 'gpt' })
  })

  it('is not compared by price if some have none or the currencies differ', () => {
    const priced = (id: string, input: number, currency?: string): ModelFacts => ({
      id,
      cost: { input, output: input },
      ...(currency !== undefined && { currency }),
    })
    const two = [scripted('x/small-one'), scripted('x/large-one')]
    const cheapest = (facts: ModelFacts[]) => chooseModel(two, { costPriority: 1 }, { facts }).model
    expect(cheapest([priced('x/small-one', 5), priced('x/large-one', 1)])).toBe('x/large-one')
    expect(cheapest([priced('x/small-one', 5), priced('x/large-one', 1, 'EUR')])).toBe('x/small-one')
    expect(cheapest([priced('x/large-one', 1)])).toBe('x/small-one')
  })

  it('is an error if there is none', () => {
    expect(() => chooseModel([])).toThrow('There is no model')
  })
})

describe('the ranking of four models', () => {
  const facts: ModelFacts[] = [
    { id: 'acme/atlas', cost: { input: 3, output: 15 }, speed: 0.4, intelligence: 0.9 },
    { id: 'acme/bolt', cost: { input: 0.25, output: 1.25 }, speed: 0.9, intelligence: 0.4 },
    { id: 'bird/crow', name: 'Corvus Large', cost: { input: 1, output: 5 }, speed: 0.7, intelligence: 0.7 },
    { id: 'bird/dove-bolt', name: 'Dove', cost: { input: 0, output: 0 }, speed: 0.2, intelligence: 0.2 },
  ]
  const models = facts.map(({ id }) => scripted(id))

  it.each(vectors)('hints %j, cost %d, speed %d, intelligence %d: %s', (hints, cost, speed, mind, order) => {
    const preferences = {
      hints: hints.map((name) => ({ name })),
      costPriority: cost,
      speedPriority: speed,
      intelligencePriority: mind,
    }
    const { ranking } = chooseModel(models, preferences, { facts })
    expect(ranking.map(({ model }) => 'ABCD'[facts.findIndex(({ id }) => id === model)]).join('')).toBe(order)
  })

  it('has every model once and the chosen one first, for any preferences', () => {
    const anything = fc.oneof(fc.double(), fc.string(), fc.constant(null))
    fc.assert(
      fc.property(fc.array(fc.string()), anything, anything, (hints, cost, speed) => {
        const preferences = JSON.parse(
          JSON.stringify({
            hints: hints.map((name) => ({ name })),
            costPriority: cost,
            speedPriority: speed,
          }),
        )
        const { model, ranking } = chooseModel(models, preferences, { facts })
        expect(ranking[0]?.model).toBe(model)
        expect(ranking.map((row) => row.model).sort()).toEqual(facts.map(({ id }) => id).sort())
        for (const { score } of ranking) expect(score).toBeGreaterThanOrEqual(0)
        for (const { score } of ranking) expect(score).toBeLessThanOrEqual(1)
      }),
    )
  })
})
