import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { folder } from '../fixtures/hosts.ts'

it.runIf(process.platform === 'linux')(
  'the process of a program inherits no file descriptor of the host',
  async () => {
    const at = folder()
    const open = openSync(at, 'r')
    onTestFinished(() => closeSync(open))
    const host = `
      import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
      import { startProgram } from ${JSON.stringify(new URL('../../src/models/code/process.ts', import.meta.url).href)}
      const limits = { memoryBytes: 5e7, cpuMs: 1000, outputCharacters: 1000, calls: 1 }
      const program = startProgram({ program: '', servers: [], ...limits }, () => {
        const children = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ')
        for (const child of children)
          for (const name of readdirSync('/proc/' + child + '/fd'))
            console.log(readlinkSync('/proc/' + child + '/fd/' + name))
        program.end()
      }, () => {})`
    const child = spawn(process.execPath, ['--input-type=module', '-e', host], {
      stdio: ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(197).fill('ignore'), open],
    })
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    if (child.stdout === null) throw new Error('There is no output')
    const [found] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(found).toContain('/dev/null')
    expect(found).not.toContain(at)
  },
)
