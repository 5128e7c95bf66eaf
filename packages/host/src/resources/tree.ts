import type { CatalogResource, CatalogTemplate, LibraryEntry, LibraryNode } from '../types/index.ts'

const maxDepth = 24

interface Place {
  label: string
  entries: (CatalogResource | CatalogTemplate)[]
  children: Map<string, Place>
}

/** Resources and templates by server and the segments of their URIs, in the order they are listed. */
export function treeOf(entries: Iterable<LibraryEntry>): LibraryNode[] {
  const servers = new Map<string, Place>()
  for (const entry of entries) {
    if (entry.kind === 'prompt') continue
    const { kind, ...rest } = entry
    const uri = 'resource' in rest ? rest.resource.uri : rest.template.uriTemplate
    let place = within(servers, entry.server)
    for (const segment of segmentsOf(uri)) place = within(place.children, segment)
    place.entries.push(rest)
  }
  return [...servers.values()].map(nodeOf)
}

/** The scheme and then every part between slashes; a slash inside an expression of a template is none. */
export function segmentsOf(uri: string): string[] {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/\/?)?/.exec(uri)?.[0] ?? ''
  const segments: string[] = scheme === '' ? [] : [scheme]
  let begin = scheme.length
  let inside = false
  for (let at = begin; at < uri.length && segments.length < maxDepth - 1; at++) {
    const character = uri[at]
    if (character === '{') inside = true
    if (character === '}') inside = false
    if (character !== '/' || inside) continue
    if (at > begin) segments.push(uri.slice(begin, at))
    begin = at + 1
  }
  if (begin < uri.length) segments.push(uri.slice(begin))
  return segments
}

function within(places: Map<string, Place>, label: string): Place {
  const known = places.get(label)
  if (known !== undefined) return known
  const made: Place = { label, entries: [], children: new Map() }
  places.set(label, made)
  return made
}

function nodeOf({ label, entries, children }: Place): LibraryNode {
  const below = [...children.values()].map(nodeOf)
  const own = entries.filter((entry) => 'resource' in entry).length
  return {
    label,
    entries,
    children: below,
    resources: below.reduce((sum, node) => sum + node.resources, own),
    templates: below.reduce((sum, node) => sum + node.templates, entries.length - own),
  }
}
