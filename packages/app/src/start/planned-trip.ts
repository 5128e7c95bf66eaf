import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type CatalogPrompt,
  createConversation,
  type Host,
  promptMessages,
  type ToolCallEvent,
} from '@jackfield/host'
import type { SamplingMessage } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { writeErrorReason } from '../cli/file-errors.ts'
import type { Io, Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { makeHost } from '../daemon/service.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { activityLines } from './activity-lines.ts'
import { checkTrip, parseJson, recordsIn, textAt } from './checks.ts'
import type { StartOptions } from './command.ts'
import { scriptedSurface } from './person.ts'
import { transcriptPicture } from './picture.ts'
import { bundledServers, createSampleFolder, missingServersNote } from './servers.ts'
import { createTranscript, type Transcript } from './transcript.ts'

const city = 'Barcelona'
const planPrompt = 'plan-vacation'
const logHeading = '5. The activity log'
const request =
  'I leave from New York. An evening departure would be good, with at most one stop. Please plan and book it.'

/** Runs one planning conversation with a scripted user, then checks its effects. */
export async function runPlannedTrip(options: StartOptions, io: Io, output: Output): Promise<ExitCode> {
  const transcript = createTranscript(
    (words) => io.stdout.write(words),
    output.palette,
    columnsFor(options, output),
  )
  const home = await mkdtemp(join(tmpdir(), 'jackfield-'))
  try {
    const passed = await runTrip(transcript, home, options, io, output)
    if (options.record !== undefined) {
      const file = resolve(io.cwd, options.record)
      const log = transcript.lines.findIndex((line) => line.text === logHeading)
      await writeFile(
        file,
        transcriptPicture(transcript.lines.slice(0, log === -1 ? undefined : log - 1), 'npm start'),
      ).catch((error: unknown) => {
        throw usageError(`${file} cannot be written: ${writeErrorReason(error)}`)
      })
      output.note(`The picture is in ${file}`)
    }
    return passed ? ExitCode.done : ExitCode.toolError
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** A picture has fixed columns, independent of the terminal. */
function columnsFor({ record }: StartOptions, { columns }: Output): number | undefined {
  return record === undefined ? columns : undefined
}

async function runTrip(
  transcript: Transcript,
  home: string,
  options: StartOptions,
  io: Io,
  output: Output,
): Promise<boolean> {
  const folder = join(home, 'sample')
  const { servers, missing } = await bundledServers({ database: join(home, 'travel.db'), folder })
  const note = missingServersNote(missing)
  if (note !== undefined) output.note(note)
  await createSampleFolder(folder)
  // In a scripted run the outcome must not depend on available keys.
  const models = modelsInUse(io.env, options.model ?? 'offline', [])
  const planner = models[0].isLanguageModel ? 'Model' : 'Planner'
  await using host = makeHost({
    servers,
    models: [...models],
    surface: scriptedSurface(transcript, planner),
    roots: [{ uri: pathToFileURL(folder).href, name: 'sample' }],
    // Shown here, although the planner does not need it.
    sampling: { reviewOffline: true },
    rules: [
      { id: 'looking is fine', verdict: 'allow', server: 'travel', tool: '*Flight*' },
      { id: 'reading files is fine', verdict: 'allow', server: 'files', tool: 'read_*' },
    ],
  })

  transcript.heading('1. The host connects its servers')
  await host.start()
  io.signal.throwIfAborted()
  if (!writeServers(host, transcript)) return false

  transcript.heading('2. The person picks a prompt and adds resources')
  const departure = nextSummer(new Date())
  const messages = await addContext(host, transcript, departure)

  transcript.heading('3. The conversation')
  transcript.say('person', 'Person', request)
  const talk = createConversation({ host, model: models[0] })
  const turn = await talk.say([...messages, { role: 'user', content: { type: 'text', text: request } }], {
    signal: io.signal,
    onText: (words) => transcript.say('planner', planner, words),
    onToolCall: (event) => writeToolCall(event, transcript),
  })
  io.signal.throwIfAborted()
  if (turn.stopReason !== 'endTurn') {
    transcript.say('host', 'Host', `The turn ended early: ${turn.stopReason}`, 'bad')
    return false
  }

  transcript.heading('4. The checks')
  const checks = await checkTrip(host, { city, departure, folder })
  for (const { claim, problem } of checks) {
    if (problem === undefined) transcript.say('host', 'Host', `✓ ${claim}`, 'good')
    else transcript.say('host', 'Host', `✗ ${claim}: ${problem}`, 'bad')
  }

  transcript.heading(logHeading)
  for (const line of activityLines(host.activity())) transcript.say('host', '', line, 'dim')
  return checks.every((check) => check.problem === undefined)
}

function writeServers(host: Host, transcript: Transcript): boolean {
  let all = true
  for (const [name, state] of host.connections) {
    if (state.state !== 'ready') {
      transcript.say(
        'host',
        'Host',
        `${name} is ${state.state}${'reason' in state ? `: ${state.reason}` : ''}`,
        'bad',
      )
      all = false
      continue
    }
    const countOf = <T extends { server: string }>(list: T[]): number =>
      list.filter((entry) => entry.server === name).length
    const era = state.era === 'stateless' ? 'stateless' : 'sessions'
    const offers = [
      count(countOf(host.tools()), 'tool'),
      count(countOf(host.resources()), 'resource'),
      count(countOf(host.templates()), 'template'),
      count(countOf(host.prompts()), 'prompt'),
    ].join(', ')
    transcript.say('host', 'Host', `${name.padEnd(11)} ${state.revision} (${era})  ${offers}`)
  }
  return all
}

/** The selected prompt and the attached resources, at the start of the conversation. */
async function addContext(host: Host, transcript: Transcript, departure: string): Promise<SamplingMessage[]> {
  const args = planArguments(departure)
  const entry = planPromptOf(host)
  const typed = Object.entries(args).map(
    ([name, value]) => `${name}=${/[\s,]/.test(value) ? JSON.stringify(value) : value}`,
  )
  transcript.say('person', 'Person', `/travel.plan-vacation ${typed.join(' ')}`)
  const prompt = await host.prompt(entry.name, args)
  const messages = promptMessages(prompt)
  const [first] = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [content]))
  if (first?.type === 'text') transcript.say('server', 'travel', firstLine(first.text))

  const wanted: [uri: string, describe: (value: string) => string][] = [
    [`calendar://events/${departure.slice(0, 4)}`, calendarSummary],
    [
      `weather://forecast/${city}/${departure}`,
      (value) => textAt(parseJson(value), 'summary') ?? oneLine(value, 70),
    ],
    ['trips://history/barcelona-2023', (value) => firstLine(value).replace(/^#+\s*/, '')],
  ]
  for (const [uri, describe] of wanted) {
    const { contents } = await host.read('travel', uri)
    const [only] = contents
    if (only === undefined || !('text' in only))
      throw new CliError(ExitCode.protocol, `${uri} holds no text.`)
    transcript.say('person', 'Person', `adds ${uri}`)
    transcript.say('server', 'travel', describe(only.text), 'dim')
    messages.push(
      ...promptMessages({ messages: [{ role: 'user', content: { type: 'resource', resource: only } }] }),
    )
  }
  return messages
}

function planArguments(departure: string): Record<string, string> {
  return {
    destination: city,
    duration: '7',
    budget: '3000',
    interests: 'beaches, architecture, food',
    departure_date: departure,
  }
}

function planPromptOf(host: Host): CatalogPrompt {
  const entry = host.prompts().find(({ prompt }) => prompt.name === planPrompt)
  if (entry !== undefined) return entry
  throw new CliError(ExitCode.protocol, `The travel server offers no prompt ${planPrompt}.`)
}

/** The start of the planning conversation: the prompt of the travel server, and the request. */
export async function planningMessages(host: Host): Promise<SamplingMessage[]> {
  const prompt = await host.prompt(planPromptOf(host).name, planArguments(nextSummer(new Date())))
  return [...promptMessages(prompt), { role: 'user', content: { type: 'text', text: request } }]
}

function writeToolCall(event: ToolCallEvent, transcript: Transcript): void {
  if (event.type === 'start') {
    const words = Object.entries(event.arguments).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    transcript.say('host', 'Host', `→ ${event.name} ${words.join(' ')}`)
    return
  }
  const [server = 'server'] = event.name.split('__')
  if (event.type === 'later') {
    transcript.say('server', server, 'It waits for a deferred answer.')
    return
  }
  if (event.type === 'task') {
    transcript.say('server', server, 'It works on this in the background.')
    return
  }
  const lines = event.result.content.flatMap((block) => (block.type === 'text' ? block.text.split('\n') : []))
  const tone = event.denied || event.result.isError === true ? 'bad' : 'normal'
  const by = event.decision?.verdict === 'allow' ? ` (allowed by rule: ${event.decision.rule})` : ''
  transcript.say('server', server, `${oneLine(lines[0] ?? '(no words)', 200)}${by}`, tone)
}

/** The fifteenth of the next June that is at least a month away. */
function nextSummer(now: Date): string {
  return `${now.getUTCMonth() < 4 ? now.getUTCFullYear() : now.getUTCFullYear() + 1}-06-15`
}

function calendarSummary(value: string): string {
  const events = recordsIn(parseJson(value), 'events')
  return `${events.length} events: ${events.map((event) => `${event.title} (${event.start})`).join(', ')}`
}

function firstLine(words: string): string {
  return words.split('\n')[0] ?? ''
}
