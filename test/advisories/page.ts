import type { Advisory, Class, Weakness } from './advisory.ts'

/** The page `docs/advisories.md`. */
export function pageOf(classes: readonly Class[]): string {
  return [head(classes), ...classes.map(chapterOf)].join('\n')
}

function head(classes: readonly Class[]): string {
  const weaknesses = classes.flatMap((one) => one.weaknesses)
  const ids = weaknesses.flatMap(({ advisories }) => advisories.flatMap((one) => one.ids))
  const numbered = new Set(ids.filter((id) => /^(?:CVE|GHSA)-/.test(id)))
  return `# Advisories

<!-- Written by \`npm run advisories\` from test/advisories/rows. -->

What went wrong in other programs that speak the protocol, as it was published, and what keeps it from happening in Jackfield.
${weaknesses.length} kinds of mistake, ${numbered.size} identifiers. Each kind names the tests that fail when it is made here; a test fails
when one of them is not there, or when this page says something else than its data.

What is marked with \\* is known from what others wrote about it; the text of the advisory itself was not read. State of November
2026. Someone who found a mistake of ours reads [SECURITY.md](../SECURITY.md).
`
}

function chapterOf({ title, weaknesses }: Class): string {
  return [`## ${title}\n`, ...weaknesses.map(sectionOf)].join('\n')
}

function sectionOf({ title, advisories, here, proof }: Weakness): string {
  const rows = advisories.map(({ ids, of, wrong, isReported }) => {
    const mark = isReported === true ? '\\*' : ''
    return `| ${ids.map(linkOf).join(', ')}${mark} | ${of} | ${wrong} |`
  })
  const tests = proof.map((reference) => {
    const [path = '', ...title] = reference.split(' > ')
    return `- [${wordsOf(title.join(' > '))}](../${path})`
  })
  return [
    `### ${title}\n`,
    '| published as | in | what went wrong |',
    '| --- | --- | --- |',
    ...rows,
    '',
    `**Here:** ${here}`,
    '',
    ...(tests.length === 0 ? [] : [...tests, '']),
  ].join('\n')
}

/** An identifier, linked to where it was published if that follows from it. */
function linkOf(id: Advisory['ids'][number]): string {
  if (id.startsWith('CVE-')) return `[${id}](https://nvd.nist.gov/vuln/detail/${id})`
  if (id.startsWith('GHSA-')) return `[${id}](https://github.com/advisories/${id})`
  if (id.startsWith('GO-')) return `[${id}](https://pkg.go.dev/vuln/${id})`
  if (id.startsWith('RUSTSEC-')) return `[${id}](https://rustsec.org/advisories/${id}.html)`
  const issue = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(id)
  if (issue !== null) return `[${issue[1]} ${issue[2]}](https://github.com/${issue[1]}/issues/${issue[2]})`
  return id
}

/** A title of a test as text of a link. */
function wordsOf(title: string): string {
  return title.replaceAll(/[\\`*_[\]<>|]/g, (mark) => `\\${mark}`)
}
