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

/** A feature of the matrix by its title, with the file it stands in. */
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
    '## How the others’ cells are known\n',
    'Only `docs` is taken on trust. A test looks for every text and its absence, runs every probe, and finds every case among',
    'those that ran.\n',
    ...groups.map(evidenceOf),
  ].join('\n')
}

function head(groups: readonly Group[]): string {
  const features = groups.flatMap((group) => group.features)
  const [first, last] = [protocolVersions[0], protocolVersions.at(-1)]
  return `# Features

<!-- Written by \`npm run features\` from test/features/rows. -->

What Jackfield does, revision by revision, with the test that proves it, and what others do who speak the protocol in
TypeScript. ${features.length} rows, written from data by \`npm run features\`; a test fails when this page says something else than
the data, when a test it names is not there, or when something that was found in another package no longer is.

| column | is |
| --- | --- |
| revisions | the five of them from ${first} to ${last}: ● has it, · does not |
| Jackfield | linked to the test; its title shows when you point at it |
${order.map((peer) => `| ${peers[peer].name} | ${peers[peer].packages.map((name) => `\`${name}\` ${versionOf(name)}`).join(', ')} |`).join('\n')}

The others’ cells are about the revisions they speak, and about what is so **by default** unless they say otherwise. “?” is not known.
What is known of FastMCP is known of it as installed, with what it stands on.
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
    const said = Map.groupBy(cells, ([peer, cell]) =>
      cell.has === 'unknown' ? undefined : sourceOf(cell.known, peer),
    )
    said.delete(undefined)
    return [...said].map(
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
