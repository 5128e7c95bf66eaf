import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { McpError, type Root } from '@jackfield/sdk'
import type { FolderPreview, OpenFolder, RootsDesk, ServerRoots } from '../../types/index.ts'
import { lookAt, previewOf } from './look.ts'
import { sameFolder, uriOf } from './open-folders.ts'
import type { Roots, RootsDeps } from './room.ts'
import { mustAsk } from './standing.ts'

/** What a person can see and decide about folders. */
export class Desk implements RootsDesk {
  readonly #room: Roots
  readonly #deps: Pick<RootsDeps, 'table' | 'recorder' | 'servers'>
  readonly #home: string

  constructor(room: Roots, deps: Pick<RootsDeps, 'table' | 'recorder' | 'servers'>, home: string) {
    this.#room = room
    this.#deps = deps
    this.#home = home
  }

  list(): Promise<OpenFolder[]> {
    return lookAt(this.#room.folders.all(), this.#room.around())
  }

  async add(folder: string, name?: string): Promise<OpenFolder> {
    const uri = uriOf(folder, this.#home)
    const all = this.#room.folders.all()
    const known = all.find((given) => sameFolder(given.uri, uri))
    const given = known ?? { uri, ...(name !== undefined && { name }), from: 'added' as const }
    const looked = await lookAt([...all.filter((other) => other !== known), given], this.#room.around())
    const found = looked.find((other) => other.uri === given.uri)
    const refusal = found?.findings.find(({ severity }) => severity === 'refused')
    if (found === undefined || refusal !== undefined) {
      const way = refusal?.code === 'excluded' ? '. Take the pattern back with: jackfield roots include' : ''
      throw new McpError(
        'INVALID',
        `${folder} was not opened: ${refusal?.message ?? 'it is not there'}${way}`,
      )
    }
    if (known !== undefined) return found
    this.#deps.table.add(this.#room.folders.workspace, uri, name)
    this.#note(null, `${uri} was opened to servers`, { uri })
    await this.#room.changed()
    return found
  }

  async remove(folder: string): Promise<boolean> {
    const uri = uriOf(folder, this.#home)
    const known = this.#room.folders.all().find((given) => sameFolder(given.uri, uri))
    if (known === undefined) return false
    if (known.from === 'added') this.#deps.table.remove(this.#room.folders.workspace, known.uri)
    else this.exclude(fileURLToPath(known.uri).replace(/(.)\/$/, '$1'))
    this.#note(null, `${known.uri} is no longer open to servers`, { uri: known.uri })
    await this.#room.changed()
    return true
  }

  excluded(): string[] {
    return this.#deps.table.excluded(this.#room.folders.workspace)
  }

  exclude(pattern: string): void {
    this.#deps.table.exclude(this.#room.folders.workspace, this.#pattern(pattern))
    this.#note(null, `Folders like ${pattern} are left out`, { pattern })
    this.#room.changed()
  }

  include(pattern: string): boolean {
    const done = this.#deps.table.include(this.#room.folders.workspace, this.#pattern(pattern))
    if (done) {
      this.#note(null, `Folders like ${pattern} are no longer left out`, { pattern })
      this.#room.changed()
    }
    return done
  }

  servers(): Promise<ServerRoots[]> {
    return Promise.all([...this.#deps.servers().keys()].map((server) => this.#standing(server)))
  }

  async preview(server: string): Promise<FolderPreview[]> {
    const { offered, fresh, consent } = await this.#room.standing(server)
    return Promise.all(
      offered.map(async (folder) => ({
        ...(await previewOf(folder)),
        isNew: consent !== undefined && fresh.includes(folder),
      })),
    )
  }

  async allow(server: string, by: string, folders?: readonly string[]): Promise<Root[]> {
    const { offered } = await this.#room.standing(server)
    const wanted = folders?.map((folder) => uriOf(folder, this.#home))
    const strange = wanted?.findIndex((uri) => !offered.some((folder) => sameFolder(folder.uri, uri))) ?? -1
    if (strange !== -1) {
      const open = offered.map(({ uri }) => fileURLToPath(uri)).join(', ')
      throw new McpError(
        'INVALID',
        `${folders?.[strange]} is not open to ${server}. ${open === '' ? 'Nothing is' : `Open are: ${open}`}. Open it with: jackfield roots add`,
      )
    }
    const agreed = offered.filter(({ uri }) => wanted?.some((one) => sameFolder(one, uri)) ?? true)
    const roots = agreed.map(({ uri, name }) => ({ uri, ...(name !== undefined && { name }) }))
    // Recorded first: a permission that is not on record does not apply.
    this.#note(server, `${server} may know ${agreed.length} folders`, { roots, by })
    this.#room.decide(server, offered, agreed, by)
    await this.#room.changed()
    return roots
  }

  async deny(server: string, by: string): Promise<void> {
    const { offered } = await this.#room.standing(server)
    this.#room.decide(server, offered, undefined, by)
    this.#note(server, `${server} may know no folder`, { by }, 'denied')
    await this.#room.changed()
  }

  forget(server: string): boolean {
    const { identity } = this.#room.server(server)
    const done = this.#deps.table.forget(identity, this.#room.folders.workspace)
    if (done) {
      this.#note(server, `What was decided about folders and ${server} was forgotten`, {}, 'revoked')
      this.#room.changed()
    }
    return done
  }

  async #standing(server: string): Promise<ServerRoots> {
    const { config, identity } = this.#room.server(server)
    const standing = await this.#room.standing(server)
    const { consent, told, offered } = standing
    const asked = this.#deps.table.asked(identity)
    const bare = ({ uri, name }: Root): Root => ({ uri, ...(name !== undefined && { name }) })
    const decided = consent?.verdict === 'deny' ? 'denied' : mustAsk(standing) ? 'ask' : 'allowed'
    return {
      server,
      state: config.roots === false ? 'off' : consent === undefined ? 'ask' : decided,
      roots: told.map(bare),
      asks: mustAsk(standing) ? offered.map(bare) : [],
      ...(asked !== undefined && { asked }),
    }
  }

  #pattern(written: string): string {
    const inHome = written === '~' || written.startsWith('~/')
    const pattern = inHome ? join(this.#home, written.slice(1)) : written
    if (pattern === '' || (pattern.includes('/') && !isAbsolute(pattern) && !pattern.startsWith('*'))) {
      throw new McpError(
        'INVALID',
        `"${written}" is no pattern of folders. Write a whole path (/home/me/secret), one with stars (**/secret), or a name (secret)`,
      )
    }
    return pattern
  }

  #note(server: string | null, summary: string, detail: Record<string, unknown>, outcome = 'ok'): void {
    this.#deps.recorder.note({ kind: 'roots', server, summary, detail }, outcome)
  }
}
