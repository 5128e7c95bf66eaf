import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { Node } from 'jsonc-parser'
import { libraries } from '../shared/libraries.ts'
import type { Path } from './reader.ts'

/** A value that is set at a place of a file; undefined removes what is there. A last step of -1 appends to a list. */
export interface Edit {
  readonly path: Path
  readonly value: unknown
}

/** The text of a file; undefined where there is none. */
export async function textOfFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** SHA-256 of the text of a file, in hexadecimal; null where there is none. */
export function hashOf(text: string | undefined): string | null {
  return text === undefined ? null : createHash('sha256').update(text).digest('hex')
}

/**
 * Replaces a file at once, so that no reader sees half of it. It keeps its mode, and a link stays a link. A new file is
 * readable by its owner alone.
 */
export async function replaceFile(file: string, text: string): Promise<void> {
  const target = await realpath(file).catch(() => file)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const draft = join(dirname(target), `.jackfield.${process.pid}.${Date.now()}.draft`)
  await writeFile(draft, text, { mode: 0o600 })
  await chmod(draft, mode)
  await rename(draft, target)
}

/**
 * The text of a file with these changes; comments and everything else stay.
 * @throws McpError 'INVALID' for a file in TOML
 */
export function editText(text: string, file: string, edits: readonly Edit[]): string {
  if (/\.toml$/i.test(file))
    throw new McpError('INVALID', `${file} is TOML, which is not changed from here. Change it in an editor.`)
  if (/\.ya?ml$/i.test(file)) return editYaml(text, edits)
  return edits.reduce(editJson, text.trim() === '' ? '{\n}\n' : text)
}

function editYaml(text: string, edits: readonly Edit[]): string {
  const document = libraries.yaml.parseDocument(text)
  for (const { path, value } of edits) {
    if (value === undefined) document.deleteIn(path)
    else if (path.at(-1) !== -1) document.setIn(path, document.createNode(value))
    else if (document.hasIn(path.slice(0, -1))) document.addIn(path.slice(0, -1), document.createNode(value))
    else document.setIn(path.slice(0, -1), document.createNode([value]))
  }
  return document.toString({ lineWidth: 0 })
}

function editJson(text: string, { path, value }: Edit): string {
  const { applyEdits, findNodeAtLocation, modify, parseTree } = libraries.jsonc
  const tree = parseTree(text, [], { allowTrailingComma: true })
  if (value === undefined) {
    const node = tree && findNodeAtLocation(tree, [...path])
    return node === undefined ? text : withoutNode(text, node)
  }
  const appends = path.at(-1) === -1
  const list = appends && tree ? findNodeAtLocation(tree, path.slice(0, -1)) : undefined
  const isNew = appends && list?.type !== 'array'
  const formattingOptions = indentation(text)
  return applyEdits(
    text,
    modify(text, isNew ? path.slice(0, -1) : [...path], isNew ? [value] : value, {
      formattingOptions,
      ...(appends && !isNew && { isArrayInsertion: true }),
    }),
  )
}

/** As the file is indented already. */
function indentation(text: string): { insertSpaces: boolean; tabSize: number } {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(text) ?? []
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 2 }
    : { insertSpaces: true, tabSize: Math.min(indent.length, 8) }
}

/** Removes an item or a member with its comma. Comments around it stay, which the library would remove with it. */
function withoutNode(text: string, value: Node): string {
  const node = value.parent?.type === 'property' ? value.parent : value
  const siblings = node.parent?.children ?? []
  const at = siblings.indexOf(node)
  const end = node.offset + node.length
  const next = siblings[at + 1]
  const before = siblings[at - 1]
  const cuts = [{ from: node.offset, to: end }]
  const own = commaAfter(text, end)
  if (own !== undefined) cuts.push({ from: own, to: own + 1 })
  if (next === undefined && before !== undefined) {
    const last = commaAfter(text, before.offset + before.length)
    if (last !== undefined) cuts.push({ from: last, to: last + 1 })
  }
  let whole = text
  for (const { from, to } of cuts.toSorted((a, b) => b.from - a.from))
    whole = whole.slice(0, from) + whole.slice(to)
  const shift = cuts.filter(({ from }) => from < node.offset).length
  const begin = node.offset - shift
  const lineStart = whole.lastIndexOf('\n', begin - 1) + 1
  const lineEnd = whole.indexOf('\n', begin)
  const isBlank = lineEnd !== -1 && whole.slice(lineStart, lineEnd).trim() === '' && lineStart > 0
  return isBlank ? whole.slice(0, lineStart) + whole.slice(lineEnd + 1) : whole
}

/** The place of the comma that comes next, after white space and comments alone. */
function commaAfter(text: string, from: number): number | undefined {
  // SyntaxKind is a const enum, which a loader of single files cannot read.
  const commaToken = 5
  const scanner = libraries.jsonc.createScanner(text, true)
  scanner.setPosition(from)
  return Number(scanner.scan()) === commaToken ? scanner.getTokenOffset() : undefined
}
