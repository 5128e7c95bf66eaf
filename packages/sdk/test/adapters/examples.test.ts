import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const run = promisify(execFile)
const page = readFileSync(`${root}docs/adapters.md`, 'utf8')

describe.each(['node', 'express', 'fastify', 'hono', 'next'])('the example for %s', (name) => {
  const file = `examples/adapters/${name}.ts`

  it('serves both eras', async () => {
    const { stdout } = await run(process.execPath, ['--no-warnings', file], { cwd: root, timeout: 25_000 })
    expect(stdout).toBe('2026-07-28: Refunded 42.\n2025-11-25: Refunded 42.\n')
  })

  it('is shown as it is in docs/adapters.md', () => {
    expect(page).toContain(`\`\`\`ts\n${readFileSync(root + file, 'utf8')}\`\`\``)
  })
})
