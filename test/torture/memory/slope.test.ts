import { describe, expect, it } from 'vitest'
import { Random } from '../random.ts'
import { type Sample, slopeOf } from './slope.ts'

/** Samples about a line, each off by chance, normally distributed with the deviation given. */
function planted(slope: number, deviation: number, count: number, random: Random): Sample[] {
  return Array.from({ length: count }, (_, i) => {
    const size = Math.sqrt(-2 * Math.log(1 - random.fraction()))
    const off = deviation * size * Math.cos(2 * Math.PI * random.fraction())
    return { at: i * 1000, held: 20e6 + slope * i * 1000 + off }
  })
}

describe('the slope of samples', () => {
  it('is that of the line they lie on', () => {
    const { best, upper } = slopeOf(planted(32, 0, 20, new Random(1)))
    expect(best).toBeCloseTo(32, 6)
    expect(upper).toBeCloseTo(32, 6)
  })

  it('is negative if memory decreases', () => {
    expect(slopeOf(planted(-5, 100, 20, new Random(2))).upper).toBeLessThan(0)
  })

  it.each([5, 10, 20, 60])('has an upper bound that holds 19 times out of 20 with %i samples', (count) => {
    const random = new Random(3)
    let held = 0
    for (let trial = 0; trial < 4000; trial++) {
      if (slopeOf(planted(2, 5000, count, random)).upper > 2) held++
    }
    expect(held / 4000).toBeGreaterThan(0.935)
    expect(held / 4000).toBeLessThan(0.965)
  })

  it('detects a leak in noisy samples', () => {
    const random = new Random(4)
    const slopes = Array.from({ length: 100 }, () => slopeOf(planted(32, 20_000, 20, random)))
    expect(slopes.every(({ upper }) => upper > 16)).toBe(true)
    const honest = Array.from({ length: 100 }, () => slopeOf(planted(0, 20_000, 20, random)))
    expect(honest.every(({ upper }) => upper < 16)).toBe(true)
  })

  it('is rejected if the samples cannot determine it', () => {
    expect(() => slopeOf(planted(1, 0, 4, new Random(5)))).toThrow('5 samples')
    expect(() => slopeOf(Array.from({ length: 6 }, () => ({ at: 1, held: 1 })))).toThrow('different places')
  })
})
