import type { LibraryEntry, LibraryNode } from '@jackfield/host'
import { formatBytes } from './content.ts'
import type { Palette } from './palette.ts'
import { count, oneLine } from './sanitize.ts'

const maxDescription = 60

/** Folders and resources as a tree. Chains of single folders share a line. */
export function libraryTree(servers: readonly LibraryNode[], palette: Palette): string {
  return servers
    .map((server) => {
      const counts = palette.dim(countsText(server))
      return [
        `${palette.bold(oneLine(server.label))}  ${counts}`,
        ...treeLines(server.children, '', palette),
      ].join('\n')
    })
    .join('\n\n')
}

function treeLines(nodes: readonly LibraryNode[], indent: string, palette: Palette): string[] {
  return nodes.flatMap((node, n) => {
    const isLast = n === nodes.length - 1
    const { label, end } = joinSingleFolders(node)
    const about = end.entries.map(entryFacts).join('; ')
    const facts = end.entries.length > 0 ? about : countsText(end)
    return [
      `${palette.dim(`${indent}${isLast ? '└─' : '├─'}`)} ${oneLine(label)}${facts === '' ? '' : `  ${palette.dim(facts)}`}`,
      ...treeLines(end.children, `${indent}${isLast ? '   ' : '│  '}`, palette),
    ]
  })
}

function joinSingleFolders(node: LibraryNode): { label: string; end: LibraryNode } {
  let label = node.label
  let end = node
  let [only, ...others] = end.children
  while (only !== undefined && others.length === 0 && end.entries.length === 0) {
    label += `${/[/:]$/.test(label) ? '' : '/'}${only.label}`
    end = only
    ;[only, ...others] = end.children
  }
  return { label, end }
}

function entryFacts(entry: LibraryNode['entries'][number]): string {
  const what = 'resource' in entry ? entry.resource : entry.template
  const facts = [
    'resource' in entry ? '' : 'template',
    oneLine(what.mimeType ?? ''),
    'resource' in entry && entry.resource.size !== undefined ? formatBytes(entry.resource.size) : '',
    oneLine(what.title ?? what.description ?? '', maxDescription),
  ]
  return facts.filter((fact) => fact !== '').join(', ')
}

function countsText({ resources, templates }: LibraryNode): string {
  const parts = [
    resources === 0 ? '' : count(resources, 'resource'),
    templates === 0 ? '' : count(templates, 'template'),
  ]
  return parts.filter((part) => part !== '').join(', ')
}

/** The reference a user types for an entry, and its description from the server. */
export function entryTexts(entry: LibraryEntry): { written: string; about: string } {
  const details = ({
    name,
    title,
    description,
  }: {
    name: string
    title?: string
    description?: string
  }): string => [title ?? name, description].filter((part) => part !== undefined).join(': ')
  switch (entry.kind) {
    case 'resource':
      return { written: entry.resource.uri, about: details(entry.resource) }
    case 'template':
      return { written: entry.template.uriTemplate, about: details(entry.template) }
    case 'prompt':
      return { written: `/${entry.command}`, about: details(entry.prompt) }
  }
}
