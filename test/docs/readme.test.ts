import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

describe('the README', () => {
  it('shows the server and the client of the quickstart unchanged', async () => {
    const readme = await readFile(`${root}README.md`, 'utf8')
    for (const file of ['server.ts', 'client.ts']) {
      expect(readme).toContain(
        `\`\`\`ts\n${await readFile(`${root}examples/quickstart/${file}`, 'utf8')}\`\`\``,
      )
    }
  })

  it('shows a client and a server that run', async () => {
    const { stdout } = await run(process.execPath, ['client.ts'], { cwd: `${root}examples/quickstart` })
    expect(stdout).toContain('Refunded 42.')
  })

  it('begins with the two commands that do all the set-up', async () => {
    const readme = await readFile(`${root}README.md`, 'utf8')
    expect(readme.slice(0, 900)).toContain('npm ci && npm start')
    expect(readme.slice(0, 900)).toContain('npm ci && npm test')
  })
})
