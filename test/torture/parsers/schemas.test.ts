import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { type Apart, type Exception, exceptions } from './schema-exceptions.ts'

const program = fileURLToPath(new URL('./schema-program.ts', import.meta.url))

campaign(
  {
    id: 'official-schemas',
    chapter: 'Parsers',
    claim:
      'A request is refused where the official schema of its revision refuses it and served where that takes it, but for what is listed with its reason',
    trial: 'request of a revision with one member changed',
    trials: { change: 5_764, long: 5_764 },
  },
  async (course) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program], {
      timeout: 100_000,
      maxBuffer: 2 ** 24,
    })
    const { trials, apart }: { trials: number; apart: Apart[] } = JSON.parse(stdout)
    expect(
      apart.filter((one) => !exceptions.some((exception) => covers(exception, one))),
      'differences without a reason',
    ).toEqual([])
    expect(
      exceptions.filter((exception) => !apart.some((one) => covers(exception, one))),
      'exceptions that nothing needs',
    ).toEqual([])
    course.made(trials)
    course.measured('exceptions with a reason', exceptions.length, '')
  },
)

function covers({ place, server, values, methods }: Exception, one: Apart): boolean {
  return (
    place.test(one.place) &&
    server === one.server &&
    (values?.includes(one.value) ?? true) &&
    (methods?.includes(one.method) ?? true)
  )
}
