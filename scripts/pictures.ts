// Records what the terminal shows, as pictures for docs/host.md: real commands, real servers, a person's keys.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asking } from './pictures/scenes/asking.ts'
import { finding } from './pictures/scenes/finding.ts'
import { folders } from './pictures/scenes/folders.ts'
import { gateway } from './pictures/scenes/gateway.ts'
import { install } from './pictures/scenes/install.ts'
import { log } from './pictures/scenes/log.ts'
import { policy } from './pictures/scenes/policy.ts'
import { sampling } from './pictures/scenes/sampling.ts'
import { trust } from './pictures/scenes/trust.ts'
import { openStudio } from './pictures/studio.ts'
import { root } from './run.ts'
import { terminalMissing } from './terminal/terminal.ts'

const scenes = [finding, policy, asking, sampling, folders, trust, install, gateway, log]
const folder = join(root, 'docs/pictures')
/** The same folder each time, since it can be read in the pictures. */
const home = '/tmp/ada'

const missing = terminalMissing()
if (missing !== undefined) throw new Error(`Nothing can be recorded: ${missing}`)
mkdirSync(folder, { recursive: true })
const wanted = process.argv.slice(2)
const known = scenes.flatMap(({ pictures }) => pictures)
const unknown = wanted.filter((name) => !known.includes(name))
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(', ')}. There are: ${known.join(', ')}`)

for (const scene of scenes) {
  const chosen = scene.pictures.filter((name) => wanted.length === 0 || wanted.includes(name))
  if (chosen.length === 0) continue
  const taken = new Set<string>()
  await scene.record(
    openStudio(home, (name, svg) => {
      taken.add(name)
      if (!chosen.includes(name)) return
      writeFileSync(join(folder, `${name}.svg`), svg)
      process.stdout.write(`docs/pictures/${name}.svg\n`)
    }),
  )
  const left = scene.pictures.filter((name) => !taken.has(name))
  if (left.length > 0) throw new Error(`No picture was taken of: ${left.join(', ')}`)
}
rmSync(home, { recursive: true, force: true })
if (wanted.length === 0) {
  // What no scene shows any more is no picture of today's program.
  for (const file of readdirSync(folder)) {
    if (file.endsWith('.svg') && !known.includes(file.replace(/\.svg$/, ''))) rmSync(join(folder, file))
  }
}
