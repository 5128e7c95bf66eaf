import type { ProtocolVersion } from './methods.ts'

/** An object of the protocol whose members grew over the revisions. */
export type Shape =
  | 'implementation'
  | 'tool'
  | 'resource'
  | 'template'
  | 'prompt'
  | 'promptArgument'
  | 'content'
  | 'annotations'
  | 'contents'
  | 'progress'
  | 'sampling'
  | 'root'
  | 'serverCapabilities'

/** Members that did not stand in the first revision, with the first revision that has them. */
const since: Readonly<Record<Shape, Readonly<Record<string, ProtocolVersion>>>> = {
  implementation: {
    title: '2025-06-18',
    description: '2025-11-25',
    websiteUrl: '2025-11-25',
    icons: '2025-11-25',
  },
  tool: {
    annotations: '2025-03-26',
    title: '2025-06-18',
    outputSchema: '2025-06-18',
    _meta: '2025-06-18',
    icons: '2025-11-25',
  },
  resource: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  template: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  prompt: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  promptArgument: { title: '2025-06-18' },
  content: { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' },
  annotations: { lastModified: '2025-06-18' },
  contents: { _meta: '2025-06-18' },
  progress: { message: '2025-03-26', _meta: '2025-11-25' },
  sampling: { tools: '2025-11-25', toolChoice: '2025-11-25', _meta: '2025-11-25' },
  root: { _meta: '2025-06-18' },
  serverCapabilities: { completions: '2025-03-26' },
}

/** Gives an object with only the members a revision knows: the very same object where it knows them all. */
export type Trim = (shape: Shape, value: Record<string, unknown>) => Record<string, unknown>

export function trimmer(version: ProtocolVersion): Trim {
  const unknown = new Map<Shape, ReadonlySet<string>>()
  for (const [shape, members] of Object.entries(since)) {
    const later = Object.entries(members).filter(([, first]) => first > version)
    unknown.set(shape as Shape, new Set(later.map(([name]) => name)))
  }
  return (shape, value) => {
    const drop = unknown.get(shape)
    if (drop === undefined || drop.size === 0) return value
    return Object.fromEntries(Object.entries(value).filter(([name]) => !drop.has(name)))
  }
}
