import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'
import { type CompletionContext, ErrorCode, RpcError, ToolError, template } from '@jackfield/sdk'
import { pathIn, resolveRevision } from './arguments.ts'
import type { Repository } from './repositories.ts'
import type { ServerContext } from './server-context.ts'
import { isBinary, oneLine } from './text.ts'
import { blobSize, entryAt, listTree } from './tools/contents.ts'
import { listRefs } from './tools/inspect.ts'

/* Files at a revision as resources, with completion of repositories, revisions and paths. */

/** Maximum bytes of a file that is read as a resource, which has no pages. */
const maxResourceBytes = 524_288
const maxSuggestions = 1_000

const mimeTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
}

export const fileAtRevision = (server: ServerContext) =>
  template({
    uriTemplate: 'git://{repository}/{revision}/{+path}',
    title: 'File at a revision',
    description:
      'A file of a repository as it is in a commit, branch or tag. Encode "/" in the name of a repository or branch as %2F.',
    complete: {
      repository: async (typed) =>
        (await server.repositories.listForCompletion())
          .map(({ name }) => name)
          .filter((name) => name.startsWith(typed)),
      revision: (typed, context) =>
        suggest(server, context, (repository) => revisions(repository, typed, context)),
      path: (typed, context) => suggest(server, context, (repository) => paths(repository, typed, context)),
    },
    async read({ repository: name, revision, path: given }, ctx, uri) {
      const { signal } = ctx
      try {
        const repository = await server.repositories.open(ctx, name)
        const commit = await resolveRevision(repository, revision, signal)
        const path = await pathIn(repository, given)
        const found = await entryAt(repository, commit, path, signal)
        if (found === undefined || found.type === 'submodule') return undefined
        if (found.type === 'folder') {
          throw new ToolError(`"${oneLine(path)}" is a folder. git_file lists it.`)
        }
        const size = await blobSize(repository, found.id, signal)
        if (size > maxResourceBytes) {
          throw new ToolError(
            `"${oneLine(path)}" has ${size} bytes. Resources are read up to ${maxResourceBytes}; git_file reads parts of it.`,
          )
        }
        const { stdout } = await repository.run(['cat-file', 'blob', found.id], { signal })
        const mimeType = mimeTypes[extname(path).toLowerCase()]
        return isUtf8(stdout) && !isBinary(stdout)
          ? { uri, mimeType: mimeType ?? 'text/plain', text: stdout.toString('utf8') }
          : { uri, mimeType: mimeType ?? 'application/octet-stream', blob: stdout.toString('base64') }
      } catch (error) {
        if (error instanceof ToolError) throw new RpcError(ErrorCode.InvalidParams, error.message, { uri })
        throw error
      }
    },
  })

/** Suggestions from the repository that was chosen before; none if it cannot be opened or read. */
export async function suggest(
  server: ServerContext,
  { arguments: chosen, signal }: CompletionContext,
  from: (repository: Repository) => Promise<string[]>,
): Promise<string[]> {
  try {
    const repository = await server.repositories.openForCompletion(chosen['repository'], signal)
    return repository === undefined ? [] : await from(repository)
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}

/** Names of branches and tags that begin with what was typed. */
export async function revisions(
  repository: Repository,
  typed: string,
  { signal }: CompletionContext,
): Promise<string[]> {
  const rows = await listRefs(repository, signal, {
    fields: ['refname:short'],
    roots: ['refs/heads/', 'refs/tags/', 'refs/remotes/'],
    sort: '-creatordate',
    limit: maxSuggestions,
  })
  return ['HEAD', ...rows.flat()].filter((name) => name.startsWith(typed))
}

/** Names in the folder that was typed so far. */
async function paths(
  repository: Repository,
  typed: string,
  { arguments: { revision = 'HEAD' }, signal }: CompletionContext,
): Promise<string[]> {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1)
  const commit = await resolveRevision(repository, revision, signal)
  const found = await entryAt(repository, commit, await pathIn(repository, folder || '.'), signal)
  if (found?.type !== 'folder') return []
  const { entries } = await listTree(repository, found.id, signal)
  return entries
    .map(({ name, type }) => `${folder}${name}${type === 'folder' ? '/' : ''}`)
    .filter((path) => path.startsWith(typed))
}
