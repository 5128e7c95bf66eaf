import { ErrorCode, RpcError } from '@jackfield/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLibrary } from '../../src/resources/library.ts'
import type { CompletionField } from '../../src/types/index.ts'
import { started } from '../fixtures/hosts.ts'
import { byCity, listed, shelf } from './shelf.ts'

const field = (value: string, more: Partial<CompletionField> = {}): CompletionField => ({
  server: 's',
  of: { template: 'weather://{country}/{city}{?unit}' },
  argument: 'city',
  value,
  ...more,
})

describe('completions', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function typing(answer: (value: string) => object = (value) => ({ values: [`${value}…`] })) {
    const asked: [number, string][] = []
    const begin = performance.now()
    const library = createLibrary(
      listed(
        {},
        {
          complete: async (_, { argument }) => {
            asked.push([performance.now() - begin, argument.value])
            return { values: [], ...answer(argument.value) }
          },
        },
      ),
      () => {},
    )
    return { asked, library }
  }

  test('are requested at most once in 150 ms: for the first key at once, then for the last one', async () => {
    const { asked, library } = typing()
    const answers = []
    for (const value of ['b', 'be', 'ber', 'berg', 'berge', 'bergen']) {
      answers.push(library.complete(field(value)))
      await vi.advanceTimersByTimeAsync(40)
    }
    await vi.advanceTimersByTimeAsync(1_000)
    expect(asked).toEqual([
      [0, 'b'],
      [150, 'berg'],
      [300, 'bergen'],
    ])
    expect(await Promise.all(answers)).toEqual([
      { values: ['b…'], more: false },
      undefined,
      undefined,
      { values: ['berg…'], more: false },
      undefined,
      { values: ['bergen…'], more: false },
    ])
  })

  test('are cached for a minute, separately by the other arguments', async () => {
    const { asked, library } = typing()
    const ask = async (chosen: Record<string, string>): Promise<void> => {
      const answer = library.complete(field('b', { chosen }))
      await vi.advanceTimersByTimeAsync(150)
      await answer
    }
    await ask({ country: 'no', unit: 'c' })
    await ask({ unit: 'c', country: 'no' })
    expect(asked).toHaveLength(1)
    await ask({ country: 'dk', unit: 'c' })
    expect(asked).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(60_000)
    await ask({ country: 'no', unit: 'c' })
    expect(asked).toHaveLength(3)
  })

  test('mark incomplete lists, and stay bounded', async () => {
    const { library } = typing((value) =>
      value === 'total'
        ? { values: ['a', 'a', 'b'], total: 9 }
        : { values: [...Array.from({ length: 150 }, (_, n) => `v${n}`), 'x'.repeat(2_000)] },
    )
    expect(await library.complete(field('total'))).toEqual({ values: ['a', 'b'], total: 9, more: true })
    const many = library.complete(field('many'))
    await vi.advanceTimersByTimeAsync(150)
    expect(await many).toMatchObject({ more: true })
    expect((await many)?.values).toHaveLength(100)
  })

  test('of a server without them are empty; another failure is reported and not cached', async () => {
    let code: number = ErrorCode.MethodNotFound
    const { library, asked } = typing(() => {
      throw new RpcError(code, 'no')
    })
    expect(await library.complete(field('a'))).toEqual({ values: [], more: false })
    code = ErrorCode.InternalError
    for (const _ of ['once', 'again']) {
      const failing = expect(library.complete(field('b'))).rejects.toThrow('no')
      await vi.advanceTimersByTimeAsync(150)
      await failing
    }
    expect(asked).toHaveLength(3)
  })
})

test.each(['2025-11-25', '2026-07-28'] as const)(
  'a server on %s receives the arguments chosen before',
  async (revision) => {
    const { url } = await shelf({ resources: { byCity } })
    const host = await started({ servers: { s: { url } }, connect: { revisions: [revision] } })
    expect(await host.library.complete(field('O'))).toEqual({
      values: ['Oslo', 'Odense'],
      total: 2,
      more: false,
    })
    const danish = await host.library.complete(field('O', { chosen: { country: 'dk' } }))
    expect(danish?.values).toEqual(['Odense'])
  },
)

describe('templates', () => {
  const library = createLibrary(listed({}), () => {})
  test('list their variables and are expanded', () => {
    expect(library.fields('weather://{country}/{city:3}{/days*}{?unit,lang}')).toEqual([
      { name: 'country', required: true },
      { name: 'city', required: true },
      { name: 'days', required: true },
      { name: 'unit', required: false },
      { name: 'lang', required: false },
    ])
    const uri = library.expand('weather://{country}/{city}{/days*}{?unit}', {
      country: 'no',
      city: 'Å B',
      days: '1/2',
    })
    expect(uri).toBe('weather://no/%C3%85%20B/1/2')
  })

  test('name missing and unknown variables', () => {
    expect(() => library.expand('weather://{country}/{city}{?unit}', { city: '', contry: 'no' })).toThrow(
      'needs country, city, and does not have contry; it takes country, city, unit',
    )
    expect(() => library.fields('weather://{')).toThrow('does not close')
  })
})
