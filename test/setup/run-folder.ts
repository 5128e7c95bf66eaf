import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Gives one run of the tests a folder of its own for everything temporary, and removes it when the run is over. Its name
 * is short, since paths of sockets are. Programs that tests start keep their compiled code in it, and what they would
 * write to the data folder of the user who runs the tests.
 */
export default function runFolder(): () => void {
  const parent = tmpdir()
  sweep(parent)
  const folder = mkdtempSync(join(parent, `jf-${process.pid}-`))
  process.env['TMPDIR'] = folder
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled')
  process.env['XDG_DATA_HOME'] = join(folder, 'data')
  // A host process would outlive the command of a test; tests about it switch it on.
  process.env['JACKFIELD_DAEMON'] = 'off'
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  process.once('exit', remove)
  return remove
}

/** Removes what runs left that were ended by force. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^jf-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isRunning(Number(pid))) continue
    try {
      rmSync(join(parent, name), { recursive: true, force: true })
    } catch {
      // It belongs to another user of the machine.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
