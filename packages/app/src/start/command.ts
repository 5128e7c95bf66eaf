import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PolicyRule } from '@jackfield/host'
import type { HostService } from '@jackfield/host/service'
import { runConversation } from '../chat/command.ts'
import { ExitCode } from '../cli/exit.ts'
import { createLocalHost } from '../cli/host.ts'
import { type Io, isInteractive, type Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { makeService } from '../daemon/service.ts'
import { cancelled } from '../forms/prompter.ts'
import { planningMessages, runPlannedTrip } from './planned-trip.ts'
import { bundledServers, createSampleFolder, missingServersNote, startFiles, startFolder } from './servers.ts'

export interface StartOptions {
  script?: boolean
  model?: string
  record?: string
  /** Runs in the browser. Default on a terminal: the user chooses. */
  web?: boolean
  /** False: only prints the login link. */
  open?: boolean
  /** Prints the login link as one line of JSON. */
  json?: boolean
}

/**
 * What `jackfield start` allows without asking: search tools, and new files in the sample folder, which the travel server writes
 * only after the roots question. Booking, the calendar, e-mail and replaced files are asked about.
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

/** `jackfield start`: a conversation at the terminal or, with `--web`, in the browser; without a terminal, one scripted trip. */
export async function start(options: StartOptions, io: Io, output: Output): Promise<ExitCode> {
  const isScripted = options.script === true || options.record !== undefined
  if (isScripted || !(options.web === true || isInteractive(io))) return runPlannedTrip(options, io, output)
  const surface = options.web === undefined ? await chooseSurface(io) : options.web ? 'browser' : 'terminal'
  if (surface === undefined) return ExitCode.done
  const { store, database, folder } = startFiles(resolve(io.cwd, startFolder))
  const { servers, missing } = await bundledServers({ database, folder })
  await createSampleFolder(folder)
  const note = missingServersNote(missing)
  if (note !== undefined) output.note(note)
  const models = [...modelsInUse(io.env, options.model, [])]
  const roots = [{ uri: pathToFileURL(folder).href, name: 'sample' }]
  const hostOptions = { servers, models, store, roots, rules: startRules }
  if (surface === 'browser') {
    const service = makeService(hostOptions)
    try {
      await startInBrowser(service, join(dirname(store), 'web.db'), options, io, output)
    } finally {
      await service.close()
    }
    return ExitCode.done
  }
  return await runConversation(
    async () => await createLocalHost(makeService(hostOptions), 'jackfield start'),
    io,
    {
      servers,
      store,
      open: { context: false },
    },
  )
}

/** Asks for the terminal or the browser; undefined if the user cancels. Nothing is started before the answer. */
async function chooseSurface({ stdin, stderr }: Io): Promise<'terminal' | 'browser' | undefined> {
  const { clackSelect } = await import('../surface/clack.ts')
  const surface = await clackSelect(
    { input: stdin, output: stderr },
    {
      message: 'Where do you want to plan the trip?',
      options: [
        { value: 'terminal', label: 'in this terminal', key: 't' },
        { value: 'browser', label: 'in the browser', key: 'b' },
      ],
      initial: 'terminal',
    },
  )
  return surface === cancelled ? undefined : surface
}

/** The planning conversation, which starts when a browser opens it. */
async function startInBrowser(
  service: HostService,
  file: string,
  options: StartOptions,
  io: Io,
  output: Output,
): Promise<void> {
  const { serveHere } = await import('../commands/web.ts')
  const { host, conversations, surfaces } = service
  const id = conversations.open({ context: false })
  const conversation = conversations.get(id)
  conversation.setTitle('A trip to Barcelona')
  const off = surfaces.onChange(() => {
    if (surfaces.attached.length === 0) return
    off()
    service
      .start()
      .then(async () => conversation.say({ messages: await planningMessages(host) }, 'jackfield start'))
      .catch((error: unknown) => output.note(`! ${error instanceof Error ? error.message : String(error)}`))
  })
  const { open } = options
  await serveHere(service, { file, path: `/chat/${id}`, ...(open !== undefined && { open }) }, io, output)
}
