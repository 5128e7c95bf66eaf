import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { packAll, type Tarball } from '../../scripts/fresh-project.ts'

const lookAgainMs = 100

/** The tarballs of the published packages. Each run of the tests packs them once, into its own folder. */
export async function packedOnce(): Promise<Tarball[]> {
  const folder = join(tmpdir(), 'tarballs')
  const list = join(folder, 'list.json')
  for (;;) {
    try {
      mkdirSync(folder)
      break
    } catch (error) {
      // Another test file packs them. Where that fails, the folder goes away.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    while (existsSync(folder)) {
      if (existsSync(list)) return JSON.parse(readFileSync(list, 'utf8'))
      await setTimeout(lookAgainMs)
    }
  }
  try {
    const tarballs = await packAll(folder)
    writeFileSync(`${list}.unfinished`, JSON.stringify(tarballs))
    renameSync(`${list}.unfinished`, list)
    return tarballs
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}
