import { helpSources } from './checks.ts'
import { clis, labelOf, versionNoteOf } from './clis.ts'
import type { Results } from './results.ts'
import { capabilities } from './scripts/index.ts'
import type { Cli, Script, Verdict } from './types.ts'

/** Renders `docs/scorecard.md` from stored results. */
export function renderPage(scripts: readonly Script[], results: Results): string {
  const sections = Object.entries(capabilities).map(([capability, title]) =>
    renderCapability(
      `${capability}. ${title}`,
      scripts.filter((script) => script.capability === capability),
      results,
    ),
  )
  return `${[renderHead(scripts, results), ...sections].join('\n\n')}\n`
}

function renderHead(scripts: readonly Script[], results: Results): string {
  const { date, machine, node, patience, versions } = results.run
  const rows = clis.map((cli) => {
    const version = versions[cli]
    const count = (kind: Verdict['kind']): number =>
      scripts.filter((script) => results.cells[script.id]?.[cli]?.kind === kind).length
    const packageText = version === undefined ? '' : `\`${version.package}\` ${version.version}`
    return `| ${labelOf(cli)} | ${packageText} | ${helpSources[cli]} | ${count('yes')} | ${count('no')} | ${count('absent')} |`
  })
  const versionNotes = clis.flatMap((cli) => {
    const note = versionNoteOf(cli)
    return note === undefined ? [] : [`${labelOf(cli)}: ${note}`]
  })
  return `# Scorecard

${scripts.length} scripts compare \`jackfield\` with five other command lines for the Model Context Protocol. Each script
is one task of a user. Run on ${date} with Node.js ${node} on ${machine}.

| command line | package | help text | ✓ | ✗ | — |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

${versionNotes.join('\n')}

To reproduce: \`npm ci --prefix scorecard\`, then \`npm run scorecard\` (up to ten minutes). \`-- --only <script>\` and
\`-- --cli <name>\` run a part of it. \`-- --page\` writes this page from
[\`scorecard/results.json\`](../scorecard/results.json) without running anything.

Each script runs with an empty home folder, an empty working folder and real servers on this machine, for up to ${20 * patience} seconds per
command line. The verdict depends on what happened: the messages that the server received, the output and the exit code. The last
column describes the check.

- **✓**: the command line did it.
- **✗**: the command line was run and did not do it. The note says what happened.
- **—**: not run, because its help text, or the document in the note, does not offer the feature. These cells compare
  documentation only.

The authors of Jackfield chose and wrote the scripts; their code is in [\`scorecard/scripts\`](../scorecard/scripts). Some features of
the other command lines belong to no capability below and are not compared: mcporter generates command lines and TypeScript
clients for a server, mcp-inspector has load tests and a browser interface, mcp-use builds servers and takes screenshots of apps.`
}

function renderCapability(heading: string, scripts: readonly Script[], results: Results): string {
  const notes: string[] = []
  const cell = (script: Script, cli: Cli): string => {
    const verdict = results.cells[script.id]?.[cli]
    if (verdict === undefined) return 'not run'
    const mark = { yes: '✓', no: '✗', absent: '—' }[verdict.kind]
    const note = noteOf(cli, verdict)
    if (note === undefined) return mark
    if (!notes.includes(note)) notes.push(note)
    return `${mark} (${notes.indexOf(note) + 1})`
  }
  const rows = scripts.map(
    (script) =>
      `| ${escapeCell(script.title)} | ${clis.map((cli) => cell(script, cli)).join(' | ')} | \`${script.id}\`: ${escapeCell(script.how)} |`,
  )
  const table = [
    `| task | ${clis.map(labelOf).join(' | ')} | check |`,
    `| --- | ${clis.map(() => ':-:').join(' | ')} | --- |`,
    ...rows,
  ]
  const list = notes.map((note, index) => `${index + 1}. ${note}`)
  return [`## ${heading}`, table.join('\n'), ...(list.length > 0 ? [list.join('\n')] : [])].join('\n\n')
}

/** The note of a cell. Command lines whose help texts lack the same feature share it. */
function noteOf(cli: Cli, verdict: Verdict): string | undefined {
  if (verdict.kind !== 'absent') {
    return verdict.note === undefined ? undefined : `${labelOf(cli)}: ${escapeCell(verdict.note)}`
  }
  const prefix = `${helpSources[cli]}: `
  return verdict.source.startsWith(prefix)
    ? `Not offered: ${escapeCell(verdict.source.slice(prefix.length))}`
    : `${labelOf(cli)}: not offered according to ${escapeCell(verdict.source)}`
}

/** Text for a table cell: one line, with Markdown characters escaped. */
function escapeCell(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[|<>]/g, (character) => `\\${character}`)
}
