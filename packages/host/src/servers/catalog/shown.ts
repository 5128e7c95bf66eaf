import type { Prompt, Resource, ResourceTemplate, Tool } from '@jackfield/sdk'
import type { Redactor } from '../../config/secrets/redactor.ts'
import type { Host } from '../../types/index.ts'
import { exposedName } from './names.ts'

type Lists = Pick<Host, 'tools' | 'prompts' | 'resources' | 'templates'>

/** What servers offer, as it is told: without the secrets that stand in it. */
export interface ShownCatalog extends Lists {
  /** The name of what was shown under a name. */
  nameOf(shown: string): string
  /** The address of what a server's lists show under an address. */
  uriOf(server: string, shown: string): string
}

/**
 * Takes known secrets out of what a catalog lists. Each entry is prepared once, and again when a further secret becomes
 * known. A name or address that holds one is shown without it, and found by that.
 */
export function createShownCatalog(catalog: () => Lists, redactor: Redactor): ShownCatalog {
  const names = new Map<string, string>()
  /** By server, what stands for the secrets in its addresses. */
  const taken = new Map<string, Map<string, string>>()

  const toolOf = once<Tool>(redactor)
  const promptOf = once<Prompt>(redactor)
  const resourceOf = once<Resource>(redactor)
  const templateOf = once<ResourceTemplate>(redactor)

  const nameFor = (server: string, raw: string, name: string, own: string): string => {
    if (own === raw) return name
    const given = exposedName(server, own)
    names.set(given, name)
    return given
  }

  const noteAddress = (server: string, address: string): void => {
    for (const piece of redactor.pieces(address)) {
      if (typeof piece === 'string') continue
      const own = taken.get(server) ?? new Map<string, string>()
      taken.set(server, own.set(`[${piece.name}]`, piece.text))
    }
  }

  return {
    tools: () =>
      catalog()
        .tools()
        .map((entry) => {
          const tool = toolOf(entry.tool)
          if (tool === entry.tool) return entry
          return { ...entry, name: nameFor(entry.server, entry.tool.name, entry.name, tool.name), tool }
        }),
    prompts: () =>
      catalog()
        .prompts()
        .map((entry) => {
          const prompt = promptOf(entry.prompt)
          if (prompt === entry.prompt) return entry
          return { ...entry, name: nameFor(entry.server, entry.prompt.name, entry.name, prompt.name), prompt }
        }),
    resources: () =>
      catalog()
        .resources()
        .map((entry) => {
          const resource = resourceOf(entry.resource)
          if (resource.uri !== entry.resource.uri) noteAddress(entry.server, entry.resource.uri)
          return resource === entry.resource ? entry : { ...entry, resource }
        }),
    templates: () =>
      catalog()
        .templates()
        .map((entry) => {
          const template = templateOf(entry.template)
          if (template.uriTemplate !== entry.template.uriTemplate)
            noteAddress(entry.server, entry.template.uriTemplate)
          return template === entry.template ? entry : { ...entry, template }
        }),
    nameOf: (given) => names.get(given) ?? given,
    uriOf: (server, given) => {
      let address = given
      for (const [mark, text] of taken.get(server) ?? []) address = address.replaceAll(mark, () => text)
      return address
    },
  }
}

/** Redacts things of one kind, each once for as long as no further secret becomes known. */
function once<T extends object>(redactor: Redactor): (thing: T) => T {
  let prepared = new WeakMap<T, T>()
  let version = 0
  return (thing) => {
    if (redactor.version !== version) {
      prepared = new WeakMap()
      version = redactor.version
    }
    const known = prepared.get(thing)
    if (known !== undefined) return known
    const made = redactor.value(thing)
    prepared.set(thing, made)
    return made
  }
}
