import type { LibraryLeaf, LibraryPage } from '@jackfield/host/client'

/** Nodes of one request. */
export const pageSize = 200

export type TreeNode = LibraryPage['nodes'][number]

/** The children of a tree node; those that are not loaded are undefined. */
export interface Children {
  readonly total: number
  readonly nodes: readonly (TreeNode | undefined)[]
}

/** A visible row of the tree. `position` counts from 1 among the `count` siblings. */
export type TreeRow =
  | {
      readonly kind: 'folder'
      readonly key: string
      readonly path: readonly string[]
      readonly node: TreeNode
      readonly level: number
      readonly position: number
      readonly count: number
      readonly isOpen: boolean
    }
  | {
      readonly kind: 'leaf'
      readonly key: string
      readonly path: readonly string[]
      readonly leaf: LibraryLeaf
      readonly level: number
      readonly position: number
      readonly count: number
    }
  /** A node that is not loaded. */
  | {
      readonly kind: 'gap'
      readonly key: string
      readonly path: readonly string[]
      readonly index: number
      readonly level: number
    }

export const keyOf = (path: readonly string[]): string => JSON.stringify(path)
export const leafKey = ({ server, uri }: Pick<LibraryLeaf, 'server' | 'uri'>): string =>
  JSON.stringify([server, uri])

/** The folders that lead to a resource, the server first: its scheme and the parts of its path, as the host groups them. */
export function foldersOf({ server, uri }: Pick<LibraryLeaf, 'server' | 'uri'>): (readonly string[])[] {
  const [, scheme = '', rest = uri] = /^([A-Za-z][A-Za-z0-9+.-]*:(?:\/\/\/?)?)(.*)$/s.exec(uri) ?? []
  const labels = [
    server,
    ...(scheme === '' ? [] : [scheme]),
    ...rest.split('/').filter((part) => part !== ''),
  ]
  return labels.slice(0, -1).map((_, n) => labels.slice(0, n + 1))
}

/** The visible rows of a tree: folders, resources, templates, and gaps for nodes that are not loaded. */
export function rowsOf(children: ReadonlyMap<string, Children>, open: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = []
  const visit = (path: readonly string[], level: number): void => {
    const branch = children.get(keyOf(path))
    if (branch === undefined) return
    const { total: count, nodes } = branch
    for (let index = 0; index < count; index += 1) {
      const node = nodes[index]
      if (node === undefined) {
        rows.push({ kind: 'gap', key: `${keyOf(path)} ${index}`, path, index, level })
        continue
      }
      const nodePath = [...path, node.label]
      const key = keyOf(nodePath)
      const position = index + 1
      for (const leaf of node.leaves)
        rows.push({ kind: 'leaf', key: leafKey(leaf), path: nodePath, leaf, level, position, count })
      if (!node.hasChildren && node.leaves.length > 0) continue
      const isOpen = open.has(key)
      rows.push({ kind: 'folder', key, path: nodePath, node, level, position, count, isOpen })
      if (isOpen) visit(nodePath, level + 1)
    }
  }
  visit([], 1)
  return rows
}

/** Merges a page of nodes into the children of a node. */
export function withPage(
  previous: Children | undefined,
  from: number,
  { total, nodes }: LibraryPage,
): Children {
  const merged =
    previous?.total === total ? [...previous.nodes] : new Array<TreeNode | undefined>(total).fill(undefined)
  for (const [n, node] of nodes.entries()) merged[from + n] = node
  return { total, nodes: merged }
}

/** The tokens of the chosen resources. `unknown`: number of resources without a known size. */
export function costOf(chosen: Iterable<LibraryLeaf>): { tokens: number; unknown: number } {
  let [tokens, unknown] = [0, 0]
  for (const leaf of chosen) {
    if (leaf.tokens === undefined) unknown += 1
    else tokens += leaf.tokens
  }
  return { tokens, unknown }
}
