import { z } from 'zod'
import type { Repository } from './repositories.ts'
import { clip, decode, records } from './text.ts'

/* Commits as git log lists them. Used by git_log, git_show and the prompts. */

const personShape = z.object({ name: z.string(), email: z.string(), date: z.string() })

export const commitShape = z.object({
  id: z.string(),
  parents: z.array(z.string()),
  author: personShape,
  committer: personShape,
  refs: z.array(z.string()).describe('Branches and tags at this commit'),
  subject: z.string(),
  body: z.string(),
  bodyTruncated: z.boolean().optional(),
})

export type Commit = z.infer<typeof commitShape>

// Limits for commits of hostile repositories.
const maxParents = 100
const maxRefs = 100
const maxSubjectChars = 1_000
const maxPersonChars = 200

const fields = ['%H', '%P', '%an', '%ae', '%aI', '%cn', '%ce', '%cI', '%D', '%s', '%b']
/** Options of `git log` for `parseCommits`: fields that end with NUL, as no field can contain one. */
export const commitFormat = [
  '-z',
  '--encoding=UTF-8',
  '--decorate=short',
  `--format=tformat:${fields.join('%x00')}`,
]

/** Parses the output of `git log` with `commitFormat`. An incomplete last commit is left out. */
export function parseCommits(output: Buffer, maxBodyChars: number): Commit[] {
  const parts = records(output).map(decode)
  const commits: Commit[] = []
  for (let at = 0; at + fields.length <= parts.length; at += fields.length) {
    const [
      id = '',
      parents,
      authorName,
      authorEmail,
      authorDate,
      committerName,
      committerEmail,
      committerDate,
      refs,
      subject = '',
      body = '',
    ] = parts.slice(at, at + fields.length)
    const text = body.trimEnd()
    commits.push({
      id,
      parents: words(parents, ' ').slice(0, maxParents),
      author: person(authorName, authorEmail, authorDate),
      committer: person(committerName, committerEmail, committerDate),
      refs: words(refs, ', ').slice(0, maxRefs),
      subject: clip(subject, maxSubjectChars),
      body: clip(text, maxBodyChars),
      ...(text.length > maxBodyChars ? { bodyTruncated: true } : {}),
    })
  }
  return commits
}

function person(name = '', email = '', date = ''): Commit['author'] {
  return { name: clip(name, maxPersonChars), email: clip(email, maxPersonChars), date }
}

function words(text: string | undefined, separator: string): string[] {
  return text ? text.split(separator) : []
}

/** One commit. @param id of a commit that exists */
export async function readCommit(repository: Repository, id: string, signal: AbortSignal): Promise<Commit> {
  const { stdout } = await repository.run(
    ['log', '--no-walk', '--no-show-signature', '--no-notes', ...commitFormat, id, '--'],
    { signal },
  )
  const [commit] = parseCommits(stdout, 20_000)
  if (commit === undefined) throw new Error(`git log printed nothing for ${id}`)
  return commit
}

/** A commit as `git log` shows it. */
export function commitText({ id, parents, author, refs, subject, body }: Commit): string {
  return [
    `commit ${id}${refs.length > 0 ? ` (${refs.join(', ')})` : ''}`,
    parents.length > 1 ? `Merge: ${parents.map((parent) => parent.slice(0, 10)).join(' ')}` : [],
    `Author: ${author.name} <${author.email}>`,
    `Date: ${author.date}`,
    '',
    ...[subject, ...(body === '' ? [] : ['', ...body.split('\n')])].map((line) => `    ${line}`.trimEnd()),
  ]
    .flat()
    .join('\n')
}
