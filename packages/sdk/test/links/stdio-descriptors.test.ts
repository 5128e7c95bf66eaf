import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const linux = process.platform === 'linux'
const sdk = fileURLToPath(new URL('../..', import.meta.url))

/** Starts a server that prints its own descriptors, from a client of the built package that has `inherited` open. */
async function descriptorsOfServer(inherited: readonly number[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-open-'))
  const open = openSync(folder, 'r')
  onTestFinished(() => {
    closeSync(open)
    rmSync(folder, { recursive: true })
  })
  const program = `
    import { connect } from '@jackfield/sdk/client'
    import { stdio } from '@jackfield/sdk/client/stdio'
    const onStderr = (text) => process.stdout.write(text)
    const args = ['-c', 'exec >&2; ls -l /proc/$$/fd']
    await connect(stdio({ command: 'sh', args, onStderr })).catch(() => {})`
  const length = Math.max(...inherited) + 1
  const client = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: sdk,
    stdio: [
      'ignore',
      'pipe',
      'inherit',
      ...Array.from({ length: length - 3 }, (_, index) => (inherited.includes(index + 3) ? open : 'ignore')),
    ],
  })
  if (client.stdout === null) throw new Error('There is no output')
  const [listing] = await Promise.all([text(client.stdout), once(client, 'exit')])
  const entries = [...listing.matchAll(/(\d+ -> .*)$/gm)].map(([, entry = '']) =>
    entry.replace(/\[\d+\]$/, ''),
  )
  // The server is started once for each way to negotiate.
  return [...new Set(entries)].sort()
}

describe.runIf(linux)('the descriptors of a server process', () => {
  it.each([[[200]], [[3]], [[3, 17, 200, 201, 500]]])(
    'are its three streams, even if this process was started with %j open',
    async (inherited) => {
      const found = await descriptorsOfServer(inherited)
      // A number that would have been inherited refers to the null device.
      expect(found.filter((entry) => !entry.endsWith(' -> /dev/null'))).toEqual([
        '0 -> socket:',
        '1 -> socket:',
        '2 -> socket:',
      ])
    },
  )
})
