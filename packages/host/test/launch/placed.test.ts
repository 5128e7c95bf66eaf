// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are what is tested.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import type { ConfigLayer, HostOptions, HostQuestion, ServerConfig } from '../../src/types/index.ts'
import { folder, session, started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

type Question = Extract<HostQuestion, { kind: 'start' }>

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Writes a program that notes how it was started, and then is a server. */
function tool(file: string, noted: string): string {
  mkdirSync(dirname(file), { recursive: true })
  const { config } = session()
  const server = 'url' in config ? [] : [config.command, ...(config.args ?? [])]
  const words = server.map((word) => `'${word}'`).join(' ')
  writeFileSync(
    file,
    `#!/bin/sh\nprintf '%s\\n' "${file}" "$(pwd -P)" "$PATH" "$@" > '${noted}'\nLOG=/dev/null exec ${words}\n`,
    { mode: 0o700 },
  )
  return file
}

/** A project, an installed `npx` and `tool` outside of it, and a person who agrees to everything. */
function setup() {
  const project = realpathSync(folder())
  const home = realpathSync(folder())
  const noted = join(home, 'noted')
  const installed = {
    npx: tool(join(home, 'bin', 'npx'), noted),
    tool: tool(join(home, 'bin', 'tool'), noted),
  }
  const store = join(home, 'store.db')
  const path = [join(home, 'bin'), '/usr/bin', '/bin']
  const servers = (entry: object, layer: ConfigLayer = 'project'): Record<string, ServerConfig> =>
    parseConfig(JSON.stringify({ mcpServers: { s: entry } }), {
      file: join(project, '.mcp.json'),
      layer,
      env: {},
    }).servers
  const run = async (
    entry: object,
    options: Partial<HostOptions> & { layer?: ConfigLayer; answer?: () => void; verdict?: 'deny' } = {},
  ) => {
    const { layer, answer, verdict = 'allow', ...more } = options
    rmSync(noted, { force: true })
    const surface = person({
      start: () => {
        answer?.()
        return { verdict }
      },
    })
    const host = await started({ servers: servers(entry, layer), surface, store, home, ...more })
    const state = host.connections.get('s')
    await host.close()
    const asked = surface.asked.filter((question): question is Question => question.kind === 'start')
    const [file, cwd, searched, ...args] = existsSync(noted)
      ? readFileSync(noted, 'utf8').trimEnd().split('\n')
      : []
    return { asked, state, ran: file === undefined ? undefined : { file, cwd, searched, args } }
  }
  vi.stubEnv('PATH', path.join(delimiter))
  vi.stubEnv('XDG_CACHE_HOME', undefined)
  return { project, home, noted, installed, path, run }
}

const codes = (question: Question | undefined): string[] => (question?.findings ?? []).map(({ code }) => code)

describe.skipIf(process.platform === 'win32')('the program of a project file', () => {
  it('is shown as the file that runs, with the values of its variables', async () => {
    const { project, noted, path, run } = setup()
    const evil = tool(join(project, 'evil', 'npx'), noted)
    const env = { PATH: '${workspaceFolder}/evil:${PATH}', API_TOKEN: 'hunter2-hunter2', MODE: 'a' }
    const { asked, ran } = await run({ command: 'npx', args: ['-y', '@org/server@1.2.3'], env })
    expect(asked).toMatchObject([
      {
        program: evil,
        given: [
          { name: 'PATH', value: env.PATH },
          { name: 'API_TOKEN', value: '[API_TOKEN]' },
          { name: 'MODE', value: 'a' },
        ],
      },
    ])
    expect(codes(asked[0])).toEqual(expect.arrayContaining(['changes-what-runs', 'program-of-the-folder']))
    expect(ran).toMatchObject({ file: evil, searched: [join(project, 'evil'), ...path].join(':') })
  })

  it("is not found in the folder by a relative entry of the user's PATH", async () => {
    const { project, noted, installed, path, run } = setup()
    tool(join(project, 'tool'), noted)
    vi.stubEnv('PATH', ['.', '', 'bin', ...path].join(delimiter))
    const { asked, ran } = await run({ command: 'tool', cwd: project })
    expect(asked).toMatchObject([{ program: installed.tool, command: `cd ${project} && tool` }])
    expect(ran).toMatchObject({ file: installed.tool, searched: path.join(delimiter) })
  })

  it('is shown if a relative entry of a configured PATH leads to the folder', async () => {
    const { project, noted, run } = setup()
    const evil = tool(join(project, 'bin', 'tool'), noted)
    const { asked, ran } = await run({ command: 'tool', cwd: project, env: { PATH: 'bin:/usr/bin:/bin' } })
    expect(asked).toMatchObject([{ program: evil, given: [{ name: 'PATH', value: 'bin:/usr/bin:/bin' }] }])
    expect(codes(asked[0])).toContain('program-of-the-folder')
    expect(ran).toMatchObject({ file: evil, searched: `${join(project, 'bin')}:/usr/bin:/bin` })
  })

  it('is shown with its link target, and asked about again when the target changes', async () => {
    const { project, home, noted, run } = setup()
    const [one, other] = ['one', 'other'].map((name) => tool(join(home, name), noted))
    const link = join(project, 'run')
    symlinkSync(one ?? '', link)
    const first = await run({ command: link })
    expect(first.asked).toMatchObject([{ program: `${link} → ${one}` }])
    expect((await run({ command: link })).asked).toEqual([])
    rmSync(link)
    symlinkSync(other ?? '', link)
    const second = await run({ command: link })
    expect(second.asked).toMatchObject([{ program: `${link} → ${other}`, before: link }])
  })

  it('is asked about again if another file with that name now precedes it', async () => {
    const { home, noted, installed, path, run } = setup()
    expect((await run({ command: 'tool' })).asked).toMatchObject([{ program: installed.tool }])
    expect((await run({ command: 'tool' })).asked).toEqual([])
    const nearer = tool(join(home, 'nearer', 'tool'), noted)
    vi.stubEnv('PATH', [join(home, 'nearer'), ...path].join(delimiter))
    const { asked, ran } = await run({ command: 'tool' })
    expect(asked).toMatchObject([{ program: nearer }])
    expect(ran).toMatchObject({ file: nearer })
  })

  it('is asked about again if it was replaced while the question was open', async () => {
    const { project, noted, run } = setup()
    const script = tool(join(project, 'run.sh'), noted)
    let answers = 0
    const answer = (): void => {
      if (answers++ === 0) writeFileSync(script, `${readFileSync(script, 'utf8')}# changed\n`)
    }
    const { asked, state } = await run({ command: script }, { answer })
    expect(asked).toHaveLength(2)
    expect(state).toMatchObject({ state: 'ready' })
  })

  it.each([
    ['the program itself', './run.sh', []],
    ['a script that an interpreter is given', 'tool', ['lib/run.js']],
    ['a file that an option names', 'tool', ['--config=settings.json']],
  ])('is asked about again when a project file changes: %s', async (_, command, args) => {
    const { project, noted, run } = setup()
    tool(join(project, 'run.sh'), noted)
    mkdirSync(join(project, 'lib'))
    for (const name of ['lib/run.js', 'settings.json']) writeFileSync(join(project, name), '{}')
    const entry = { command, args, cwd: project }
    expect((await run(entry)).asked).toHaveLength(1)
    expect((await run(entry)).asked).toEqual([])
    for (const name of ['run.sh', 'lib/run.js', 'settings.json']) {
      writeFileSync(join(project, name), `${readFileSync(join(project, name), 'utf8')}\n`)
    }
    const { asked } = await run(entry)
    expect(codes(asked[0])).toContain('changed-elsewhere')
  })

  it('is asked about again when a file changes whose content it gets', async () => {
    const { project, run } = setup()
    const entry = { command: 'tool', env: { MODE: '${file:mode.txt}' } }
    writeFileSync(join(project, 'mode.txt'), 'gentle')
    expect((await run(entry)).asked).toHaveLength(1)
    expect((await run(entry)).asked).toEqual([])
    writeFileSync(join(project, 'mode.txt'), 'rough')
    expect((await run(entry)).asked).toHaveLength(1)
  })

  it('is shown with the variables of its env file', async () => {
    const { project, run } = setup()
    writeFileSync(join(project, '.env'), 'NODE_OPTIONS=--require ./evil.cjs\nAPI_KEY=hunter2\n')
    const { asked } = await run({ command: 'tool', envFile: '.env' })
    expect(asked[0]?.given).toEqual([
      { name: 'API_KEY', value: '[API_KEY]' },
      { name: 'NODE_OPTIONS', value: '--require ./evil.cjs' },
    ])
    expect(codes(asked[0])).toContain('loads-code')
  })

  it('has a warning if Python would run a module of the folder', async () => {
    const { project, run } = setup()
    writeFileSync(join(project, 'mcp_server_git.py'), '')
    const { asked } = await run({ command: 'python3', args: ['-m', 'mcp_server_git'], cwd: project })
    expect(codes(asked[0])).toContain('module-of-the-folder')
  })
})

describe.skipIf(process.platform === 'win32')(
  'a program that fetches packages, started by a project file',
  () => {
    const entry = {
      command: 'npx',
      args: ['-y', '@org/server@1.2.3', '.', './data', '--db=../x', 'word', '@org/x'],
    }

    it('runs in a separate folder without project files', async () => {
      const { project, home, noted, installed, path, run } = setup()
      tool(join(project, 'node_modules', '.bin', 'npx'), noted)
      vi.stubEnv('PATH', [join(project, 'node_modules', '.bin'), ...path].join(delimiter))
      vi.spyOn(process, 'cwd').mockReturnValue(project)
      const { asked, ran } = await run(entry)
      const apart = expect.stringMatching(new RegExp(`^${home}/.cache/jackfield/servers/[0-9a-f]{16}$`))
      const args = [
        '-y',
        '@org/server@1.2.3',
        project,
        `${project}/data`,
        `--db=${dirname(project)}/x`,
        'word',
        '@org/x',
      ]
      expect(ran).toEqual({ file: installed.npx, cwd: apart, searched: path.join(delimiter), args })
      expect(asked).toMatchObject([
        {
          program: installed.npx,
          command: `npx ${args.join(' ')}`,
          findings: [
            { severity: 'notice', code: 'runs-apart', message: expect.stringContaining(`${ran?.cwd}`) },
          ],
        },
      ])
    })

    it.each([
      ['uvx', ['server==1.2.3']],
      ['bunx', ['server@1.2.3']],
      ['pnpm', ['dlx', 'server@1.2.3']],
      ['npm', ['exec', 'server@1.2.3']],
      ['pipx', ['run', 'server==1.2.3']],
      ['dnx', ['Server@1.2.3', '--yes']],
      ['env', ['A=1', 'npx', '-y', 'server@1.2.3']],
      ['node', ['/usr/lib/node_modules/npm/bin/npx-cli.js', '-y', 'server@1.2.3']],
      ['python3', ['-m', 'uv', 'tool', 'run', 'server==1.2.3']],
      ['python3', ['-m', 'pipx', 'run', 'server==1.2.3']],
    ])('does so as %s', async (command, args) => {
      const { project, run } = setup()
      vi.spyOn(process, 'cwd').mockReturnValue(project)
      const { asked } = await run({ command, args }, { verdict: 'deny' })
      expect(codes(asked[0])).toContain('runs-apart')
    })

    it('runs in the configured folder, with a warning', async () => {
      const { project, run } = setup()
      const { asked, ran } = await run({ ...entry, cwd: '${workspaceFolder}' })
      expect(asked[0]?.command).toMatch(new RegExp(`^cd ${project} && npx -y `))
      expect(asked[0]?.findings).toContainEqual(
        expect.objectContaining({ severity: 'danger', code: 'runs-in-the-folder' }),
      )
      expect(ran).toMatchObject({ cwd: project })
      expect(ran?.args).toEqual(entry.args)
    })

    it('also runs separately if the folder is allowed without asking', async () => {
      const { project, run } = setup()
      const { asked, ran } = await run(entry, { startProjectServers: true })
      expect(asked).toEqual([])
      expect(ran?.cwd).not.toBe(project)
      expect(ran?.cwd).toContain('jackfield/servers')
    })

    it('is not found in the folder, and the error says what to do', async () => {
      const { project, noted, path, run } = setup()
      const own = tool(join(project, '.venv', 'bin', 'uvx'), noted)
      vi.stubEnv('PATH', [dirname(own), ...path].join(delimiter))
      const { ran, state } = await run({ command: 'uvx', args: ['server==1.2.3'] })
      expect(ran).toBeUndefined()
      expect(state).toMatchObject({
        reason: expect.stringContaining(`uvx exists only in this folder (${own})`),
      })
      const named = await run({ command: own, args: ['server==1.2.3'] })
      expect(named.asked).toMatchObject([{ program: own }])
      expect(named.ran).toMatchObject({ file: own })
    })

    it("is the user's own if the folder is their home folder", async () => {
      const { home, installed, run, project } = setup()
      const { asked, ran } = await run(entry, { home: project })
      expect(ran).toMatchObject({
        file: installed.npx,
        cwd: expect.stringContaining(`${project}/.cache/jackfield`),
      })
      vi.stubEnv('PATH', [join(project, 'bin'), join(home, 'bin'), '/usr/bin', '/bin'].join(delimiter))
      const own = tool(join(project, 'bin', 'npx'), join(home, 'noted'))
      const again = await run(entry, { home: project })
      expect(again.ran).toMatchObject({ file: own })
      expect(codes(asked[0])).toEqual(['runs-apart'])
      expect(codes(again.asked[0])).toEqual(['changed-elsewhere', 'runs-apart'])
    })

    it.each(['user', 'named'] as const)('runs in its usual folder in a %s file', async (layer) => {
      const { run } = setup()
      const { ran } = await run(entry, { layer })
      expect(ran).toMatchObject({ cwd: realpathSync(process.cwd()), args: entry.args })
    })
  },
)
