import { noLists, type ServerLists } from '../connections/index.ts'
import { fingerprint, type JsonRecord } from '../json.ts'
import type { TrustItem } from '../types/index.ts'

export type Part = TrustItem['what']
type Listed = Exclude<Part, 'instructions'>

/** One thing that a server says about itself. */
export interface Definition extends TrustItem {
  /** All that a model or a person is told of it. */
  says: JsonRecord
  hash: string
}

const named: Readonly<Record<Listed, string>> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
}
const made = new WeakMap<object, Definition>()

/** The definition of one entry of a list: all that it says but what changes with a resource's data. */
export function definitionOf(what: Listed, entry: object): Definition {
  const known = made.get(entry)
  if (known !== undefined) return known
  const says: JsonRecord = { ...entry }
  if (what === 'resource') {
    delete says['size']
    delete says['annotations']
  }
  const definition = { what, name: String(says[named[what]]), says, hash: fingerprint(says) }
  made.set(entry, definition)
  return definition
}

export function instructionsOf(text: string): Definition {
  const says = { text }
  return { what: 'instructions', name: 'instructions', says, hash: fingerprint(says) }
}

/**
 * What a server says at present, by kind. Kinds whose list was not fetched are absent, and so are the instructions
 * where it is not known what the server said of itself.
 */
export function definitionsOf(
  lists: ServerLists,
  server: { instructions?: string | undefined } | undefined,
): Map<Part, Map<string, Definition>> {
  const said = new Map<Part, Map<string, Definition>>()
  if (server !== undefined) {
    const { instructions } = server
    said.set('instructions', byName(instructions === undefined ? [] : [instructionsOf(instructions)]))
  }
  const add = (what: Listed, entries: readonly object[], unknown: readonly object[]): void => {
    if (entries !== unknown) said.set(what, byName(entries.map((entry) => definitionOf(what, entry))))
  }
  add('tool', lists.tools, noLists.tools)
  add('prompt', lists.prompts, noLists.prompts)
  add('resource', lists.resources, noLists.resources)
  add('template', lists.templates, noLists.templates)
  return said
}

/** The first of each name; another of the same name is offered by nobody. */
function byName(definitions: readonly Definition[]): Map<string, Definition> {
  const found = new Map<string, Definition>()
  for (const definition of definitions) {
    if (!found.has(definition.name)) found.set(definition.name, definition)
  }
  return found
}
