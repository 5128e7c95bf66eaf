import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { asked } from '../../packages/sdk/test/matrix/asked.ts'
import { basics } from '../../packages/sdk/test/matrix/basics.ts'
import type { Feature as Tried } from '../../packages/sdk/test/matrix/feature.ts'
import { offered } from '../../packages/sdk/test/matrix/offered.ts'
import type { Cell, Feature, Group, Known, Peer } from './feature.ts'
import { order, peers, versionOf } from './peers.ts'

const matrix: readonly (readonly [file: string, features: readonly Tried[]])[] = [
  ['packages/sdk/test/matrix/basics.ts', basics],
  ['packages/sdk/test/matrix/offered.ts', offered],
  ['packages/sdk/test/matrix/asked.ts', asked],
]

/** A feature of the matrix by its title, with its file. */
export function triedBy(title: string): { readonly file: string; readonly tried: Tried } | undefined {
  for (const [file, features] of matrix) {
    const tried = features.find((one) => one.title === title)
    if (tried !== undefined) return { file, tried }
  }
  return undefined
}

/** The page `docs/features.md`. */
export function pageOf(groups: readonly Group[]): string {
  return [
    head(groups),
    ...groups.map(tableOf),
    '## Evidence for the other packages\n',
    'Only `docs` is not verified. A test searches for every text and its absence, runs every probe, and checks that every case',
    'ran.\n',
    ...groups.map(evidenceOf),
  ].join('\n')
}

function head(groups: readonly Group[]): string {
  const features = groups.flatMap((group) => group.features)
  const [first, last] = [protocolVersions[0], protocolVersions.at(-1)]
  return `# Features

<!-- Written by \`npm run features\` from test/features/rows. -->

The features of Jackfield by revision, each with its test, compared with other TypeScript implementations of the
protocol. ${features.length} rows, generated from data by \`npm run features\`. A test fails if this page differs from
the data, if a named test does not exist, or if a finding about another package no longer holds.

| column | contents |
| --- | --- |
| revisions | from ${first} to ${last}: ● supported, · not |
| Jackfield | a link to the test, with its title as a tooltip |
${order.map((peer) => `| ${peers[peer].name} | ${peers[peer].packages.map((name) => `\`${name}\` ${versionOf(name)}`).join(', ')} |`).join('\n')}

Cells of other packages apply to the revisions they support, and to their **default** configuration unless stated otherwise. “?” means unknown.
FastMCP was examined as installed, with its dependencies.
`
}

function tableOf({ title, features }: Group): string {
  const rows = features.map((feature) => {
    const cells = order.map((peer) => shortOf(feature.peers[peer]))
    return `| ${[feature.title, feature.ours.has === 'no' ? '' : marksOf(feature), oursOf(feature), ...cells].join(' | ')} |`
  })
  const columns = ['feature', 'revisions', 'Jackfield', ...order.map((peer) => peers[peer].name)]
  return [
    `## ${title}\n`,
    `| ${columns.join(' | ')} |`,
    `|${columns.map(() => ' --- |').join('')}`,
    ...rows,
    '',
  ].join('\n')
}

function marksOf(feature: Feature): string {
  const { since, until } =
    feature.ours.has === 'matrix' ? (triedBy(feature.title)?.tried ?? feature) : feature
  const has = (version: ProtocolVersion): boolean =>
    (since === undefined || version >= since) && (until === undefined || version <= until)
  return protocolVersions.map((version) => (has(version) ? '●' : '·')).join('')
}

function oursOf({ title, ours }: Feature): string {
  if (ours.has === 'matrix') return link('yes', triedBy(title)?.file ?? '', title)
  if (ours.has === 'no') return ours.note === '' ? 'no' : `no: ${ours.note}`
  const [first = '', ...more] = ours.proof.map((reference, at) => {
    const [path = '', ...parts] = reference.split(' > ')
    return link(at === 0 ? ours.has : `${at + 1}`, path, parts.join(' > '))
  })
  const proofs = more.length === 0 ? first : `${first} ${more.join(' ')}`
  return ours.note === undefined ? proofs : `${proofs}: ${ours.note}`
}

function link(text: string, path: string, title: string): string {
  return `[${text}](../${path} "${title.replaceAll('"', '\\"').replaceAll('|', '\\|')}")`
}

function shortOf(cell: Cell): string {
  if (cell.has === 'unknown') return '?'
  return cell.note === undefined ? cell.has : `${cell.has}: ${cell.note}`
}

function evidenceOf({ title, features }: Group): string {
  const rows = features.flatMap((feature) => {
    const cells = order.map((peer) => [peer, feature.peers[peer]] as const)
    const notes = Map.groupBy(cells, ([peer, cell]) =>
      cell.has === 'unknown' ? undefined : sourceOf(cell.known, peer),
    )
    notes.delete(undefined)
    return [...notes].map(
      ([how, those]) =>
        `| ${feature.title} | ${those.map(([peer]) => peers[peer].name).join(', ')} | ${how} |`,
    )
  })
  return [
    `<details><summary>${title}</summary>\n`,
    '| feature | of | how |',
    '| --- | --- | --- |',
    ...rows,
    '\n</details>\n',
  ].join('\n')
}

function sourceOf(known: Known, peer: Peer): string {
  if ('case' in known) return `test: [${known.case}](../${peers[peer].interop})`
  if ('clientCase' in known)
    return `test of its client: [${known.clientCase}](../${peers[peer].clientInterop})`
  if ('probe' in known) return `test: [${known.probe}](../test/features/peers.test.ts)`
  if ('source' in known) return `source: \`${clean(known.source)}\``
  if ('lacks' in known) return `source: nothing like \`${clean(known.lacks)}\``
  return `docs: ${known.docs}`
}

function clean(text: string): string {
  return text.replaceAll('`', '').replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
}
