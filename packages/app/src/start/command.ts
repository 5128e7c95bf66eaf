import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PolicyRule } from '@jackfield/host'
import { hold } from '../chat/command.ts'
import type { ExitCode } from '../cli/exit.ts'
import { hostHere } from '../cli/host.ts'
import { type Io, isInteractive, type Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { makeService } from '../daemon/service.ts'
import { plannedTrip } from './planned-trip.ts'
import { bundledServers, leftOut, sampleFolder, startFiles, startFolder } from './servers.ts'

export interface StartOptions {
  script?: boolean
  model?: string
  record?: string
}

/**
 * What needs no answer in `jackfield start`: tools that only search, and a new file in the sample folder, which the travel
 * server writes only after the question about folders. Booking, the calendar, e-mail and replaced files are asked about.
 */
const startRules: PolicyRule[] = [
  { id: 'searching is fine', verdict: 'allow', server: 'travel', tool: '*Flight*' },
  {
    id: 'a new file in the sample folder is fine',
    verdict: 'allow',
    server: 'travel',
    tool: 'saveItinerary',
  },
  {
    id: 'a file is replaced',
    verdict: 'ask',
    server: 'travel',
    tool: 'saveItinerary',
    arguments: [{ at: '/overwrite', equals: true }],
  },
]

/** `jackfield start`: a conversation at the terminal, or one whole planned trip where there is none. */
export async function start(options: StartOptions, io: Io, output: Output): Promise<ExitCode> {
  if (options.script === true || options.record !== undefined || !isInteractive(io)) {
    return plannedTrip(options, io, output)
  }
  const { store, database, folder } = startFiles(resolve(io.cwd, startFolder))
  const { servers, missing } = await bundledServers({ database, folder })
  await sampleFolder(folder)
  const note = leftOut(missing)
  if (note !== undefined) output.note(note)
  const models = [...modelsInUse(io.env, options.model, [])]
  const roots = [{ uri: pathToFileURL(folder).href, name: 'sample' }]
  return await hold(
    async () =>
      await hostHere(makeService({ servers, models, store, roots, rules: startRules }), 'jackfield start'),
    io,
    { servers, store, open: { context: false } },
  )
}
