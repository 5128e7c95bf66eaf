import { isRecord } from '../shared/json.ts'
import type { JsonNode } from '../types/index.ts'

const bounds = { nodes: 500, depth: 12, leaf: 200, key: 100 }

/** A JSON value as a tree of bounded size; what is left out shows in `count`. */
export function jsonTree(value: unknown): JsonNode {
  let left = bounds.nodes
  const nodeOf = (member: unknown, depth: number, key?: string): JsonNode => {
    left -= 1
    const named = key === undefined ? {} : { key: shorten(key, bounds.key) }
    const isList = Array.isArray(member)
    if (!isList && !isRecord(member)) return { ...named, ...leafOf(member) }
    const members = isList ? member.map((item, at) => [String(at), item] as const) : Object.entries(member)
    const children: JsonNode[] = []
    for (const [name, item] of depth < bounds.depth ? members : []) {
      if (left <= 0) break
      children.push(nodeOf(item, depth + 1, name))
    }
    return { ...named, type: isList ? 'array' : 'object', count: members.length, children }
  }
  return nodeOf(value, 0)
}

function leafOf(value: unknown): Pick<JsonNode, 'type' | 'value'> {
  if (typeof value === 'string') return { type: 'string', value: shorten(JSON.stringify(value), bounds.leaf) }
  if (typeof value === 'number') return { type: 'number', value: String(value) }
  if (typeof value === 'boolean') return { type: 'boolean', value: String(value) }
  return { type: 'null', value: 'null' }
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… [${text.length - length} more characters]`
}
