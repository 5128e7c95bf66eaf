import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveHttp } from '@jackfield/sdk/http'
import { createTravelServer } from '@jackfield/server-travel'
import { expect, onTestFinished, test } from 'vitest'
import { examples } from '../../src/cli/examples.ts'
import { inProcess } from '../terminal/in-process.ts'
import { filesystem, tempFolder } from './jackfield.ts'
import { serveEverything } from './served-everything.ts'

async function shown(...words: string[]): Promise<string> {
  const run = inProcess(words, { home: tempFolder(), piped: true })
  expect({ words, code: await run.ended }).toEqual({ words, code: 0 })
  return run.output()
}

const commandsIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].flatMap(([, name]) => name ?? [])

/** A home folder that configures three servers, two of them by their URLs. */
async function home(): Promise<string> {
  const travel = await serveHttp(createTravelServer({ database: ':memory:' }), {
    keys: ['k'.repeat(32)],
  }).listen()
  onTestFinished(() => travel.close())
  const folder = tempFolder()
  const entry = ([command, ...args]: string[]): object => ({ command, args })
  const mcpServers = {
    everything: { url: await serveEverything(onTestFinished) },
    travel: { url: travel.url },
    files: entry(filesystem(folder)),
  }
  mkdirSync(join(folder, '.config/jackfield'), { recursive: true })
  writeFileSync(join(folder, '.config/jackfield/config.json'), JSON.stringify({ mcpServers }))
  return folder
}

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')

test('the help of every command has examples', async () => {
  const names = commandsIn(await shown('--help')).filter((name) => name !== 'help' && name !== 'options')
  expect(names.length).toBeGreaterThan(25)
  for (const name of names) {
    const under = Object.keys(examples).filter((path) => path === name || path.startsWith(`${name} `))
    expect({ name, has: under.length > 0 }).toEqual({ name, has: true })
    for (const path of under)
      expect(await shown(...path.split(' '), '--help')).toContain('Examples:\n  jackfield ')
  }
})

test('the groups of commands are in the order of their use', async () => {
  const headings = Array.from((await shown('--help')).matchAll(/^([A-Z][a-z ]+):$/gm), ([, name]) => name)
  expect(headings).toEqual(['Options', 'Talk', 'Find', 'Use', 'Decide', 'Look back', 'Set up'])
})

test('shared options are described once instead of in every help', async () => {
  const page = await shown('help', 'options')
  expect(await shown('options')).toBe(page)
  for (const option of [
    '--config <file>',
    '--store <file>',
    '--no-store',
    '--answers <file>',
    '--timeout <seconds>',
  ]) {
    expect(page).toContain(option)
    for (const command of ['call', 'tools', 'servers', 'doctor']) {
      expect(await shown(command, '--help')).not.toContain(option)
    }
  }
  const call = await shown('call', '--help')
  expect(call).toContain('--save-media <folder>')
  expect(call).toContain('jackfield help options')
})

test('examples without network, terminal or id run', { timeout: 240_000 }, async () => {
  const folder = await home()
  const failed: object[] = []
  for (const line of Object.values(examples).flatMap(({ runnable }) => runnable)) {
    const run = inProcess(wordsOf(line), { home: folder, piped: true })
    const code = await run.ended
    if (code !== 0) failed.push({ line, code, output: run.output() })
  }
  expect(failed).toEqual([])
})
