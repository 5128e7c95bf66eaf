import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../run.ts'
import type { Scene } from '../studio.ts'

/** Roots that servers receive, and a sandbox that limits a server's access. */
export const folders: Scene = {
  pictures: ['roots-question', 'roots', 'sandbox'],
  async record(studio) {
    const { home, work } = studio
    const { guide, till } = studio.servers
    mkdirSync(join(home, 'photos'))
    studio.write('photos/sea.txt', 'The sea')
    studio.write('trip/.env', 'KEY=1\n')
    const rules = [{ id: 'trip', verdict: 'allow', server: '*' }]
    studio.configure({ mcpServers: { guide }, jackfield: { rules } })
    await studio.quietly('jackfield roots add ~/photos --name photos')
    await using shell = studio.shell()
    await shell.enter('jackfield call guide save')
    await shell.until('Share these folders?')
    await shell.settled()
    studio.capture('roots-question', 'A server requests your folders', shell)
    await shell.choose('Yes, all of them')
    await shell.over()
    await studio.shows('roots', 'The folders that each server may see', 'jackfield roots', { cols: 122 })
    mkdirSync(join(home, '.ssh'))
    const key = studio.write('.ssh/id_ed25519', 'the key to everything\n')
    const peek = `jackfield call till peek path=${key}`
    await using open = studio.shell({ cols: 122 })
    studio.configure({ mcpServers: { till }, jackfield: { rules } })
    await open.enter(peek)
    await open.over()
    const sandboxed = {
      ...till,
      sandbox: { read: [join(root, 'packages/sdk')], write: [work] },
      roots: false,
    }
    studio.configure({ mcpServers: { till: sandboxed }, jackfield: { rules } })
    for (const command of ['jackfield servers', 'jackfield doctor till', peek]) {
      await open.enter(command)
      await open.over()
    }
    studio.capture('sandbox', 'A server in a sandbox', open)
  },
}
