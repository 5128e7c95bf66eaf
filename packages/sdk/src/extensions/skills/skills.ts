import type { Exchange, Outcome, Peer } from '../../core/exchange.ts'
import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import type { Context } from '../../server/context.ts'
import type { ReadReply } from '../../server/definitions.ts'
import type { Extension, ExtensionMethod } from '../../server/extension.ts'
import { page } from '../../server/lists.ts'
import { clipped } from '../../server/run.ts'
import { lacking } from '../../server/scopes.ts'
import type { Server } from '../../server/server.ts'
import { template } from '../../server/tool.ts'
import { bytesOf, contentsOf } from './bytes.ts'
import { Catalogue } from './catalogue.ts'
import { skillsExtension } from './names.ts'
import type { SkillValue } from './skill.ts'

/** How skills are listed, cached and guarded. All of it has defaults. */
export interface SkillsOptions {
  /** Whether directories can be listed. Default true. */
  directoryRead?: boolean
  /** How long and for whom entries and files stay fresh. Default 0 ms, private. */
  cache?: Partial<CacheHints>
  /** What a caller must have been allowed, all of it, to see and read the skills. Default: nothing. */
  scopes?: readonly string[]
  /** Skills on one page of `skills/list`. Default 50: the largest entries then still fit one message. */
  pageSize?: number
}

/** The skills of one server. */
export interface Skills extends Extension {
  /**
   * Replaces all skills and tells watchers that the list of resources changed. What clients hold of the old ones no
   * longer verifies, so that they have to look again.
   * @throws McpError 'INVALID' where skills are in each other's way; the old ones stay then
   */
  replace(skills: readonly SkillValue[]): void
}

const rowsOnPage = 1000
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/**
 * Serves Agent Skills: folders of instructions and files for a model, under `skill://`. Give it to `defineServer`.
 * @throws McpError 'INVALID' where skills are in each other's way
 * @see https://github.com/modelcontextprotocol/ext-skills
 */
export function skills(values: readonly SkillValue[], options: SkillsOptions = {}): Skills {
  const { directoryRead = true, cache = {}, scopes = [], pageSize = 50 } = options
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw new McpError('INVALID', `The skills option "pageSize" is no whole number from 1: ${pageSize}`)
  }
  const hints: CacheHints = { ...uncached, ...cache, ...(scopes.length > 0 ? { cacheScope: 'private' } : {}) }
  let catalogue = new Catalogue(values)
  let server: Server | undefined
  const methods: Record<string, ExtensionMethod> = {
    'skills/list': method(scopes, (exchange) => listOf(catalogue, exchange, pageSize, hints)),
    'skills/get': method(scopes, async (exchange) => {
      const uri = uriIn(exchange)
      const found = catalogue.find(uri)
      if (found === undefined) throw invalidParams(`No skill is served at ${clipped(uri)}`)
      return { type: 'complete', result: { skill: await catalogue.entry(found), ...hints } }
    }),
  }
  if (directoryRead) {
    methods['resources/directory/read'] = method(scopes, (exchange) => {
      const uri = uriIn(exchange)
      const children = catalogue.directory(uri)
      if (children === undefined) throw invalidParams(`${clipped(uri)} is not a directory resource`)
      return page('resources', children, exchange, rowsOnPage, hints)
    })
  }
  return {
    id: skillsExtension,
    settings: directoryRead ? { directoryRead } : {},
    methods,
    definitions: {
      resources: {
        'skill-files': template({
          uriTemplate: 'skill://{+path}',
          description: 'The files of the skills',
          cache: hints,
          scopes,
          list: () => catalogue.rows,
          read: (_variables, ctx, uri) => read(catalogue, uri, ctx),
        }),
      },
    },
    attach(to) {
      if (server !== undefined) {
        throw new McpError('INVALID', 'These skills belong to a server already: make them anew for another')
      }
      server = to
    },
    replace(next) {
      catalogue = new Catalogue(next)
      server?.changes.publish({ type: 'resources' })
    },
  }
}

/** Clients call these once the server declared the extension; nothing says that they declare it too. */
function method(
  scopes: readonly string[],
  handle: (exchange: Exchange) => Promise<Outcome> | Outcome,
): ExtensionMethod {
  return {
    open: true,
    handle(exchange) {
      requireScopes(scopes, exchange.peer)
      return handle(exchange)
    },
  }
}

async function listOf(
  catalogue: Catalogue,
  exchange: Exchange,
  pageSize: number,
  hints: CacheHints,
): Promise<Outcome> {
  const outcome = page('skills', catalogue.listed, exchange, pageSize, hints)
  if (outcome.type !== 'complete') return outcome
  const from = outcome.result['skills']
  const shown = catalogue.listed.filter((one) => Array.isArray(from) && from.includes(one))
  const entries = await Promise.all(shown.map((one) => catalogue.entry(one)))
  return { type: 'complete', result: { ...outcome.result, skills: entries } }
}

async function read(catalogue: Catalogue, uri: string, ctx: Context): Promise<ReadReply | undefined> {
  const content = catalogue.file(uri)
  if (content === undefined) return undefined
  if (typeof content !== 'function') return { contents: [contentsOf(uri, content)] }
  return { contents: [contentsOf(uri, bytesOf(await content(ctx)))], cache: uncached }
}

function requireScopes(scopes: readonly string[], peer: Peer): void {
  const refused = lacking(scopes, peer)
  if (refused !== undefined) throw refused
}

function uriIn({ params: { uri }, limits }: Exchange): string {
  if (typeof uri === 'string' && uri.length <= limits.uriChars) return uri
  throw invalidParams(`"uri" must be a string of at most ${limits.uriChars} characters`)
}

function invalidParams(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
