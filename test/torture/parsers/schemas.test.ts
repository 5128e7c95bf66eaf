import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { type Apart, type Exception, exceptions, type Kind } from './schema-exceptions.ts'

campaign(
  {
    id: 'official-schemas',
    chapter: 'Parsers',
    claim:
      'A request is refused where the official schema of its revision refuses it and served where it accepts it, except for a list with reasons',
    trial: 'request of a revision with one member changed',
    trials: { change: 7_033, long: 7_033 },
  },
  ({ setTrials, measured }) => judge('schema-requests-program.ts', ['request'], setTrials, measured),
)

campaign(
  {
    id: 'official-schemas-of-answers',
    chapter: 'Parsers',
    claim:
      'A result or an error is used where the official schema of its revision accepts it, and refused or dropped with a warning where it does not, except for a list with reasons',
    trial: 'answer of a server of a revision with one member changed',
    trials: { change: 19_786, long: 19_786 },
  },
  ({ setTrials, measured }) => judge('schema-results-program.ts', ['result', 'error'], setTrials, measured),
)

campaign(
  {
    id: 'official-schemas-of-questions',
    chapter: 'Parsers',
    claim:
      'A request of a server reaches no handler where the official schema of its revision refuses it, and is answered where it accepts it, except for a list with reasons',
    trial: 'question of a revision with one member changed',
    trials: { change: 6_084, long: 6_084 },
  },
  ({ setTrials, measured }) => judge('schema-questions-program.ts', ['question'], setTrials, measured),
)

campaign(
  {
    id: 'official-schemas-of-clients-answers',
    chapter: 'Parsers',
    claim:
      'A response of a client reaches the handler that asked where the official schema of its revision accepts it, and not where it refuses it, except for a list with reasons',
    trial: 'answer of a client of a revision with one member changed',
    trials: { change: 1_885, long: 1_885 },
  },
  ({ setTrials, measured }) => judge('schema-answers-program.ts', ['answer'], setTrials, measured),
)

campaign(
  {
    id: 'official-schemas-of-notices',
    chapter: 'Parsers',
    claim:
      'A notification has its effect where the official schema of its revision accepts it, and none where it refuses it, except for a list with reasons',
    trial: 'notice of a revision with one member changed',
    trials: { change: 2_652, long: 2_652 },
  },
  ({ setTrials, measured }) => judge('schema-notices-program.ts', ['notice'], setTrials, measured),
)

campaign(
  {
    id: 'official-schemas-of-quiet-notices',
    chapter: 'Parsers',
    claim:
      'A notification without a visible effect is never answered, whatever the official schema of its revision says, and the next message is served',
    trial: 'notice without an effect, of a revision, with one member changed',
    trials: { change: 793, long: 793 },
  },
  ({ setTrials, measured }) => judge('schema-quiet-program.ts', ['quiet notice'], setTrials, measured),
)

async function judge(
  program: string,
  kinds: readonly Kind[],
  made: (trials: number) => void,
  measured: (name: string, value: number, unit: string) => void,
): Promise<void> {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file], {
    timeout: 100_000,
    maxBuffer: 2 ** 24,
  })
  const { trials, apart }: { trials: number; apart: Apart[] } = JSON.parse(stdout)
  const own = exceptions.filter(({ kind }) => kinds.includes(kind))
  expect(
    apart.filter((one) => !own.some((exception) => covers(exception, one))),
    'differences without a reason',
  ).toEqual([])
  expect(
    own.filter((exception) => !apart.some((one) => covers(exception, one))),
    'exceptions that nothing needs',
  ).toEqual([])
  made(trials)
  measured('exceptions with a reason', own.length, '')
}

function covers({ kind, place, ours, values, methods, before }: Exception, one: Apart): boolean {
  return (
    kind === one.kind &&
    place.test(one.place) &&
    ours === one.ours &&
    (before === undefined || one.revision < before) &&
    (values?.includes(one.value) ?? true) &&
    (methods?.includes(one.method) ?? true)
  )
}
