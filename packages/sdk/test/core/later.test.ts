import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Later } from '../../src/request/later.ts'

describe('a part that is loaded when it is first needed', () => {
  it('is handed over in the order of asking, whoever asks meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 8 }), async (inner) => {
        const later = new Later(async () => 'it')
        const asked: number[] = []
        const handed: number[] = []
        const ask = (more: number): void => {
          const at = asked.push(more) - 1
          later.use(
            () => {
              for (let n = 0; n < more; n++) ask(0)
              handed.push(at)
            },
            () => {},
          )
        }
        for (const more of inner) ask(more)
        await later.settled
        expect(handed).toEqual(asked.map((_, at) => at))
        expect([later.waiting, later.settled]).toEqual([0, undefined])
      }),
    )
  })

  it('is handed over at once where it is there', async () => {
    let loads = 0
    const later = new Later(async () => ++loads)
    expect(later.value).toBeUndefined()
    expect(await later.get()).toBe(1)
    const seen: unknown[] = []
    later.use((value) => seen.push(value), String)
    expect([seen, later.value, loads]).toEqual([[1], 1, 1])
  })

  it('is loaded anew after a failure, which all who waited hear of', async () => {
    let loads = 0
    const later = new Later(async () => {
      if (++loads === 1) throw new Error('gone')
      return 'it'
    })
    const both = await Promise.allSettled([later.get(), later.get()])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await later.get()).toBe('it')
    expect(loads).toBe(2)
  })

  it('goes to the next one where one that waited fails', async () => {
    const later = new Later(async () => 'it')
    const heard: unknown[] = []
    later.use(
      () => {
        throw new Error('mine')
      },
      (error) => heard.push(error),
    )
    expect(await later.get()).toBe('it')
    expect(heard).toEqual([new Error('mine')])
  })
})
