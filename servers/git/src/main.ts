#!/usr/bin/env node
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { serveStdio } from '@jackfield/sdk/stdio'
import { createGitServer, type GitServerOptions } from './index.ts'

const help = `An MCP server for local Git repositories, on standard input and output.

Usage: jackfield-server-git [FOLDER...] [options]

  FOLDER              A repository, or a folder that contains repositories. Only these can be used.
                      Default: the roots that the client sends.
  --read-only         Without the tools that change a repository.
  --confirm ask|never Whether the person is asked before a commit, and before a checkout with uncommitted
                      changes. With "ask" these are refused to clients that cannot ask. Default: ask
  --timeout SECONDS   Time limit of one git process. Default: 30
  --max-output BYTES  Size of one page of a patch or file, at most 262144. Default: 65536
  --concurrency N     Git processes at the same time. Default: 4
  --git PATH          The git program, version 2.32 or later. Default: git in PATH
  --help              Show this.
  --version           Show the version.

Hooks, filters and other programs that a repository configures are not run. Nothing is fetched or pushed.`

function fail(message: string): never {
  process.stderr.write(`jackfield-server-git: ${message}\n`)
  process.exit(1)
}

/** The version in package.json. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function readArguments(): GitServerOptions | 'help' | 'version' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'read-only': { type: 'boolean' },
      confirm: { type: 'string' },
      timeout: { type: 'string' },
      'max-output': { type: 'string' },
      concurrency: { type: 'string' },
      git: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  if (values.help === true) return 'help'
  if (values.version === true) return 'version'
  const { confirm = 'ask' } = values
  if (confirm !== 'ask' && confirm !== 'never') {
    throw new Error(`--confirm takes "ask" or "never", not "${confirm}"`)
  }
  for (const folder of positionals) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new Error(`${folder} is not a folder`)
    }
  }
  const timeout = number('--timeout', values.timeout, 1, 600)
  const maxOutputBytes = number('--max-output', values['max-output'], 1_024, 262_144)
  const concurrency = number('--concurrency', values.concurrency, 1, 64)
  return {
    folders: positionals.map((folder) => resolve(folder)),
    readOnly: values['read-only'] ?? false,
    confirm,
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
    ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(values.git === undefined ? {} : { program: resolve(values.git) }),
  }
}

function number(option: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= min && value <= max) return value
  throw new Error(`${option} takes an integer from ${min} to ${max}, not "${text}"`)
}

try {
  const options = readArguments()
  if (options === 'help') process.stdout.write(`${help}\n`)
  else if (options === 'version') process.stdout.write(`${version()}\n`)
  else {
    serveStdio(createGitServer(options)).closed.catch((error: unknown) => {
      fail(error instanceof Error ? error.message : String(error))
    })
  }
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}
