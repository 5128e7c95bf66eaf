import { capabilities } from './capabilities.ts'
import type { Results } from './results.ts'
import { labelOf, remarkOn, tools } from './tools.ts'
import type { Script, Tool, Verdict } from './types.ts'

/** The page `docs/scorecard.md`, of results that were kept; nothing is run for it. */
export function pageOf(scripts: readonly Script[], results: Results): string {
  const chapters = Object.entries(capabilities)
    .map(([capability, title]) => ({
      heading: `${capability}. ${title}`,
      own: scripts.filter((script) => script.capability === capability),
    }))
    .filter(({ own }) => own.length > 0)
  return `${[head(scripts, results), ...chapters.map(({ heading, own }) => chapter(heading, own, results))].join('\n\n')}\n`
}

function head(scripts: readonly Script[], results: Results): string {
  const { date, machine, node, patience, versions } = results.run
  const rows = tools.map((tool) => {
    const version = versions[tool]
    const count = (kind: Verdict['kind']): number =>
      scripts.filter((script) => results.cells[script.id]?.[tool]?.kind === kind).length
    const named = version === undefined ? '' : `\`${version.package}\` ${version.version}`
    return `| ${labelOf(tool)} | ${named} | ${count('yes')} | ${count('no')} | ${count('absent')} |`
  })
  const remarks = tools.flatMap((tool) => {
    const remark = remarkOn(tool)
    return remark === undefined ? [] : [`${labelOf(tool)}: ${remark}`]
  })
  return `# Scorecard

${scripts.length} scripts, each put to \`jackfield\` and to five other command lines for the Model Context Protocol: what a person
wants, what was run, and what came of it. Taken on ${date} with Node.js ${node} on ${machine}.

| column | package | ✓ | ✗ | — |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

${remarks.join('\n')}

Compute it again: \`npm ci --prefix scorecard\`, then \`npm run scorecard\` (ten minutes at most). \`-- --only <script>\` and
\`-- --tool <tool>\` run a part of it, \`-- --page\` writes this page from
[\`scorecard/results.json\`](../scorecard/results.json) without running anything.

Every script gets a fresh home and an empty folder, real servers on this machine, and ${20 * patience} seconds for each tool. A cell is decided
by the effect: what the server recorded that it received, what the tool wrote and its exit code; the last column of a row says
which. **✓** did it. **✗** was tried and did not; the note says what happened. **—** was not run: the tool's help or
documentation offers nothing for it, and the note names what was read. Such a cell compares documentation only. The scripts were
written by the authors of Jackfield, who chose what to ask; each can be read in [\`scorecard/scripts\`](../scorecard/scripts). Not asked, because no capability is about it: mcporter writes
command lines and TypeScript clients for a server, mcp-inspector measures load and has a window in the browser, mcp-use builds
servers and takes pictures of apps.`
}

function chapter(heading: string, scripts: readonly Script[], results: Results): string {
  const notes: string[] = []
  const cell = (script: Script, tool: Tool): string => {
    const verdict = results.cells[script.id]?.[tool]
    if (verdict === undefined) return 'not run'
    const said = verdict.kind === 'absent' ? `not offered, says ${verdict.source}` : verdict.note
    const mark = { yes: '✓', no: '✗', absent: '—' }[verdict.kind]
    if (said === undefined) return mark
    const note = `${labelOf(tool)}: ${plain(said)}`
    if (!notes.includes(note)) notes.push(note)
    return `${mark} (${notes.indexOf(note) + 1})`
  }
  const rows = scripts.map(
    (script) =>
      `| ${plain(script.title).replace(/\.$/, '')} | ${tools.map((tool) => cell(script, tool)).join(' | ')} | \`${script.id}\`: ${plain(script.how)} |`,
  )
  const table = [
    `| what a person wants | ${tools.map(labelOf).join(' | ')} | how it is decided |`,
    `| --- | ${tools.map(() => ':-:').join(' | ')} | --- |`,
    ...rows,
  ]
  const list = notes.map((note, at) => `${at + 1}. ${note}`)
  return [`## ${heading}`, table.join('\n'), ...(list.length > 0 ? [list.join('\n')] : [])].join('\n\n')
}

/** Text of others in a cell: one line, without what Markdown would take for its own. */
function plain(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[|<>]/g, (character) => `\\${character}`)
}
