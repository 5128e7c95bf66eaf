import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { openBrowser } from '@jackfield/sdk/client/auth/node'
import { expect, onTestFinished, vi } from 'vitest'
import { PendingUrlElicitations, urlElicitation } from '../../../packages/host/src/core/elicitation.ts'
import {
  open as connected,
  person,
  protectedServer,
} from '../../../packages/sdk/test/client-auth/support/protected-server.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const programs = ['xdg-open', 'open', 'rundll32', 'powershell', 'pwsh', 'cmd', 'cmd.exe', 'explorer', 'start']
const platforms = ['linux', 'darwin', 'win32'] as const

/** Puts programs first in the path that note what they were given, one line an argument. */
async function stubs() {
  const directory = await mkdtemp(join(tmpdir(), 'jackfield-openers-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const noted = join(directory, 'noted')
  for (const name of programs) {
    const path = join(directory, name)
    await writeFile(path, `#!/bin/sh\nfor last; do :; done\nprintf '%s\\n' "$last" >> '${noted}'\n`)
    await chmod(path, 0o700)
  }
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH']}`)
  const own = process.platform
  onTestFinished(() => {
    vi.unstubAllEnvs()
    Object.defineProperty(process, 'platform', { value: own })
  })
  return {
    canary: join(directory, 'canary'),
    opened: async (): Promise<string[]> => {
      const text = await readFile(noted, 'utf8').catch(() => '')
      return text.split('\n').slice(0, -1)
    },
  }
}

/** What ends an argument, a quotation or a command for one shell or another. */
const breaks: readonly ((command: string) => string)[] = [
  (command) => `$(${command})`,
  (command) => `\`${command}\``,
  (command) => `;${command};`,
  (command) => `&${command}&`,
  (command) => `&&${command}`,
  (command) => `|${command}`,
  (command) => `"&${command}&"`,
  (command) => `';${command};'`,
  (command) => `"; ${command}; "`,
  (command) => `%0a${command}%0a`,
  (command) => `\n${command}\n`,
  (command) => `\u0000${command}`,
  (command) => `^&${command}`,
  (command) => `%COMSPEC% /c ${command}`,
  (command) => `" --renderer-cmd-prefix="${command}`,
  (command) => `\${IFS}${command}`,
]
const schemes = [
  ...['https://as.example/', 'http://as.example/', 'http://127.0.0.1.evil.example/', 'HTTP://as.example/'],
  ...['file:///', 'file://evil.example/share/', 'javascript:', 'JaVaScRiPt:', 'data:text/html,', 'vbscript:'],
  ...[
    'ms-msdt:/id ',
    'ms-settings:',
    'search-ms:query=',
    'shell:',
    'vscode://x/',
    'ssh://-oProxyCommand=',
    'ftp://as.example/',
  ],
  ...[
    'smb://as.example/',
    'tel:',
    'mailto:a@as.example?attach=',
    'about:',
    'blob:https://as.example/',
    'view-source:https://as.example/',
  ],
  ...[
    '-',
    '--',
    '/',
    '//as.example/',
    '\\\\evil.example\\share\\',
    'https:as.example/',
    'ws://as.example/',
    'jar:file:///',
    'x:',
  ],
]

campaign(
  {
    id: 'hostile-addresses',
    chapter: 'Authorization',
    claim: 'An address from a server starts nothing but a browser, with that address as its only argument',
    trial: 'hostile address, opened in one of three ways',
    trials: { test: 100, change: 320, long: 20_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const { canary, opened } = await stubs()
    const urls = schemes.flatMap((scheme) => breaks.map((make) => scheme + make(`touch ${canary}`)))
    const first = random.between(0, urls.length - 1)
    const expected: string[] = []
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const text = urls[(first + trial * 7) % urls.length] ?? ''
      Object.defineProperty(process, 'platform', { value: random.pick(platforms) })
      const where = `${text}, trial ${trial}`
      const sound = isSound(text)
      // A login costs more than the others: two servers.
      const open = trial % 16 === 0 ? loggedIn : random.pick([directly, elicited])
      const isOpened = await open(text)
      expect(isOpened, where).toBe(open === loggedIn ? false : sound)
      if (isOpened) expected.push(new URL(text).href)
    }
    await expect.poll(async () => (await opened()).length, { timeout: 30_000 }).toBe(expected.length)
    expect((await opened()).toSorted()).toEqual(expected.toSorted())
    await expect(stat(canary)).rejects.toMatchObject({ code: 'ENOENT' })
    const long = new URL(`https://as.example/${'x'.repeat(300_000)}`)
    await expect(openBrowser(long)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
    campaignRun.measured('addresses', urls.length, 'addresses')
    campaignRun.measured('opened, as one argument', expected.length, 'addresses')
  },
)

/** What may be opened here: https alone, since none of these addresses is on this machine. */
function isSound(text: string): boolean {
  return URL.parse(text)?.protocol === 'https:'
}

/** Opens it directly. */
async function directly(text: string): Promise<boolean> {
  const url = URL.parse(text)
  if (url === null) return false
  const error: unknown = await openBrowser(url).catch((reason: unknown) => reason)
  if (error !== undefined) expect(error).toMatchObject({ code: 'INVALID' })
  return error === undefined
}

/** Opens it as a URL elicitation that the user accepts. */
async function elicited(text: string): Promise<boolean> {
  const ask = urlElicitation({
    pending: new PendingUrlElicitations(),
    ask: async (going) => ({
      answer: going === undefined ? { action: 'accept', visit: 'open' } : { action: 'accept' },
      by: 'a person',
    }),
  })
  const params = { mode: 'url' as const, message: 'Go there', url: text, elicitationId: 'one' }
  const { opened } = await ask(params, new AbortController().signal)
  return opened > 0
}

/** The login page of a server; none of these authorization servers has one on this machine, so none is gone to. */
async function loggedIn(text: string): Promise<boolean> {
  const one = await protectedServer()
  one.as.metadata = { authorization_endpoint: text.replace(/^https:/, 'http:') }
  const { auth, opened } = person()
  const error: unknown = await connected(one, auth).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
  one.close()
  one.as.close()
  return opened.length > 0
}
