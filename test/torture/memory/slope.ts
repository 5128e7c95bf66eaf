/** One sample: the work done so far, and the memory then. */
export interface Sample {
  /** What was done so far, such as requests. */
  readonly at: number
  /** What was in use then, such as bytes. */
  readonly held: number
}

/** How fast something grows. Both in units of `held` for each unit of `at`. */
export interface Slope {
  /** The line that is nearest to all samples. */
  readonly best: number
  /** What the true slope lies under, 19 times out of 20, when samples scatter by chance about a line. */
  readonly upper: number
}

/** The point of the normal distribution that 95 % lie under. */
const normal95 = 1.6448536269514722

/** The point of Student's distribution that 95 % lie under (Cornish and Fisher's series; within 1 % from 3 degrees on). */
function student95(degrees: number): number {
  const z = normal95
  const first = (z ** 3 + z) / (4 * degrees)
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2)
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  return z + first + second + third
}

/**
 * The slope of samples by least squares, with its one-sided upper 95 % bound.
 *
 * @throws RangeError for fewer than 5 samples, or samples that were all taken at one place.
 */
export function slopeOf(samples: readonly Sample[]): Slope {
  const count = samples.length
  if (count < 5) throw new RangeError(`A slope takes 5 samples or more, not ${count}`)
  const middle = samples.reduce((sum, { at }) => sum + at, 0) / count
  const level = samples.reduce((sum, { held }) => sum + held, 0) / count
  const width = samples.reduce((sum, { at }) => sum + (at - middle) ** 2, 0)
  if (width === 0) throw new RangeError('A slope takes samples of different places')
  const best = samples.reduce((sum, { at, held }) => sum + (at - middle) * (held - level), 0) / width
  const off = samples.reduce((sum, { at, held }) => sum + (held - level - best * (at - middle)) ** 2, 0)
  const error = Math.sqrt(off / (count - 2) / width)
  return { best, upper: best + student95(count - 2) * error }
}
