import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLibrary, segmentsOf } from '../../src/resources/library.ts'
import type { LibraryNode } from '../../src/types/index.ts'
import { listed, res } from './shelf.ts'

const drawn = (nodes: readonly LibraryNode[], depth = 0): string[] =>
  nodes.flatMap((node) => [
    `${'  '.repeat(depth)}${node.label} ${node.resources}+${node.templates}`,
    ...drawn(node.children, depth + 1),
  ])

describe('the resource tree', () => {
  test('has a node for each server and each segment, and counts resources below', () => {
    const library = createLibrary(
      listed({
        resources: [
          res('disk', 'file:///home/a.txt'),
          res('disk', 'file:///home'),
          res('disk', 'file:///home/b/c.txt'),
          res('notes', 'urn:note:1'),
        ],
        templates: [
          { server: 'disk', template: { uriTemplate: 'file:///home/b{/path*}', name: 'any' } },
          { server: 'notes', template: { uriTemplate: 'note://{id}', name: 'note' } },
        ],
      }),
      () => {},
    )
    expect(drawn(library.tree())).toEqual([
      'disk 3+1',
      '  file:/// 3+1',
      '    home 3+1',
      '      a.txt 1+0',
      '      b 1+0',
      '        c.txt 1+0',
      '      b{/path*} 0+1',
      'notes 1+1',
      '  urn: 1+0',
      '    note:1 1+0',
      '  note:// 0+1',
      '    {id} 0+1',
    ])
  })

  test('contains everything and stays shallow, for any URIs', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: fc.constantFrom('a', '/', ':', '{', '}', '.', '?', 'é'), maxLength: 200 }),
          {
            maxLength: 20,
          },
        ),
        (uris) => {
          const library = createLibrary(listed({ resources: uris.map((uri) => res('s', uri)) }), () => {})
          expect(library.tree()[0]?.resources ?? 0).toBe(uris.length)
          for (const uri of uris) expect(segmentsOf(uri).length).toBeLessThanOrEqual(24)
        },
      ),
      { numRuns: 200 },
    )
  })
})
