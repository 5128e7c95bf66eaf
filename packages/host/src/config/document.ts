import type { Node as JsonNode, ParseError } from 'jsonc-parser'
import type { Document, Node } from 'yaml'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import { libraries } from '../shared/libraries.ts'
import { ConfigError, type Path, typeText } from './reader.ts'

/** A file's contents, with the position of each value. */
export interface ConfigDocument {
  value: JsonRecord
  /** The line of a value, or of its closest parent, counted from 1. */
  lineOf(path: Path): number | undefined
}

const maxChars = 16_777_216
/** The YAML parser is far slower than the others. */
const maxYamlChars = 262_144

/**
 * Parses JSON (with comments and trailing commas), TOML or YAML, depending on the file extension. Throws a ConfigError with the
 * position, without quoting the text, which may contain a secret.
 */
export function readDocument(text: string, file: string): ConfigDocument {
  const parse = /\.toml$/i.test(file) ? readToml : /\.ya?ml$/i.test(file) ? readYaml : readJson
  const maxLength = parse === readYaml ? maxYamlChars : maxChars
  if (text.length > maxLength)
    throw new ConfigError(file, `is too long: at most ${maxLength} characters are read`)
  let document: { value: unknown; lineOf: ConfigDocument['lineOf'] }
  try {
    document = parse(text.replace(/^\uFEFF/, ''), file)
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigError(file, 'is nested too deeply')
    throw error
  }
  if (isRecord(document.value)) return { ...document, value: document.value }
  throw new ConfigError(file, `must contain an object with "mcpServers", not ${typeText(document.value)}`)
}

type ParsedDocument = { value: unknown; lineOf: ConfigDocument['lineOf'] }

/** Texts for syntax errors in JSON, by the name of the parser's error. */
const jsonErrorTexts: Readonly<Record<string, string>> = {
  CommaExpected: 'a comma is missing before this place',
  ColonExpected: 'a colon is missing',
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  CloseBraceExpected: 'a closing } is missing',
  CloseBracketExpected: 'a closing ] is missing',
  EndOfFileExpected: 'there is text after the end of the document',
  UnexpectedEndOfString: 'the closing double quote of a text is missing',
  InvalidSymbol: 'this is no JSON value; texts need double quotes',
}

function readJson(text: string, file: string): ParsedDocument {
  const { parseTree } = libraries.jsonc
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first !== undefined || tree === undefined) {
    const reason =
      first === undefined ? undefined : jsonErrorTexts[libraries.jsonc.printParseErrorCode(first.error)]
    throw new ConfigError(
      file,
      `is not valid JSON ${positionText(text, first?.offset ?? 0)}${reason === undefined ? '' : `: ${reason}`}`,
    )
  }
  const lines = lineOffsets(text)
  const duplicates = duplicateServer(tree)
  if (duplicates !== undefined) {
    const [first, second] = duplicates.map(({ offset }) => lineAt(lines, offset))
    throw new ConfigError(
      file,
      `defines the server ${JSON.stringify(duplicates[0]?.value)} twice, on lines ${first} and ${second}. Rename or remove one of them`,
    )
  }
  const members = new Map<JsonNode, Map<unknown, JsonNode>>()
  return {
    value: jsonValue(tree),
    lineOf: (path) => {
      let nearest = tree
      for (const step of path) {
        const next = childOf(nearest, step, members)
        if (next === undefined) break
        nearest = next
      }
      return lineAt(lines, (nearest.parent?.type === 'property' ? nearest.parent : nearest).offset)
    },
  }
}

/** The child of a node. The members of each object are indexed once, since a large file may have a problem in each. */
function childOf(
  node: JsonNode,
  step: string | number,
  members: Map<JsonNode, Map<unknown, JsonNode>>,
): JsonNode | undefined {
  if (node.type === 'array') return typeof step === 'number' ? node.children?.[step] : undefined
  if (node.type !== 'object') return undefined
  const memberNodes = members.get(node) ?? new Map<unknown, JsonNode>()
  if (!members.has(node)) {
    members.set(node, memberNodes)
    for (const { children: [key, value] = [] } of node.children ?? []) {
      if (key !== undefined && value !== undefined && !memberNodes.has(key.value))
        memberNodes.set(key.value, value)
    }
  }
  return memberNodes.get(step)
}

/** Two names of a server that is defined twice in one object; parsers would use only the last. */
function duplicateServer(tree: JsonNode): [JsonNode, JsonNode] | undefined {
  for (const { children: [key, servers] = [] } of tree.type === 'object' ? (tree.children ?? []) : []) {
    if (key === undefined || !['mcpServers', 'servers'].includes(String(key.value))) continue
    const memberNodes = new Map<unknown, JsonNode>()
    for (const { children: [name] = [] } of servers?.type === 'object' ? (servers.children ?? []) : []) {
      const previous = name && memberNodes.get(name.value)
      if (name !== undefined && previous !== undefined) return [previous, name]
      if (name !== undefined) memberNodes.set(name.value, name)
    }
  }
  return undefined
}

/** The value of a node, with `__proto__` as an ordinary member. */
function jsonValue(node: JsonNode): unknown {
  if (node.type === 'array') return (node.children ?? []).map(jsonValue)
  if (node.type !== 'object') return node.value
  return Object.fromEntries(
    (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), jsonValue(value)] as const],
    ),
  )
}

function readToml(text: string, file: string): ParsedDocument {
  const { parse, TomlError } = libraries.toml
  try {
    const value = parse(text)
    const lines = tomlLines(text)
    return {
      value,
      lineOf: (path) => {
        for (let length = path.length; length > 0; length--) {
          const line = lines.get(JSON.stringify(path.slice(0, length)))
          if (line !== undefined) return line
        }
        return undefined
      },
    }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw new ConfigError(file, `is not valid TOML (line ${error.line} column ${error.column})`)
  }
}

function readYaml(text: string, file: string): ParsedDocument {
  const { isMap, isScalar, isSeq, LineCounter, parseDocument } = libraries.yaml
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: false, logLevel: 'silent' })
  const [first] = document.errors
  if (first !== undefined)
    throw new ConfigError(file, `is not valid YAML ${positionText(text, first.pos[0])}`)
  const invalidKeyOffset = invalidYamlKey(document)
  if (invalidKeyOffset !== undefined) {
    throw new ConfigError(
      file,
      `has a list or an object in place of a name ${positionText(text, invalidKeyOffset)}`,
    )
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch {
    throw new ConfigError(file, 'is not valid YAML: an alias is undefined, or there are too many')
  }
  return {
    value,
    lineOf: (path) => {
      let node: unknown = document.contents
      let offset = 0
      for (const step of path) {
        if (isMap(node)) {
          const pair = node.items.find(({ key }) => (isScalar(key) ? key.value : key) === step)
          if (pair === undefined) break
          if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
          node = pair.value
        } else if (isSeq(node) && typeof step === 'number') {
          node = node.items[step]
          if (isScalar(node) || isMap(node) || isSeq(node)) offset = node.range?.[0] ?? offset
        } else break
      }
      return counter.linePos(offset).line
    },
  }
}

/** Finds a YAML member whose name is a list or object: converted to text, its contents would be duplicated. */
function invalidYamlKey(document: Document): number | undefined {
  const { isAlias, isNode, isPair, isScalar, visit } = libraries.yaml
  const anchors = new Map<string, Node>()
  let invalidKeyOffset: number | undefined
  visit(document, (_, node) => {
    if (isNode(node) && !isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node)
    if (!isPair(node) || !isNode(node.key)) return undefined
    const key = isAlias(node.key) ? anchors.get(node.key.source) : node.key
    if (key === undefined || isScalar(key)) return undefined
    invalidKeyOffset = node.key.range?.[0] ?? 0
    return visit.BREAK
  })
  return invalidKeyOffset
}

/** The offset of each line. */
function lineOffsets(text: string): number[] {
  const starts = [0]
  for (let offset = text.indexOf('\n'); offset !== -1; offset = text.indexOf('\n', offset + 1))
    starts.push(offset + 1)
  return starts
}

function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle
  }
  return low + 1
}

function positionText(text: string, offset: number): string {
  const column = offset - text.lastIndexOf('\n', offset - 1)
  return `(line ${lineAt(lineOffsets(text), offset)} column ${column})`
}

/** The line of every key in a TOML document, by its path as JSON. Keys inside inline tables are left out. */
function tomlLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  const counts = new Map<string, number>()
  let table: Path = []
  let line = 1
  let offset = 0
  const recordLine = (path: Path): void => {
    const key = JSON.stringify(path)
    if (!lines.has(key)) lines.set(key, line)
  }
  while (offset < text.length) {
    const end = endOfStatement(text, offset)
    const statement = text.slice(offset, end)
    const header = /^\s*\[(\[?)([^\n]*?)\]/.exec(statement)
    if (header !== null) {
      table = keysOf(header[2] ?? '')
      if (header[1] === '[') {
        const key = JSON.stringify(table)
        const index = counts.get(key) ?? 0
        counts.set(key, index + 1)
        table = [...table, index]
      }
      recordLine(table)
    } else {
      const keys = keysOf(statement.slice(0, assignmentOffset(statement)))
      if (keys.length > 0 && !/^\s*(#|$)/.test(statement)) recordLine([...table, ...keys])
    }
    line += statement.split('\n').length
    offset = end + 1
  }
  return lines
}

/** The line feed that ends a statement, outside texts and lists. */
function endOfStatement(text: string, from: number): number {
  let depth = 0
  let offset = from
  const firstCharacter = text.slice(from).search(/\S/)
  const header = firstCharacter !== -1 && text[from + firstCharacter] === '['
  while (offset < text.length) {
    const character = text[offset]
    if (character === '\n' && (depth <= 0 || header)) return offset
    if (character === '#') {
      const end = text.indexOf('\n', offset)
      offset = end === -1 ? text.length : end
      continue
    }
    if (character === '"' || character === "'") {
      offset = endOfText(text, offset, character)
      continue
    }
    if (character === '[' || character === '{') depth++
    if (character === ']' || character === '}') depth--
    offset++
  }
  return text.length
}

function endOfText(text: string, from: number, quote: string): number {
  const isMultiline = text.startsWith(quote.repeat(3), from)
  const closing = isMultiline ? quote.repeat(3) : quote
  let offset = from + closing.length
  while (offset < text.length) {
    if (quote === '"' && text[offset] === '\\') offset += 2
    else if (text.startsWith(closing, offset)) return offset + closing.length
    else if (!isMultiline && text[offset] === '\n') return offset
    else offset++
  }
  return text.length
}

function assignmentOffset(statement: string): number {
  let offset = 0
  while (offset < statement.length && statement[offset] !== '=') {
    const character = statement[offset]
    offset = character === '"' || character === "'" ? endOfText(statement, offset, character) : offset + 1
  }
  return offset
}

function keysOf(text: string): string[] {
  const keys: string[] = []
  for (const [, double, single, bare] of text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+)/g)) {
    keys.push(double ?? single ?? bare ?? '')
  }
  return keys
}
