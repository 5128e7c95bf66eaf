import type { ResourceRef } from '@jackfield/host'
import { McpError } from '@jackfield/sdk'
import { parseTextArguments } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { type Cancelled, cancelled } from '../forms/prompter.ts'
import { wrapText } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { attach, attachAgain } from './attachments.ts'
import { type Attachable, Picker } from './picker.ts'
import type { ChatState } from './state.ts'
import type { ChatSurface } from './surface.ts'

const usage =
  'Usage: /attach <server> <uri>, /attach <server> <template> name=value …, or /attach again [number]'
/** Matches listed in the usage error when input is piped. */
const maxNamed = 5

/** `/attach`: attaches one resource by its URI, or opens a list of all of them. */
export async function attachCommand(
  words: readonly string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  const { client } = state
  const [server, uri, ...values] = words
  const order = (await client.call('servers.list', {})).map(({ name }) => name)
  if (server === 'again' && (uri === undefined || !order.includes(server)))
    return attachAgain(uri, state, surface, signal)
  if (server !== undefined && uri !== undefined && /^[a-z][a-z0-9+.-]*:/i.test(uri)) {
    if (!order.includes(server)) throw usageError(`There is no server "${oneLine(server, 60)}".`)
    const templates = await client.call('catalog.templates', { server })
    const template = templates.find((one) => one.template.uriTemplate === uri)
    if (template !== undefined) {
      const ref = await filledIn(
        { kind: 'template', ...template },
        parseTextArguments(values),
        state,
        surface,
      )
      return attach([ref], state, surface, signal)
    }
    if (values.length > 0) throw usageError(usage)
    return attach([{ server, uri }], state, surface, signal)
  }
  const query = words.join(' ')
  if (surface.screen === undefined)
    throw usageError([usage, ...(await namedMatches(query, state))].join('\n'))
  const [resources, templates] = await Promise.all([
    client.call('catalog.resources', {}),
    client.call('catalog.templates', {}),
  ])
  const entries: Attachable[] = [
    ...resources.map((entry) => ({ kind: 'resource' as const, ...entry })),
    ...templates.map((entry) => ({ kind: 'template' as const, ...entry })),
  ].sort((one, other) => order.indexOf(one.server) - order.indexOf(other.server))
  const refs = resources.map(({ server, resource: { uri } }) => ({ server, uri }))
  const withheld = await client.call('library.withheld', { refs })
  const reasons = new Map(
    refs.flatMap(({ server, uri }, n) => {
      const reason = withheld[n] ?? null
      return reason === null ? [] : [[JSON.stringify([server, uri]), reason] as const]
    }),
  )
  const { palette } = surface
  const picker = new Picker({
    ...{ entries, client, palette, query },
    withheld: (server, uri) => reasons.get(JSON.stringify([server, uri])),
  })
  const chosen = await surface.screen(picker, signal).catch((error: unknown): Cancelled => {
    // Ctrl+C ends the command as well as the list.
    if (signal.aborted || (error instanceof McpError && error.code === 'CANCELLED')) return cancelled
    throw error
  })
  if (chosen === undefined || chosen === cancelled) {
    surface.write('Nothing was attached.\n')
    return
  }
  const wanted: ResourceRef[] = []
  for (const entry of chosen) {
    if (entry.kind === 'resource') wanted.push({ server: entry.server, uri: entry.resource.uri })
    else wanted.push(await filledIn(entry, {}, state, surface))
  }
  await attach(wanted, state, surface, signal)
}

async function namedMatches(query: string, { client }: ChatState): Promise<string[]> {
  if (query.trim() === '') return []
  const { matches } = await client.call('library.search', { query, kinds: ['resource'], limit: maxNamed })
  return matches.flatMap(({ entry }) =>
    entry.kind === 'resource' ? [`  /attach ${oneLine(entry.server)} ${oneLine(entry.resource.uri)}`] : [],
  )
}

/** The resource of a template, expanded with the given variables and those typed at the prompts. */
async function filledIn(
  { server, template }: Extract<Attachable, { kind: 'template' }>,
  given: Readonly<Record<string, string>>,
  { client }: ChatState,
  surface: ChatSurface,
): Promise<ResourceRef> {
  const { uriTemplate } = template
  const values = { ...given }
  const fields = await client.call('library.fields', { uriTemplate })
  const missing = fields.filter(({ name }) => !Object.hasOwn(values, name))
  // In a pipe the next lines are messages, so no prompt may read them.
  const asked = surface.screen === undefined ? [] : missing
  if (asked.length > 0) {
    const about = [template.title ?? template.name, uriTemplate].map((part) => oneLine(part)).join('  ')
    surface.write(`${surface.palette.dim(wrapText(`  ${about}`, surface.columns(), 0, 2))}\n`)
  }
  for (const { name, required } of asked) {
    const typed = await surface.readLine(`  ${oneLine(name, 40)}${required ? '' : ' (or nothing)'} › `, {
      complete: async (value) => {
        const completion = await client.call('library.complete', {
          ...{ server, of: { template: uriTemplate }, argument: name },
          ...{ value, chosen: values },
        })
        return [(completion?.values ?? []).filter((one) => plain(one) === one), value]
      },
    })
    if (typed === undefined || (required && typed.trim() === ''))
      throw usageError(`${oneLine(uriTemplate)} needs a value for ${oneLine(name)}; nothing was attached.`)
    if (typed.trim() !== '') values[name] = typed.trim()
  }
  return { server, uri: await client.call('library.expand', { uriTemplate, values }) }
}
