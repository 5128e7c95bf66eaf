import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'

campaign(
  {
    id: 'message-round-trip',
    chapter: 'Parsers',
    claim:
      'A message is parsed as it was written, as a line, an event and a body, and no line contains its own delimiter',
    trial: 'random message',
    trials: { test: 1_500, change: 10_000, long: 1_000_000 },
  },
  async (campaignRun) => {
    const program = programFile(new URL('./round-trip-program.ts', import.meta.url))
    const args = ['--no-warnings', program, String(campaignRun.seed), String(campaignRun.trials)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 600_000 })
    const found: { characters: number; cpuSeconds: number } = JSON.parse(stdout)
    campaignRun.measured('characters written', found.characters, '')
    campaignRun.measured('CPU', found.cpuSeconds, 's')
  },
)
