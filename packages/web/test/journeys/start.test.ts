import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { missing, openPage } from './journey.ts'

const program = builtProgram('jackfield')

/** `jackfield start --web` in a folder of its own, and its login link. */
async function startInBrowser(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-start-'))
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder }
  const args = [program, 'start', '--web', '--no-open', '--json']
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url }: { url: string } = JSON.parse(String(line))
  return url
}

test.skipIf(missing !== undefined)(
  `jackfield start --web plans a trip in the browser and books it once the person agrees${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  async () => {
    const url = await startInBrowser()
    const { page } = await openPage()
    await page.goto(url)
    await page.getByText('Run bookVacation of travel?').waitFor()
    const done = page.getByText('Your trip to Barcelona is planned')
    const review = page.locator('button[data-act="review"]')
    const decide = page.locator(
      'button[data-act="allow"][data-armed="true"], button[data-act="accept"][data-armed="true"]',
    )
    // Two approvals, two forms with their reviews, and the question about the folder.
    for (let acts = 0; acts < 12; acts++) {
      await review.or(decide).or(done).first().waitFor()
      if ((await done.count()) > 0) break
      if ((await review.count()) > 0) {
        const confirm = page.getByRole('group', { name: /Confirm booking/ }).getByLabel('Yes')
        if ((await confirm.count()) > 0) await confirm.check()
        await review.click()
      } else await decide.last().click()
    }
    await expect.poll(() => page.getByText(/reference JF-[A-Z0-9]{8}/).count()).toBe(1)
    await expect.poll(() => page.getByText(/Saved .*\.md .* in the root "sample"/).count()).toBe(1)
  },
)
