import { createHash, randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { Node } from 'jsonc-parser'
import { canonical, isRecord } from '../shared/json.ts'
import { libraries } from '../shared/libraries.ts'
import type { Path } from './reader.ts'

/** A value to set at a path; undefined removes it. A last step of -1 appends to a list. */
export interface Edit {
  readonly path: Path
  readonly value: unknown
}

/** The text of a file; undefined if it does not exist. */
export async function textOfFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** SHA-256 of a file's text, in hexadecimal; null if it does not exist. */
export function hashOf(text: string | undefined): string | null {
  return text === undefined ? null : createHash('sha256').update(text).digest('hex')
}

/**
 * Replaces a file atomically. It keeps its mode unless another is given, and a symbolic link is followed. A new file is readable by
 * its owner alone.
 */
export async function replaceFile(file: string, text: string, givenMode?: number): Promise<void> {
  const target = await realpath(file).catch(() => file)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const mode =
    givenMode ??
    (await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    ))
  const draft = join(dirname(target), `.jackfield.${randomUUID()}.draft`)
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    await chmod(draft, mode)
    await rename(draft, target)
  } catch (error) {
    // The draft may contain secrets, and a full disk would fill further.
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * The text of a file with these changes; comments and formatting are kept.
 * @throws McpError 'INVALID' for a file in TOML
 */
export function editText(text: string, file: string, edits: readonly Edit[]): string {
  if (/\.toml$/i.test(file))
    throw new McpError('INVALID', `${file} is TOML, which Jackfield does not edit. Edit it by hand.`)
  if (/\.ya?ml$/i.test(file)) return editYaml(text, edits)
  return edits
    .flatMap((edit) => memberEdits(text, edit))
    .reduce(editJson, text.trim() === '' ? '{\n}\n' : text)
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

/** Splits a replaced object into changes of its members, so that unchanged ones keep their formatting and comments. */
function memberEdits(text: string, { path, value }: Edit): Edit[] {
  const { findNodeAtLocation, getNodeValue, parseTree } = libraries.jsonc
  const tree = parseTree(text, [], { allowTrailingComma: true })
  const node = path.at(-1) === -1 || tree === undefined ? undefined : findNodeAtLocation(tree, [...path])
  const current: unknown = node && getNodeValue(node)
  if (!isRecord(current) || !isRecord(value)) return [{ path, value }]
  const names = new Set([...Object.keys(current), ...Object.keys(value)])
  return [...names].flatMap((name) => {
    const [oldMember, next] = [current[name], value[name]]
    if (canonical(oldMember) === canonical(next)) return []
    return memberEdits(text, { path: [...path, name], value: next })
  })
}

function editJson(text: string, { path, value }: Edit): string {
  const { applyEdits, findNodeAtLocation, modify, parseTree } = libraries.jsonc
  const tree = parseTree(text, [], { allowTrailingComma: true })
  if (value === undefined) {
    const node = tree && findNodeAtLocation(tree, [...path])
    return node === undefined ? text : withoutNode(text, node)
  }
  const isAppend = path.at(-1) === -1
  const targetPath = isAppend ? path.slice(0, -1) : [...path]
  const existing = tree && findNodeAtLocation(tree, [...targetPath])
  if (existing !== undefined && !(isAppend && existing.type === 'array'))
    return withNode(text, existing, isAppend ? [value] : value)
  const container = isAppend ? existing : tree && findNodeAtLocation(tree, targetPath.slice(0, -1))
  const isContainer = container?.type === (isAppend ? 'array' : 'object')
  if (container !== undefined && isContainer && container.children?.length)
    return withPart(text, container, isAppend ? undefined : String(targetPath.at(-1)), value)
  const isNew = isAppend && existing === undefined
  return applyEdits(
    text,
    modify(text, isNew ? targetPath : [...path], isNew ? [value] : value, {
      formattingOptions: indentation(text),
      ...(isAppend && !isNew && { isArrayInsertion: true }),
    }),
  )
}

const maxLineLength = 100

/** Replaces a value: on one line if the old one was and the new one fits. */
function withNode(text: string, node: Node, value: unknown): string {
  const { offset, length } = node
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  const inlineText = inline(value)
  const fitsOneLine = isOneLine(text, node) && offset - lineStart + inlineText.length <= maxLineLength
  const newText = fitsOneLine ? inlineText : indented(text, offset, value)
  return `${text.slice(0, offset)}${newText}${text.slice(offset + length)}`
}

/** Appends a member or item to a non-empty object or list, keeping the existing formatting. */
function withPart(text: string, container: Node, name: string | undefined, value: unknown): string {
  const last = container.children?.at(-1)
  if (last === undefined) return text
  const end = last.offset + last.length
  const key = name === undefined ? '' : `${JSON.stringify(name)}: `
  if (isOneLine(text, container)) return `${text.slice(0, end)}, ${key}${inline(value)}${text.slice(end)}`
  const comma = commaAfter(text, end)
  const edited = comma === undefined ? `${text.slice(0, end)},${text.slice(end)}` : text
  const after = (comma ?? end) + 1
  const closing = container.offset + container.length + (comma === undefined ? 1 : 0) - 1
  const lineEnd = edited.indexOf('\n', after)
  // Inserted after a comment that follows the last member on its line.
  const insertAt = lineEnd !== -1 && lineEnd < closing ? lineEnd : after
  const inlineText = inline(value)
  const fitsOneLine =
    isOneLine(text, last) &&
    indentOf(text, last.offset).length + key.length + inlineText.length <= maxLineLength
  const newText = fitsOneLine && last.type !== 'property' ? inlineText : indented(text, last.offset, value)
  return `${edited.slice(0, insertAt)}\n${indentOf(text, last.offset)}${key}${newText}${edited.slice(insertAt)}`
}

/** JSON on several lines, with the indent of a line. */
function indented(text: string, offset: number, value: unknown): string {
  const { insertSpaces, tabSize } = indentation(text)
  const json = JSON.stringify(value, null, insertSpaces ? tabSize : '\t') ?? 'null'
  return json.replaceAll('\n', `\n${indentOf(text, offset)}`)
}

function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? ''
}

function isOneLine(text: string, { offset, length }: Node): boolean {
  return !text.slice(offset, offset + length).includes('\n')
}

/** JSON on one line, with spaces. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${inline(item)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** The indent used in the file. */
function indentation(text: string): { insertSpaces: boolean; tabSize: number } {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(text) ?? []
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 2 }
    : { insertSpaces: true, tabSize: Math.min(indent.length, 8) }
}

/** Removes an item or a member with its comma. Comments around it stay; the library would remove them. */
function withoutNode(text: string, value: Node): string {
  const node = value.parent?.type === 'property' ? value.parent : value
  const siblings = node.parent?.children ?? []
  const index = siblings.indexOf(node)
  const end = node.offset + node.length
  const next = siblings[index + 1]
  const previous = siblings[index - 1]
  const ranges = [{ from: node.offset, to: end }]
  const ownComma = commaAfter(text, end)
  if (ownComma !== undefined) ranges.push({ from: ownComma, to: ownComma + 1 })
  if (next === undefined && previous !== undefined) {
    const last = commaAfter(text, previous.offset + previous.length)
    if (last !== undefined) ranges.push({ from: last, to: last + 1 })
  }
  let edited = text
  for (const { from, to } of ranges.toSorted((a, b) => b.from - a.from))
    edited = edited.slice(0, from) + edited.slice(to)
  const shift = ranges.filter(({ from }) => from < node.offset).length
  const position = node.offset - shift
  const lineStart = edited.lastIndexOf('\n', position - 1) + 1
  const lineEnd = edited.indexOf('\n', position)
  const isBlank = lineEnd !== -1 && edited.slice(lineStart, lineEnd).trim() === '' && lineStart > 0
  if (isBlank) return edited.slice(0, lineStart) + edited.slice(lineEnd + 1)
  const isGap = /[ \t]/.test(edited[position - 1] ?? '') && /[ \t]/.test(edited[position] ?? '')
  return isGap ? edited.slice(0, position) + edited.slice(position + 1) : edited
}

/** The position of the next comma, skipping white space and comments. */
function commaAfter(text: string, from: number): number | undefined {
  // SyntaxKind is a const enum, which a loader of single files cannot read.
  const commaToken = 5
  const scanner = libraries.jsonc.createScanner(text, true)
  scanner.setPosition(from)
  return Number(scanner.scan()) === commaToken ? scanner.getTokenOffset() : undefined
}
