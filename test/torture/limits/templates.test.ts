import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

campaign(
  {
    id: 'template-matching',
    chapter: 'Bytes and limits',
    claim: 'Matching a URI against a template takes time linear in the length of the URI',
    trial: 'template of several variables and a URI of 8 KB',
    trials: { test: 100, change: 300, long: 30_000 },
  },
  async (course) => {
    const found = await measuredBy(
      'templates-program.ts',
      { trials: course.trials, seed: course.seed },
      course.long ? 1_100_000 : 100_000,
    )
    const worst = figure(found, 'worst')
    const ratio = figure(found, 'ratio')
    course.measured('dearest match', Math.round(worst * 10) / 10, 'ms of CPU')
    course.measured('match on the average', Math.round(figure(found, 'mean') * 100) / 100, 'ms of CPU')
    course.measured('twice the URI', Math.round(ratio * 100) / 100, 'times the CPU')
    expect(worst).toBeLessThan(20)
    expect(ratio).toBeLessThan(2.5)
    expect(figure(found, 'matched')).toBeGreaterThan(course.trials / 8)
  },
)
