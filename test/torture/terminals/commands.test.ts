import { expect } from 'vitest'
import { jsonFile, run, tempFolder } from '../../../packages/app/test/cli/jackfield.ts'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const server = programFile(new URL('hostile-server.ts', import.meta.url))
const atOnce = 500

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/
const unseen = /[\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u

interface Command {
  readonly words: readonly string[]
  readonly code: number
  /** Shows what is on the disk, and needs no server. */
  readonly isStored?: true
}

const commands: readonly Command[] = [
  { words: ['tools', 'hostile'], code: 0 },
  { words: ['tools', 'hostile', '--json'], code: 0 },
  { words: ['prompts', 'hostile'], code: 0 },
  { words: ['resources', 'hostile'], code: 0 },
  { words: ['call', 'hostile', 'tell', '-v'], code: 0 },
  { words: ['trust', 'hostile'], code: 0 },
  { words: ['generate', 'client', 'hostile'], code: 0 },
  { words: ['generate', 'cli', 'hostile'], code: 0 },
  { words: ['log'], code: 0, isStored: true },
]
const moreCommands: readonly Command[] = [
  { words: ['tools', 'hostile', 'tell'], code: 0 },
  { words: ['call', 'hostile', 'fail'], code: 4 },
  { words: ['read', 'hostile', 'memo://0'], code: 0 },
  { words: ['search', 'curl'], code: 0 },
  { words: ['find', 'curl'], code: 0 },
  { words: ['servers'], code: 0 },
  { words: ['inbox', '--all'], code: 0, isStored: true },
  { words: ['activity'], code: 0, isStored: true },
  { words: ['call', 'hostile', 'fail', '--json'], code: 4 },
  { words: ['call', 'hostile', 'tell', '--json'], code: 0 },
  { words: ['read', 'hostile', 'memo://0', '--json'], code: 0 },
  { words: ['log', '--json'], code: 0, isStored: true },
  { words: ['log', 'export', 'jsonl'], code: 0, isStored: true },
  { words: ['log', 'export', 'har'], code: 0, isStored: true },
]

campaign(
  {
    id: 'hostile-texts',
    chapter: 'Terminals',
    claim:
      'No command prints a control character, an invisible one or one that changes the text direction, whatever a server sends',
    trial: 'hostile text, in every member of every answer of a server',
    trials: { test: Math.ceil(atOnce / 4), change: atOnce, long: 20 * atOnce },
    longMinutes: 60,
  },
  async ({ trials, long, seed, measured }) => {
    const random = new Random(seed)
    let printed = 0
    for (let done = 0; done < trials; done += atOnce) {
      const own = random.between(0, 2 ** 31)
      const args = ['--no-warnings', server, String(own), String(Math.min(atOnce, trials))]
      const config = jsonFile({ mcpServers: { hostile: { command: process.execPath, args } } })
      const env = { XDG_DATA_HOME: tempFolder() }
      for (const { words, code, isStored } of long ? [...commands, ...moreCommands] : commands) {
        const ended = await run([...words, ...(isStored === true ? [] : ['--config', config])], {
          env,
        })
        expect({ words, own, code: ended.code }).toEqual({ words, own, code })
        for (const text of [ended.stdout, ended.stderr]) {
          printed += text.length
          const at = control.exec(text)?.index ?? unseen.exec(text)?.index
          const around =
            at === undefined ? undefined : JSON.stringify(text.slice(Math.max(0, at - 60), at + 20))
          expect({ words, own, around }).toEqual({ words, own, around: undefined })
        }
      }
    }
    expect(printed).toBeGreaterThan(trials * 100)
    measured('characters that were printed', printed, 'characters')
  },
)
