import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { createGitServer, type GitServerOptions } from '@jackfield/server-git'
import { onTestFinished, vi } from 'vitest'

/** A revision with sessions, and the one without. */
export const revisions = ['2025-06-18', '2026-07-28'] as const
export type TestRevision = (typeof revisions)[number]

/** A folder without links in its path, removed when the test ends. */
export function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'server-git-')))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** An account with a name and an e-mail address in its git configuration, for the rest of the test. */
export function account(config = '[user]\n\tname = Ada\n\temail = ada@example.com\n'): string {
  const home = folder()
  writeFileSync(join(home, '.gitconfig'), config)
  vi.stubEnv('HOME', home)
  vi.stubEnv('XDG_CONFIG_HOME', undefined)
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  return home
}

/** A repository that is set up with git itself. */
export class TestRepository {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Runs git as a person would, with everything that the repository configures. */
  git(...args: string[]): string {
    return this.#run('git', args)
  }

  #run(program: string, args: readonly string[]): string {
    return execFileSync(program, args, {
      cwd: this.path,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: undefined },
    }).trimEnd()
  }

  /** As `git`, whatever its exit code. */
  tryGit(...args: string[]): void {
    try {
      this.git(...args)
    } catch {
      // Some programs of a hostile repository fail on purpose.
    }
  }

  write(path: string, contents: string | Buffer): string {
    const file = join(this.path, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, contents)
    return file
  }

  /** Writes files and commits them. Returns the id. */
  commit(message: string, files: Readonly<Record<string, string | Buffer>> = {}): string {
    for (const [path, contents] of Object.entries(files)) this.write(path, contents)
    // One process of this large one: starting it takes more than what it does.
    const commands = 'git add --all && git commit --quiet --allow-empty --message "$1" && git rev-parse HEAD'
    return this.#run('sh', ['-c', commands, 'sh', message])
  }
}

let empty: string | undefined

/** The Git directory of an empty repository, which every repository is a copy of. */
function emptyGitFolder(): string {
  if (empty !== undefined) return empty
  const made = mkdtempSync(join(tmpdir(), 'server-git-empty-'))
  const options = ['--quiet', '--initial-branch', 'main', '--template=']
  execFileSync('git', ['init', ...options], { cwd: made, env: { ...process.env, GIT_CONFIG_NOSYSTEM: '1' } })
  empty = join(made, '.git')
  return empty
}

/** An empty repository in a folder of its own. */
export function repository(path = join(folder(), 'project')): TestRepository {
  cpSync(emptyGitFolder(), join(path, '.git'), { recursive: true })
  return new TestRepository(path)
}

/** A program that leaves a file behind when it runs. */
export class Marker {
  readonly program: string
  readonly #file: string

  /** @param after what the program does after it left the file */
  constructor(place: string, after = 'cat') {
    this.#file = join(place, 'ran')
    this.program = join(place, 'program.sh')
    writeFileSync(this.program, `#!/bin/sh\ntouch '${this.#file}'\n${after}\n`)
    chmodSync(this.program, 0o755)
  }

  /** Whether the program ran since the last call. */
  ran(): boolean {
    const found = existsSync(this.#file)
    rmSync(this.#file, { force: true })
    return found
  }
}

/** A client of a git server, closed when the test ends. */
export async function clientOf(
  options: GitServerOptions,
  connectOptions: ConnectOptions = {},
): Promise<Client> {
  const client: Client = await connect(createGitServer(options), connectOptions)
  onTestFinished(() => client.close())
  return client
}

/** The text of a result. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])).join('\n')
}
