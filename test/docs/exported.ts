import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A name that can be imported, and where it is declared. */
export interface Exported {
  readonly name: string
  /** The source file that declares it. */
  readonly file: string
  /** Its doc comment; undefined without one. */
  readonly comment: string | undefined
}

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:interface|class|function|const|let|type) (\w+)/gm
const passedOn = /^export (?:type )?(\*|\{[^}]*\}) from '(\.[^']+)'/gm
const named = /^export (?:type )?\{([^}]*)\}(?! from)/gm
const imported = /^import (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm

/** Everything a source file of this project exports. Reads the forms its formatter writes, not all of the language. */
export function exportedFrom(file: string): Exported[] {
  const source = readFileSync(file, 'utf8')
  const found = new Map<string, Exported>()
  const add = (one: Exported): void => {
    if (!found.has(one.name)) found.set(one.name, one)
  }
  for (const { 1: name = '', index } of source.matchAll(declaration)) {
    add({ name, file, comment: commentBefore(source, index) })
  }
  for (const { 1: what = '', 2: from = '' } of source.matchAll(passedOn)) {
    const others = exportedFrom(join(dirname(file), from))
    if (what === '*') others.forEach(add)
    else for (const [inner, outer] of namesIn(what)) add(chosen(others, inner, outer, file))
  }
  const imports = [...source.matchAll(imported)]
  for (const { 1: what = '' } of source.matchAll(named)) {
    for (const [inner, outer] of namesIn(what)) {
      const from = imports.find(({ 1: names = '' }) =>
        namesIn(names).some(([, local]) => local === inner),
      )?.[2]
      add(chosen(from === undefined ? [] : exportedFrom(join(dirname(file), from)), inner, outer, file))
    }
  }
  return [...found.values()]
}

const typeWithMembers = /^export (?:(?:interface|class) (\w+)[^{]*|type (\w+)[^\n]*)\{\n([\s\S]*?)^\}/gm
const memberStart =
  /^ {2}(?:(?:readonly|static|get) )*(?!constructor|override)(?:'([^']+)'|(\[[\w.]+\]|[\w$]+))\??[(<:](.*)$/
/** The discriminant of a union, or a member that the specification gives the same meaning everywhere. */
const selfEvident = /^(?:(?:type|kind|mode|jsonrpc)\??: '.*|_meta\?: JsonObject)$/

/** The members of the exported interfaces and classes of a source file that have no doc comment, as `Type.member`. */
export function undocumentedMembers(file: string, names: ReadonlySet<string>): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(typeWithMembers)].flatMap(({ 1: named, 2: alias, 3: body = '' }) => {
    const owner = named ?? alias ?? ''
    if (!names.has(owner)) return []
    const documented = new Set<string>()
    const lines = body.split('\n')
    return lines.flatMap((line, at) => {
      const [, quoted, plain = ''] = memberStart.exec(line) ?? []
      const name = quoted ?? plain
      if (name === '' || selfEvident.test(line.trim().replace(/^readonly /, ''))) return []
      if (documented.has(name)) return []
      documented.add(name)
      return lines[at - 1]?.endsWith('*/') ? [] : [`${owner}.${name}`]
    })
  })
}

function chosen(others: readonly Exported[], inner: string, outer: string, file: string): Exported {
  const one = others.find(({ name }) => name === inner)
  return { file: one?.file ?? file, comment: one?.comment, name: outer }
}

/** The names between braces: as they are there, and as they are here. */
function namesIn(braces: string): [string, string][] {
  return braces
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [inner = part, outer = inner] = part.split(' as ')
      return [inner, outer]
    })
}

function commentBefore(source: string, at: number): string | undefined {
  const before = source.slice(0, at).trimEnd()
  if (!before.endsWith('*/')) return undefined
  const start = before.lastIndexOf('/**')
  const text = before.slice(start + 3, -2)
  return start < 0 || text.includes('*/') ? undefined : text.replaceAll(/^\s*\* ?/gm, '').trim()
}
