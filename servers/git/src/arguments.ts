import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import type { Repository } from './repositories.ts'
import { clip, oneLine } from './text.ts'

/*
 * Arguments that tools share: the repository, revisions and paths. A revision reaches git once, to be resolved to an object id;
 * commands only receive ids. Paths are relative to the working tree and never patterns.
 */

export const repositoryArgument = z
  .string()
  .min(1)
  .max(4096)
  .optional()
  .describe('Name or path of the repository, as git_repositories lists it. Optional if there is only one.')

export const revisionArgument = z.string().min(1).max(1024)

export const pathArgument = z.string().min(1).max(4096)

export const pathsArgument = z
  .array(pathArgument)
  .max(500)
  .optional()
  .describe('Only these files and folders, relative to the top of the repository')

export const offsetArgument = z
  .number()
  .int()
  .nonnegative()
  .max(1_000_000_000)
  .default(0)
  .describe('Bytes to leave out: the nextOffset of an earlier result, to continue it')

const id = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** Whether a text is a full object id. */
export function isId(text: string): boolean {
  return id.test(text)
}

/**
 * The id of the object that a revision names, such as `main`, `v1.2^{}` or `HEAD~3`.
 * @param type what it must be, or lead to
 * @throws ToolError for one that does not exist, or that would be read as an option
 */
export async function resolveRevision(
  repository: Repository,
  revision: string,
  signal: AbortSignal,
  type: 'commit' | 'tree' = 'commit',
): Promise<string> {
  const shown = oneLine(clip(revision, 200))
  if (revision.startsWith('-') || /[\p{Cc}\p{Cs}]/u.test(revision)) {
    throw new ToolError(
      `"${shown}" is not a revision: it must not begin with "-" or have control characters. Name a branch, a tag or a commit.`,
    )
  }
  const found = await repository.text(
    ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{${type}}`],
    { signal, allow: [1, 128] },
  )
  if (isId(found)) return found
  if (revision === 'HEAD') throw new ToolError('There is no commit on the current branch yet.')
  throw new ToolError(
    `There is no ${type} "${shown}" in ${repository.name}. git_branch and git_tag list the names, git_log the commits.`,
  )
}

/** The commits that a revision or a range (`a..b`, `a...b`) names, as arguments of `git log`. */
export async function resolveRange(
  repository: Repository,
  revision: string,
  signal: AbortSignal,
): Promise<string[]> {
  const range = /^(.*?)(\.{2,3})(.*)$/s.exec(revision)
  if (range === null) return [await resolveRevision(repository, revision, signal)]
  const [, from = '', dots, to = ''] = range
  const [first, last] = await Promise.all([
    resolveRevision(repository, from || 'HEAD', signal),
    resolveRevision(repository, to || 'HEAD', signal),
  ])
  if (dots === '..') return [last, `^${first}`]
  const bases = await repository.text(['merge-base', '--all', first, last], { signal, allow: [1] })
  return [
    first,
    last,
    ...bases
      .split('\n')
      .filter(isId)
      .map((base) => `^${base}`),
  ]
}

/**
 * A path as git needs it: relative to the top of the working tree, with `/`.
 * @throws ToolError for one outside of it
 */
export async function pathIn(repository: Repository, path: string): Promise<string> {
  const shown = oneLine(clip(path, 200))
  if (path.includes('\0')) throw new ToolError('A path must not contain NUL.')
  let way = path
  if (isAbsolute(path)) {
    const top = [repository.path, await realpath(repository.path)].find(
      (folder) => path === folder || path.startsWith(join(folder, sep)),
    )
    if (top === undefined) {
      throw new ToolError(
        `The path "${shown}" lies outside of ${repository.path}. Use a path relative to it.`,
      )
    }
    way = relative(top, path) || '.'
  }
  const names = (sep === '\\' ? way.replaceAll('\\', '/') : way).split('/')
  if (names.includes('..')) {
    throw new ToolError(
      `The path "${shown}" must not contain "..". Use a path relative to ${repository.path}.`,
    )
  }
  return names.filter((name) => name !== '' && name !== '.').join('/') || '.'
}

/** As `pathIn`, for several. */
export function pathsIn(repository: Repository, paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => pathIn(repository, path)))
}
