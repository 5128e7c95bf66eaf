import type {
  AnyPrompt,
  AnyTemplate,
  AnyTool,
  Outcome,
  Prompt,
  Resource,
  ResourceTemplate,
  ResourceValue,
  Tool,
} from '@jackfield/sdk'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import { matchesGlob } from '../shared/text.ts'
import type { CatalogPrompt, CatalogResource, CatalogTemplate, CatalogTool, Host } from '../types/index.ts'

/** Builds the definitions that a gateway serves from those of its host. */
export interface DefinitionBuilders {
  tool(entry: CatalogTool): AnyTool
  prompt(entry: CatalogPrompt): AnyPrompt
  resource(entry: CatalogResource): ResourceValue
  template(entry: CatalogTemplate): AnyTemplate
}

/** The definitions that a gateway offers. */
export interface Offer {
  readonly rows: Rows
  readonly tools: ReadonlyMap<string, AnyTool>
  readonly prompts: ReadonlyMap<string, AnyPrompt>
  /** By URI, or by URI template. */
  readonly resources: ReadonlyMap<string, ResourceValue | AnyTemplate>
  /** The server of each resource, by URI. */
  readonly owners: ReadonlyMap<string, string>
}

/** The parts of a host that are offered: the selected servers, without tools that policy always denies. */
export function offerOf(
  host: Pick<Host, 'tools' | 'prompts' | 'resources' | 'templates' | 'policy'>,
  only: readonly string[] | undefined,
  builders: DefinitionBuilders,
): Offer {
  const isSelected = (name: string): boolean =>
    only === undefined || only.some((glob) => matchesGlob(glob, name))
  const tools = host.tools().filter(({ name }) => isSelected(name) && !isAlwaysDenied(host, name))
  const prompts = host.prompts().filter(({ name }) => isSelected(name))
  const resources = firstOf(
    host.resources().filter(({ server, resource }) => isSelected(`${server}__${resource.uri}`)),
    ({ resource }) => resource.uri,
  )
  const templates = firstOf(
    host.templates().filter(({ server, template }) => isSelected(`${server}__${template.uriTemplate}`)),
    ({ template }) => template.uriTemplate,
  )
  return {
    rows: {
      tools: new Map(tools.map(({ name, tool }) => [name, asTool(name, tool)])),
      prompts: new Map(prompts.map(({ name, prompt }): [string, Prompt] => [name, { ...prompt, name }])),
      resources: mapValues(resources, ({ resource }): Resource => resource),
      templates: mapValues(templates, ({ template }): ResourceTemplate => template),
    },
    tools: new Map(tools.map((entry) => [entry.name, builders.tool(entry)])),
    prompts: new Map(prompts.map((entry) => [entry.name, builders.prompt(entry)])),
    resources: new Map<string, ResourceValue | AnyTemplate>([
      ...mapValues(resources, builders.resource),
      ...mapValues(templates, builders.template),
    ]),
    owners: mapValues(resources, ({ server }) => server),
  }
}

/** A tool under its qualified name. Calls never run as tasks here, so task support is not declared. */
function asTool(name: string, tool: Tool): Tool {
  const { execution: _execution, ...rest }: Tool & { execution?: unknown } = tool
  return { ...rest, name }
}

/** Whether policy denies every call of a tool. A rule on arguments can only be decided for a call. */
function isAlwaysDenied({ policy }: Pick<Host, 'policy'>, name: string): boolean {
  try {
    const { decision } = policy.explain(name, {}, { caller: 'gateway' })
    if (decision.verdict !== 'deny') return false
    const mayAllow = policy.rules().some((rule) => rule.verdict !== 'deny' && rule.arguments !== undefined)
    return decision.rule !== 'default' || !mayAllow
  } catch {
    return true
  }
}

/** If two servers have the same URI, the one configured first has precedence. */
function firstOf<T>(entries: readonly T[], keyOf: (entry: T) => string): Map<string, T> {
  const byKey = new Map<string, T>()
  for (const entry of entries) if (!byKey.has(keyOf(entry))) byKey.set(keyOf(entry), entry)
  return byKey
}

function mapValues<A, B>(from: ReadonlyMap<string, A>, to: (value: A) => B): Map<string, B> {
  return new Map(Array.from(from, ([key, value]) => [key, to(value)]))
}

/** The list entries of a gateway, as the servers wrote them, by key. */
export interface Rows {
  readonly tools: ReadonlyMap<string, Tool>
  readonly prompts: ReadonlyMap<string, Prompt>
  readonly resources: ReadonlyMap<string, Resource>
  readonly templates: ReadonlyMap<string, ResourceTemplate>
}

const listMethods = new Map<string, { column: string; key: string; of: keyof Rows }>([
  ['tools/list', { column: 'tools', key: 'name', of: 'tools' }],
  ['prompts/list', { column: 'prompts', key: 'name', of: 'prompts' }],
  ['resources/list', { column: 'resources', key: 'uri', of: 'resources' }],
  ['resources/templates/list', { column: 'resourceTemplates', key: 'uriTemplate', of: 'templates' }],
])

/** Whether a method lists definitions. */
export function isList(method: string): boolean {
  return listMethods.has(method)
}

/** A page of a list with every entry as its server wrote it; other entries are left out. */
export function asWritten(method: string, outcome: Outcome, rows: Rows): Outcome {
  const list = listMethods.get(method)
  if (list === undefined || outcome.type !== 'complete') return outcome
  const page = outcome.result[list.column]
  if (!Array.isArray(page)) return outcome
  const originalEntries = (entry: unknown): JsonRecord[] => {
    const key = isRecord(entry) ? entry[list.key] : undefined
    const row = typeof key === 'string' ? rows[list.of].get(key) : undefined
    return row === undefined ? [] : [{ ...row }]
  }
  return { ...outcome, result: { ...outcome.result, [list.column]: page.flatMap(originalEntries) } }
}
