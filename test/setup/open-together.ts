import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const programs = 6
const files = 40

/**
 * Has several programs open the same new file at the same moment, for several files, and returns what each reports: `used`, or
 * the message of an error. `source` is a module that defines `use(file)`.
 */
export async function openTogether(source: string): Promise<unknown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-together-'))
  const program = join(folder, 'opens.ts')
  writeFileSync(
    program,
    `${source}
     process.on('message', (file) => {
       try {
         use(file)
         process.send('used')
       } catch (error) {
         process.send(error.message)
       }
     })
     process.on('disconnect', () => process.exit())
     process.send('ready')`,
  )
  const children = Array.from({ length: programs }, () => fork(program, { execArgv: ['--no-warnings'] }))
  onTestFinished(async () => {
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null) return
        const ended = once(child, 'exit')
        child.kill()
        await ended
      }),
    )
    rmSync(folder, { recursive: true, force: true })
  })
  const answers = (): Promise<unknown[]> =>
    Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))
  await answers()
  const reports: unknown[] = []
  for (let n = 0; n < files; n++) {
    const opened = answers()
    for (const child of children) child.send(join(folder, `${n}.db`))
    reports.push(...(await opened))
  }
  return reports
}
