import { isForPersonOnly } from '../shared/audience.ts'
import type { CatalogResource, CatalogTemplate, LibraryNode } from '../types/index.ts'
import type { LibraryLeaf, LibraryPage } from './contract.ts'

const defaultLimit = 200
const maxResources = 1_000
const charactersPerToken = 4

/** The nodes below a place of the tree, as one page. */
export function libraryPage(
  tree: readonly LibraryNode[],
  path: readonly string[],
  { from = 0, limit = defaultLimit }: { from?: number; limit?: number },
): LibraryPage {
  const nodes = nodesUnder(tree, path)
  return {
    total: nodes.length,
    nodes: nodes.slice(from, from + limit).map(({ label, resources, templates, entries, children }) => ({
      label,
      resources,
      templates,
      hasChildren: children.length > 0,
      leaves: entries.map(leafOf),
    })),
  }
}

/** The resources below a place, in tree order. */
export function resourcesUnder(
  tree: readonly LibraryNode[],
  path: readonly string[],
): { resources: LibraryLeaf[]; total: number } {
  const resources: LibraryLeaf[] = []
  let total = 0
  const collect = ({ entries, children }: LibraryNode): void => {
    for (const entry of entries) {
      if (!('resource' in entry)) continue
      total += 1
      if (resources.length < maxResources) resources.push(leafOf(entry))
    }
    for (const child of children) collect(child)
  }
  const start = nodeAt(tree, path)
  for (const node of start === undefined ? (path.length === 0 ? tree : []) : [start]) collect(node)
  return { resources, total }
}

function nodesUnder(tree: readonly LibraryNode[], path: readonly string[]): readonly LibraryNode[] {
  return path.length === 0 ? tree : (nodeAt(tree, path)?.children ?? [])
}

function nodeAt(tree: readonly LibraryNode[], path: readonly string[]): LibraryNode | undefined {
  let nodes = tree
  let current: LibraryNode | undefined
  for (const label of path) {
    current = nodes.find((node) => node.label === label)
    if (current === undefined) return undefined
    nodes = current.children
  }
  return current
}

function leafOf(entry: CatalogResource | CatalogTemplate): LibraryLeaf {
  const { server } = entry
  const isTemplate = 'template' in entry
  const { name, title, mimeType, annotations } = isTemplate ? entry.template : entry.resource
  const size = isTemplate ? undefined : entry.resource.size
  return {
    server,
    uri: isTemplate ? entry.template.uriTemplate : entry.resource.uri,
    title: title ?? name,
    ...(isTemplate && { isTemplate: true as const }),
    ...(mimeType !== undefined && { mimeType }),
    ...(size !== undefined && { tokens: Math.ceil(size / charactersPerToken) }),
    ...(annotations?.priority !== undefined && { priority: annotations.priority }),
    ...(isForPersonOnly(annotations) && { isForPersonOnly: true as const }),
  }
}
