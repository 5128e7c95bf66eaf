import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createOwners } from '../../src/log/store/owners.ts'

it('programs that start and end concurrently on one store each get a lock, and none is mistaken for ended', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-owners-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = join(folder, 'a.db')
  const program = join(folder, 'comes-and-goes.ts')
  const owners = new URL('../../src/log/store/owners.ts', import.meta.url).href
  writeFileSync(
    program,
    `import { createOwners } from ${JSON.stringify(owners)}
     process.on('message', () => {
       for (let n = 0; n < 100; n++) {
         const one = createOwners(process.argv[2])
         one.lock()
         if (createOwners(process.argv[2]).isGone(one.me)) throw new Error('taken for gone')
         one.close()
       }
       process.exit()
     })
     process.send('ready')`,
  )
  const children = [1, 2, 3, 4].map(() => fork(program, [store], { execArgv: ['--no-warnings'] }))
  const endings = children.map((child) => once(child, 'exit'))
  await Promise.all(children.map((child) => once(child, 'message')))
  for (const child of children) child.send('go')
  expect((await Promise.all(endings)).map(([code]) => code)).toEqual([0, 0, 0, 0])

  const last = createOwners(store)
  last.lock()
  expect(readdirSync(`${store}.running`).filter((name) => name.endsWith('.lock'))).toEqual([
    `${last.me}.lock`,
  ])
  last.close()
})
