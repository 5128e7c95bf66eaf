import { frozenCopy } from '../../shared/json.ts'
import type { CatalogTool, Host, Model } from '../../types/index.ts'
import { type ModelTool, modelTool } from '../tool-search/meter.ts'
import { codeTools } from './code-tools.ts'
import { searchTools } from './search-tools.ts'
import type { OfferedTools } from './tool-calls.ts'
import { virtualTools } from './virtual-tools.ts'

/** Selects the tools offered to a conversation's model. */
export interface ToolOffer {
  /**
   * Updates the current tools. Returns the notice for the model about a change; undefined on the first call, and without a
   * change.
   */
  update(model: Model): string | undefined
  /**
   * The tools for the next request. Tools keep their position and exact text, so that prompt prefixes stay cached; only those
   * switched off by the user are removed.
   */
  tools(model: Model): ModelTool[]
}

interface OfferedTool {
  tool: CatalogTool['tool']
  /** The definition that the model was given; undefined if it finds the tool by search. */
  knownDefinition: string | undefined
  present: boolean
  /** It exists, and the user switched it off. */
  off?: true
}

type Change = 'given' | 'found' | 'changed' | 'gone' | 'off' | 'back'

const maxNamesInNotice = 30
const maxDefinitionCharacters = 4_000

/**
 * Offers all tools, in the order they were first seen. Beyond a share of the context, new ones are found with `search_tools`
 * instead. A model without token costs gets the current tools.
 */
export function createToolOffer(host: Host, { codeMode, isOn }: OfferedTools): ToolOffer {
  const offered: ModelTool[] = [...virtualTools, ...(codeMode ? codeTools : [])]
  const seen = new Map<string, OfferedTool>()
  let searching = false
  let isStarted = false

  function addNew(entry: CatalogTool): Change {
    const full = !searching || entry.always === true
    const definition = frozenCopy(modelTool(entry))
    if (full) offered.push(definition)
    seen.set(entry.name, {
      tool: entry.tool,
      knownDefinition: full ? JSON.stringify(definition) : undefined,
      present: true,
    })
    return full ? 'given' : 'found'
  }

  function add(entry: CatalogTool): Change | undefined {
    const previous = seen.get(entry.name)
    if (previous === undefined) return addNew(entry)
    const { tool, knownDefinition: known, present } = previous
    const current = known === undefined || tool === entry.tool ? known : JSON.stringify(modelTool(entry))
    seen.set(entry.name, { tool: entry.tool, knownDefinition: current, present: true })
    if (current !== known) return 'changed'
    return present ? undefined : 'back'
  }

  return {
    update(model) {
      if (!model.isLanguageModel) return undefined
      const all = host.tools()
      const present = all.filter(isOn)
      const switchedOff = new Set(all.filter((entry) => !isOn(entry)).map(({ name }) => name))
      const { contextTokens } = model
      const meter = host.toolSearch.meter({ isOn, ...(contextTokens !== undefined && { contextTokens }) })
      if (!searching && meter.deferred) {
        searching = true
        offered.push(...searchTools(present))
      }
      const changes: [Change, CatalogTool['name']][] = []
      const presentByName = new Map(present.map((entry) => [entry.name, entry]))
      for (const [name, previous] of seen) {
        if (presentByName.has(name)) continue
        if (switchedOff.has(name) && previous.off !== true) {
          seen.set(name, { ...previous, present: false, off: true })
          changes.push(['off', name])
        } else if (previous.present) {
          seen.set(name, { ...previous, present: false })
          changes.push(['gone', name])
        }
      }
      for (const entry of present) {
        const change = add(entry)
        if (change !== undefined) changes.push([change, entry.name])
      }
      const first = !isStarted
      isStarted = true
      if (first || changes.length === 0) return undefined
      return changeNotice(changes, (name) => JSON.stringify(definitionOf(presentByName.get(name))))
    },
    tools: (model) =>
      model.isLanguageModel
        ? offered.filter(({ name }) => seen.get(name)?.off !== true)
        : [...virtualTools, ...host.tools().filter(isOn).map(modelTool)],
  }
}

function definitionOf(entry: CatalogTool | undefined): ModelTool | undefined {
  return entry === undefined ? undefined : modelTool(entry)
}

function changeNotice(changes: readonly [Change, string][], definition: (name: string) => string): string {
  const namesOf = (...kinds: Change[]): string[] =>
    changes.flatMap(([change, name]) => (kinds.includes(change) ? [name] : []))
  const part = (names: string[], label: string): string[] => {
    const more = names.length > maxNamesInNotice ? ` and ${names.length - maxNamesInNotice} more` : ''
    return names.length === 0 ? [] : [`${label}: ${names.slice(0, maxNamesInNotice).join(', ')}${more}.`]
  }
  let remaining = maxDefinitionCharacters
  const changed = namesOf('changed').map((name) => {
    const text = definition(name)
    remaining -= text.length
    return remaining < 0
      ? `${name} changed; look at it with care before you call it.`
      : `${name} changed and is now: ${text}`
  })
  return [
    '[From Jackfield, not from the person] The tools changed.',
    ...part(namesOf('given'), 'New'),
    ...part(namesOf('found'), 'New, to be found with search_tools'),
    ...part(namesOf('back'), 'Back'),
    ...part(namesOf('off'), 'Switched off by the person, so that calls of them are refused'),
    ...part(namesOf('gone'), 'Gone, although still listed; calls of them fail'),
    ...changed,
  ].join('\n')
}
