import type { Redactor } from '../../config/secrets/redactor.ts'
import { noLists, type ServerLists } from '../../servers/connections/lists.ts'
import { fingerprint, type JsonRecord } from '../../shared/json.ts'
import type { TrustItem } from '../../types/index.ts'

export type Part = TrustItem['what']
type Listed = Exclude<Part, 'instructions'>

/** One thing that a server says about itself. Its name and what it says hold no known secret. */
export interface Definition extends TrustItem {
  /** All that a model or a person is told of it. */
  says: JsonRecord
  /** Of what the server says, letter by letter. */
  hash: string
  /** Of what is told of it, where a secret was taken out. */
  toldHash?: string
}

const named: Readonly<Record<Listed, string>> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
}

/** Reads what servers say about themselves. What is compared is what they say; what is told and kept holds no secret. */
export class Definitions {
  readonly #redactor: Pick<Redactor, 'value'>
  readonly #made = new WeakMap<object, Definition>()

  constructor(redactor: Pick<Redactor, 'value'>) {
    this.#redactor = redactor
  }

  /** The definition of one entry of a list: all that it says but what changes with a resource's data. */
  of(what: Listed, entry: object): Definition {
    const known = this.#made.get(entry)
    if (known !== undefined) return known
    const says: JsonRecord = { ...entry }
    if (what === 'resource') {
      delete says['size']
      delete says['annotations']
    }
    const definition = this.#told(what, named[what], says)
    this.#made.set(entry, definition)
    return definition
  }

  instructions(text: string): Definition {
    return this.#told('instructions', undefined, { text })
  }

  /**
   * What a server says at present, by kind. Kinds whose list was not fetched are absent, and so are the instructions
   * where it is not known what the server said of itself.
   */
  all(
    lists: ServerLists,
    server: { instructions?: string | undefined } | undefined,
  ): Map<Part, Map<string, Definition>> {
    const said = new Map<Part, Map<string, Definition>>()
    if (server !== undefined) {
      const { instructions } = server
      said.set('instructions', byName(instructions === undefined ? [] : [this.instructions(instructions)]))
    }
    const add = (what: Listed, entries: readonly object[], unknown: readonly object[]): void => {
      if (entries !== unknown) said.set(what, byName(entries.map((entry) => this.of(what, entry))))
    }
    add('tool', lists.tools, noLists.tools)
    add('prompt', lists.prompts, noLists.prompts)
    add('resource', lists.resources, noLists.resources)
    add('template', lists.templates, noLists.templates)
    return said
  }

  #told(what: Part, name: string | undefined, says: JsonRecord): Definition {
    const told = this.#redactor.value(says)
    return {
      what,
      name: name === undefined ? what : String(told[name]),
      says: told,
      hash: fingerprint(says),
      ...(told !== says && { toldHash: fingerprint(told) }),
    }
  }
}

/** The first of each name; another of the same name is offered by nobody. */
function byName(definitions: readonly Definition[]): Map<string, Definition> {
  const found = new Map<string, Definition>()
  for (const definition of definitions) {
    if (!found.has(definition.name)) found.set(definition.name, definition)
  }
  return found
}
