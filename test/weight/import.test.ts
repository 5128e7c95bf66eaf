import { describe, expect, it } from 'vitest'
import { nodeModulesOf, sizeOf } from '../../bench/bundle.ts'
import { filesLoaded, root, waysIn } from './loaded.ts'

/** Kilobytes of the minified program, compressed: `atOnce` without what dynamic imports load, `inAll` with it. */
const programs = [
  {
    what: 'the HTTP of a server alone',
    imports: ['@jackfield/sdk/http'],
    source: `export { serveHttp } from '@jackfield/sdk/http'`,
    files: 4,
    atOnce: 37,
    inAll: 60.9,
  },
  {
    what: 'a server over HTTP',
    imports: ['@jackfield/sdk', '@jackfield/sdk/http'],
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveHttp } from '@jackfield/sdk/http'`,
    files: 6,
    atOnce: 62,
    // A file of its own for sessions compresses less well.
    inAll: 86,
  },
  {
    what: 'a server on stdio',
    imports: ['@jackfield/sdk', '@jackfield/sdk/stdio'],
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveStdio } from '@jackfield/sdk/stdio'`,
    // One is the session, which a server over HTTP loads at its first use.
    files: 8,
    atOnce: 51,
    inAll: 51,
  },
  {
    what: 'a client',
    imports: ['@jackfield/sdk/client'],
    source: `export { connect } from '@jackfield/sdk/client'`,
    files: 4,
    atOnce: 42.5,
    // With the code that waits while other programs create the SQLite file of the response cache, and with corrections of mistakes.
    inAll: 75.2,
  },
] as const

const remedy =
  'Move code that few programs need behind a dynamic import() of an entry point, where it is asynchronous already, or raise ' +
  'the ceiling here and state the reason in the commit'

describe('what importing the built SDK loads', () => {
  it.each(programs)('is at most $files files for $what', async ({ imports, files }) => {
    const loaded = await filesLoaded(imports, 'packages/sdk/dist/')
    expect(loaded.length).toBeGreaterThan(0)
    expect(loaded.length, `${remedy}. Loaded: ${loaded.join('\n')}`).toBeLessThanOrEqual(files)
  })

  it.each(programs)('is at most $atOnce kB for $what, and $inAll kB in all', async (program) => {
    const { firstGzip, allGzip } = await sizeOf(program.source, `${root}bench`)
    expect(firstGzip).toBeGreaterThan(1)
    expect(firstGzip, remedy).toBeLessThanOrEqual(program.atOnce)
    expect(allGzip, remedy).toBeLessThanOrEqual(program.inAll)
  })

  it('contains no other package for a server or a client', async () => {
    const all = programs.flatMap(({ imports }) => imports)
    const loaded = await filesLoaded([...new Set(all)], 'node_modules/')
    expect(loaded).toEqual([])
  })

  it.each([
    '@jackfield/sdk',
    '@jackfield/sdk/http',
    '@jackfield/sdk/auth',
    '@jackfield/sdk/client',
    '@jackfield/sdk/client/auth',
    '@jackfield/sdk/compose',
    '@jackfield/sdk/extensions/ui',
    '@jackfield/sdk/testing',
  ])('contains no Node API for %s', async (way) => {
    expect(await nodeModulesOf(way, `${root}bench`)).toEqual([])
  })

  it.each(waysIn())('is few files for %s', async (way) => {
    const loaded = await filesLoaded([way], 'packages/sdk/dist/')
    expect(loaded.length, `${remedy}. Loaded: ${loaded.join('\n')}`).toBeLessThanOrEqual(9)
  })
})
