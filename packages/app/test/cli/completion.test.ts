// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of shells are written so.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { offer } from './one-tool-server.ts'

const bin = builtProgram('jackfield')
const breaks = ' \t\n"\'@><=;|&(:'

/** Runs as a command line, typed or inserted by a shell that evaluates it. */
const hostile = '$(touch executed)'

let folder: string
let env: NodeJS.ProcessEnv

/** The candidates without the line that names their kind. */
function words(...typed: string[]): string[] {
  const out = execFileSync(process.execPath, [bin, 'completion', 'words', 'zsh', '--', ...typed], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  return out
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t')[0] ?? '')
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'jackfield-completion-'))
  const program = join(folder, 'jackfield')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`)
  chmodSync(program, 0o755)
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env
  env = {
    HOME: folder,
    XDG_DATA_HOME: join(folder, 'data'),
    PATH: [folder, PATH].join(delimiter),
    TMPDIR,
    NODE_COMPILE_CACHE,
  }
  const tools = [
    {
      name: 'send_mail',
      description: 'Sends mail',
      inputSchema: {
        type: 'object',
        properties: {
          to: { type: 'string', description: 'Address' },
          urgent: { type: 'boolean' },
          folder: { enum: ['inbox', 'sent items', hostile] },
        },
      },
    },
    { name: 'send_fax', inputSchema: { type: 'object' } },
    { name: `send${hostile}`, inputSchema: { type: 'object' } },
  ]
  const servers = { post: offer(tools), posters: { ...offer([]), disabled: true }, shop: offer([]) }
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: servers }))
})

afterAll(() => {
  execFileSync(process.execPath, [bin, 'daemon', 'stop', '--now'], { cwd: folder, env })
})

describe('completion', () => {
  test('of commands, options and servers needs no server', () => {
    expect(words('to')).toEqual(['tools'])
    expect(words('daemon', '')).toEqual(['status', 'stop', 'help'])
    expect(words('call', '--er')).toEqual(['--era'])
    expect(words('call', '--era', 'm')).toEqual(['modern'])
    expect(words('call', '--output', '')).toEqual(['json', 'markdown', 'raw'])
    expect(words('generate', 'c')).toEqual(['client', 'cli'])
    expect(words('search', '--server', '')).toEqual(['post', 'shop'])
    expect(words('tools', '')).toEqual(['post', 'shop'])
    expect(words('call', 'post', 'send')).toEqual([])
    const status = execFileSync(process.execPath, [bin, 'daemon', 'status'], {
      cwd: folder,
      env,
      encoding: 'utf8',
    })
    expect(status).toContain('No host process runs')
  })

  test('leaves file names to the shell', () => {
    for (const typed of [
      ['tools', '--config', ''],
      ['run', ''],
      ['install', './'],
    ]) {
      const out = execFileSync(process.execPath, [bin, 'completion', 'words', 'fish', '--', ...typed], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      expect(out, typed.join(' ')).toBe('files\n')
    }
  })

  test('prints nothing but an empty list where the configuration cannot be read', () => {
    const broken = mkdtempSync(join(tmpdir(), 'jackfield-completion-'))
    writeFileSync(join(broken, '.mcp.json'), '{ "mcpServers": ')
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [bin, 'completion', 'words', 'zsh', '--', 'tools', ''],
      { cwd: broken, env: { ...env, HOME: broken }, encoding: 'utf8' },
    )
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'done\n', stderr: '' })
  })

  test('refuses a shell that it has no script for', () => {
    const { status, stderr } = spawnSync(process.execPath, [bin, 'completion', 'tcsh'], {
      env,
      encoding: 'utf8',
    })
    expect(status).toBe(2)
    expect(stderr).toContain('jackfield completion <bash|zsh|fish>')
  })
})

describe('completion while the host process runs', () => {
  beforeAll(() => {
    execFileSync(process.execPath, [bin, 'tools', 'post', '--start-what-this-folder-names'], {
      cwd: folder,
      env,
    })
    execFileSync(process.execPath, [bin, 'config', 'allow', 'post'], { cwd: folder, env })
    execFileSync(process.execPath, [bin, 'tools', 'post'], { cwd: folder, env })
  })

  test('completes tools, their arguments and the values of these', () => {
    expect(words('call', 'post', 'send_')).toEqual(['send_mail', 'send_fax'])
    expect(words('call', 'post.send_f')).toEqual(['post.send_fax'])
    expect(words('call', 'post', 'send_mail', '')).toEqual(['to=', 'urgent=', 'folder='])
    expect(words('call', 'post.send_mail', 'to=me', '')).toEqual(['urgent=', 'folder='])
    expect(words('call', 'post', 'send_mail', 'urgent=t')).toEqual(['urgent=true'])
    expect(words('call', 'post', 'send_mail', 'folder=s')).toEqual(['folder=sent items'])
  })

  /** What bash would insert for a command line whose end is completed. */
  function inBash(line: string): string[] {
    const script =
      'source <(jackfield completion bash); COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2; _jackfield; printf "%s\\n" "${COMPREPLY[@]}"'
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', line, breaks], {
      cwd: folder,
      env,
      encoding: 'utf8',
    })
    expect(stderr.replace(/.*compopt.*\n/g, '')).toBe('')
    return stdout.trimEnd().split('\n')
  }

  test('in bash inserts quoted text after the last character that breaks words, and executes none of it', () => {
    expect(inBash('jackfield call post send')).toEqual([
      'send_mail',
      'send_fax',
      'send\\$\\(touch\\ executed\\)',
    ])
    expect(inBash('jackfield call post send_mail folder=')).toEqual([
      'inbox',
      'sent\\ items',
      '\\$\\(touch\\ executed\\)',
    ])
    expect(inBash(`jackfield call post ${hostile} folder=`)).toEqual([''])
    expect(inBash(`jackfield call post send_mail to=${hostile} urg`)).toEqual(['urgent='])
    expect(existsSync(join(folder, 'executed'))).toBe(false)
  })

  const hasFish = spawnSync('fish', ['--version']).status === 0
  test.skipIf(!hasFish)(
    `in fish shows descriptions, and executes none of it${hasFish ? '' : ' [needs fish]'}`,
    () => {
      const complete = (line: string): string =>
        execFileSync(
          'fish',
          ['--no-config', '-c', 'jackfield completion fish | source; complete -C $argv[1]', line],
          { cwd: folder, env, encoding: 'utf8' },
        )
      expect(complete('jackfield call post send_m')).toBe('send_mail\tSends mail\n')
      expect(complete(`jackfield call post send_mail to=${hostile} fol`)).toBe('folder=\n')
      expect(complete('jackfield call post send').trimEnd().split('\n')).toHaveLength(3)
      expect(existsSync(join(folder, 'executed'))).toBe(false)
    },
  )

  const hasZsh = spawnSync('zsh', ['--version']).status === 0
  test.skipIf(!hasZsh)(
    `in zsh adds candidates with descriptions, and executes none of it${hasZsh ? '' : ' [needs zsh]'}`,
    () => {
      // Completion functions run in the line editor alone; this is what it sets, and what it is given.
      const script = `
      compdef() { : }
      source <(jackfield completion zsh)
      compadd() { print -rl -- "\${shown[@]}"; print -r -- "\${(j:,:)values}" "\${(qq)@}" }
      words=("\${(@)argv}"); CURRENT=$#words; PREFIX=$words[-1]
      _jackfield`
      const complete = (...typed: string[]): string =>
        execFileSync('zsh', ['-f', '-c', script, 'jackfield', ...typed], {
          cwd: folder,
          env,
          encoding: 'utf8',
        })
      expect(complete('jackfield', 'call', 'post', 'send_m')).toBe(
        "send_mail  Sends mail\nsend_mail '-l' '-d' 'shown' '-a' 'values'\n",
      )
      expect(complete('jackfield', 'call', 'post', 'send_mail', `to=${hostile}`, 'fol')).toContain(
        "folder= '-l' '-S' '' '-d' 'shown' '-a' 'values'",
      )
      expect(complete('jackfield', 'to')).toContain('tools ')
      expect(existsSync(join(folder, 'executed'))).toBe(false)
    },
  )
})
