import { makeVisible } from '@jackfield/host/config'
import type { JsonSchema, Prompt, Resource, ResourceTemplate, Tool } from '@jackfield/sdk'
import { isObject } from '../cli/arguments.ts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import type { Output } from '../cli/io.ts'
import type { Session } from '../cli/session.ts'
import { formatBytes, prettyJson } from '../output/content.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { firstSentence, signatureLines, typeText } from '../output/signature.ts'
import { type TableOptions, table } from '../output/table.ts'
import { wrap } from '../output/width.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { type Appearance, namesNoServer, type ServerLists, showEveryServer } from './every-server.ts'
import { meter } from './meter.ts'
import { tree } from './tree.ts'
import { disabledLines, refuseEmptyList, refuseQuarantined } from './trust.ts'

export interface ToolsOptions extends ServerOptions {
  meter?: boolean
}

export interface ResourcesOptions extends ServerOptions {
  tree?: boolean
}

/** `jackfield tools [target] [name]`: without a target, those of every configured server. */
export async function tools(context: CommandContext<ToolsOptions>): Promise<ExitCode> {
  if (context.options.meter === true) return meter(context)
  if (namesNoServer(context)) return showEveryServer(context, toolLists)
  const { session, rest } = await connectTo(context, ['tools'], { item: { kind: 'tool', command: 'tools' } })
  await using _ = session
  const { output } = context
  const all = session.catalog.tools.map(({ tool }) => tool)
  const name = atMostOneWord(rest, 'tools [target] [name]')
  if (name === undefined) {
    if (all.length === 0) refuseEmptyList(session, ['tool'])
    output.result({ tools: all }, () => toolTable(all, output))
    noteDisabled(session, toolLists.kinds, output)
    return ExitCode.done
  }
  if (!all.some((tool) => tool.name === name)) refuseQuarantined(session, { what: 'tool', name })
  const tool = requireFound(all, (tool) => tool.name, name, 'tool')
  output.result(tool, () => toolText(tool, output))
  return ExitCode.done
}

/** `jackfield resources [target]`: without a target, those of every configured server. */
export async function resources(context: CommandContext<ResourcesOptions>): Promise<ExitCode> {
  if (context.options.tree === true) return tree(context)
  if (namesNoServer(context)) return showEveryServer(context, resourceLists)
  const { session, rest } = await connectTo(context, ['resources'])
  await using _ = session
  const { output } = context
  requireNoWords(rest, 'resources [target]')
  const direct = session.catalog.resources.map(({ resource }) => resource)
  const templates = session.catalog.templates.map(({ template }) => template)
  if (direct.length + templates.length === 0) refuseEmptyList(session, ['resource', 'template'])
  output.result({ resources: direct, resourceTemplates: templates }, () =>
    resourceTables(direct, templates, output),
  )
  noteDisabled(session, resourceLists.kinds, output)
  return ExitCode.done
}

/** `jackfield prompts [target]`: without a target, those of every configured server. */
export async function prompts(context: CommandContext): Promise<ExitCode> {
  if (namesNoServer(context)) return showEveryServer(context, promptLists)
  const { session, rest } = await connectTo(context, ['prompts'])
  await using _ = session
  const { output } = context
  requireNoWords(rest, 'prompts [target]')
  const all = session.catalog.prompts.map(({ prompt }) => prompt)
  if (all.length === 0) refuseEmptyList(session, ['prompt'])
  output.result({ prompts: all }, () => promptTable(all, output))
  noteDisabled(session, promptLists.kinds, output)
  return ExitCode.done
}

/** Prints the disabled items of a list, with reasons. */
function noteDisabled({ trust }: Pick<Session, 'trust'>, kinds: ServerLists['kinds'], output: Output): void {
  for (const line of disabledLines(trust, kinds)) output.note(line)
}

const toolLists: ServerLists = {
  lists: ['tools'],
  kinds: ['tool'],
  isEmpty: ({ tools }) => tools.length === 0,
  format: (catalog, trust, options) => {
    const ownTools = catalog.tools.map(({ tool }) => tool)
    const quarantined = disabledLines(trust, toolLists.kinds)
    return { result: { tools: ownTools }, text: [toolTable(ownTools, options), ...quarantined].join('\n') }
  },
}

const resourceLists: ServerLists = {
  lists: ['resources'],
  kinds: ['resource', 'template'],
  isEmpty: ({ resources, templates }) => resources.length + templates.length === 0,
  format: (catalog, trust, options) => {
    const own = catalog.resources.map(({ resource }) => resource)
    const templates = catalog.templates.map(({ template }) => template)
    return {
      result: { resources: own, resourceTemplates: templates },
      text: [resourceTables(own, templates, options), ...disabledLines(trust, resourceLists.kinds)].join(
        '\n',
      ),
    }
  },
}

const promptLists: ServerLists = {
  lists: ['prompts'],
  kinds: ['prompt'],
  isEmpty: ({ prompts }) => prompts.length === 0,
  format: (catalog, trust, options) => {
    const own = catalog.prompts.map(({ prompt }) => prompt)
    const quarantined = disabledLines(trust, promptLists.kinds)
    return { result: { prompts: own }, text: [promptTable(own, options), ...quarantined].join('\n') }
  },
}

/** Each tool as a signature and the first sentence of its description. */
function toolTable(list: readonly Tool[], { palette, columns }: Appearance): string {
  if (list.length === 0) return emptyListText('tools', palette)
  const indent = '  '
  const room = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(1, columns - indent.length)
  const entries = list.map((tool) => {
    const [first = '', ...rest] = signatureLines(tool, columns)
    const name = oneLine(tool.name)
    const signature = first.startsWith(name) ? `${palette.bold(name)}${first.slice(name.length)}` : first
    const words = firstSentence(tool.description ?? tool.title ?? tool.annotations?.title ?? '')
    const hint = hints(tool)
    const text = [words, ...(hint === '' ? [] : [`[${hint}]`])].join(' ').trim()
    const below = text === '' ? [] : wrap(text, room).map((line) => `${indent}${line}`)
    return [signature, ...rest, ...below].join('\n')
  })
  const note = 'In brackets: unverified hints of the server.'
  const hasHint = list.some((tool) => hints(tool) !== '')
  return [...entries, ...(hasHint ? ['', ...wrap(note, room).map(palette.dim)] : [])].join('\n')
}

function hints({ annotations }: Tool): string {
  if (annotations?.readOnlyHint === true) return 'read-only'
  if (annotations?.destructiveHint === true) return 'destructive'
  return annotations?.destructiveHint === false ? 'additive' : ''
}

/** A tool in full: its arguments in a table, then the rest of its definition. */
export function toolText(tool: Tool, options: TableOptions): string {
  const { palette, columns = Number.POSITIVE_INFINITY } = options
  const { name: _, title, description, ...definition } = tool
  const shownTitle = title ?? tool.annotations?.title
  const hint = hints(tool)
  const args = argumentRows(tool.inputSchema)
  return [
    signatureLines(tool, options.columns).join('\n'),
    ...(shownTitle === undefined ? [] : [palette.bold(oneLine(shownTitle))]),
    ...(description === undefined ? [] : wrap(makeVisible(description), columns)),
    ...(hint === '' ? [] : [palette.dim(`The server says that it is ${hint} (not verified).`)]),
    '',
    args.length === 0
      ? palette.dim('No arguments.')
      : table(['ARGUMENT', 'TYPE', '', 'DESCRIPTION'], args, options),
    '',
    palette.dim('Definition:'),
    prettyJson(definition),
  ].join('\n')
}

function argumentRows(schema: JsonSchema): string[][] {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(properties).map(([name, property]) => {
    const described =
      isObject(property) && typeof property.description === 'string' ? property.description : ''
    const format =
      isObject(property) && typeof property.format === 'string' ? ` (${oneLine(property.format)})` : ''
    return [
      oneLine(name),
      `${typeText(property, schema)}${format}`,
      required.includes(name) ? 'required' : defaultText(property),
      oneLine(described),
    ]
  })
}

function defaultText(property: unknown): string {
  return isObject(property) && property.default !== undefined
    ? `default ${oneLine(JSON.stringify(property.default), 30)}`
    : ''
}

function resourceTables(
  resources: readonly Resource[],
  templates: readonly ResourceTemplate[],
  appearance: Appearance,
): string {
  const parts = [
    ...(resources.length === 0 ? [] : [resourceTable(resources, appearance)]),
    ...(templates.length === 0 ? [] : [templateTable(templates, appearance)]),
  ]
  return parts.length === 0 ? emptyListText('resources', appearance.palette) : parts.join('\n\n')
}

function resourceTable(list: readonly Resource[], appearance: Appearance): string {
  const rows = list.map((resource) => [
    oneLine(resource.uri),
    oneLine(resource.mimeType ?? ''),
    resource.size === undefined ? '' : formatBytes(resource.size),
    described(resource),
  ])
  return table(['RESOURCE', 'TYPE', 'SIZE', 'DESCRIPTION'], rows, appearance)
}

function templateTable(list: readonly ResourceTemplate[], appearance: Appearance): string {
  const rows = list.map((template) => [
    oneLine(template.uriTemplate),
    oneLine(template.mimeType ?? ''),
    described(template),
  ])
  return table(['TEMPLATE', 'TYPE', 'DESCRIPTION'], rows, appearance)
}

function promptTable(list: readonly Prompt[], appearance: Appearance): string {
  if (list.length === 0) return emptyListText('prompts', appearance.palette)
  const rows = list.map((prompt) => {
    const args = (prompt.arguments ?? []).map((entry) =>
      entry.required === true ? entry.name : `[${entry.name}]`,
    )
    return [oneLine(prompt.name), oneLine(args.join(' ')), described(prompt)]
  })
  return table(['PROMPT', 'ARGUMENTS', 'DESCRIPTION'], rows, appearance)
}

function described(entry: { name: string; title?: string; description?: string }): string {
  const words = [entry.title ?? entry.name, entry.description].filter((part) => part !== undefined)
  return oneLine(words.join(': '))
}

function emptyListText(what: string, palette: Palette): string {
  return palette.dim(`The server offers no ${what}.`)
}

/** The entry with that name; otherwise throws an error that lists the names. */
export function requireFound<T>(
  list: readonly T[],
  nameOf: (entry: T) => string,
  name: string,
  what: string,
): T {
  const entry = list.find((candidate) => nameOf(candidate) === name)
  if (entry !== undefined) return entry
  const names = list.map((candidate) => oneLine(nameOf(candidate))).join(', ')
  throw new CliError(
    ExitCode.protocol,
    `The server has no ${what} "${name}". ${names === '' ? 'It has none.' : `It has: ${names}.`}`,
  )
}

function atMostOneWord(words: string[], usage: string): string | undefined {
  if (words.length > 1)
    throw usageError(`Too many words: ${words.slice(1).join(' ')}. Usage: jackfield ${usage}`)
  return words[0]
}

function requireNoWords(words: string[], usage: string): void {
  if (words.length > 0) throw usageError(`Too many words: ${words.join(' ')}. Usage: jackfield ${usage}`)
}
