import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const sources = fileURLToPath(new URL('../src', import.meta.url))

/** The folders that each folder may import values from; types may come from any. Each row names only rows above it. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  jsonrpc: [],
  protocol: ['jsonrpc'],
  request: ['jsonrpc', 'protocol'],
  'json-schema': ['jsonrpc'],
  server: ['jsonrpc', 'protocol', 'request', 'json-schema'],
  backplane: ['jsonrpc', 'request'],
  'transports/server': ['jsonrpc', 'protocol', 'request', 'server'],
  'transports/client': ['jsonrpc', 'protocol', 'request', 'transports/server'],
  client: ['jsonrpc', 'protocol', 'request', 'json-schema', 'transports/client'],
  telemetry: ['jsonrpc', 'protocol', 'request'],
  'auth/client': ['jsonrpc', 'request', 'transports/client'],
  'auth/server': ['jsonrpc', 'request', 'transports/server', 'auth/client'],
  proxy: ['jsonrpc', 'protocol', 'request', 'server', 'transports/server', 'transports/client', 'client'],
  'extensions/skills': ['jsonrpc', 'request', 'server', 'client'],
  'extensions/tasks': [
    ...['jsonrpc', 'protocol', 'request', 'server', 'backplane'],
    ...['transports/server', 'transports/client', 'client'],
  ],
  'extensions/ui': ['jsonrpc', 'protocol', 'request', 'server'],
  testing: ['jsonrpc', 'protocol', 'request', 'transports/client', 'client'],
}

const nested = new Set(['transports', 'auth', 'extensions'])

function folderOf(path: string): string {
  const [first = '', second = ''] = path.replaceAll('\\', '/').split('/')
  return nested.has(first) ? `${first}/${second}` : first
}

/** The files that a source imports values from, also later. */
function importedBy(text: string): string[] {
  const imports = text.matchAll(
    /^(?:import|export) (?!type )([^'"]*?) ?from '(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  )
  return Array.from(imports, ([, names = '', from, later]) => {
    const list = /^\{(.*)\}$/s
      .exec(names.trim())?.[1]
      ?.split(',')
      .filter((name) => name.trim() !== '')
    const isTypes = list?.every((name) => name.trim().startsWith('type ')) ?? false
    return isTypes ? '' : (from ?? later ?? '')
  }).filter((path) => path !== '')
}

test('folders import only folders below them', () => {
  const wrong = globSync('*/**/*.ts', { cwd: sources }).flatMap((file) => {
    const folder = folderOf(file)
    return importedBy(readFileSync(join(sources, file), 'utf8'))
      .map((path) => folderOf(normalize(join(dirname(file), path))))
      .filter((other) => other !== folder && allowed[folder]?.includes(other) !== true)
      .map((other) => `${file} imports ${other}`)
  })
  expect(wrong).toEqual([])
  const rows = Object.keys(allowed)
  const upwards = Object.entries(allowed).flatMap(([folder, others]) =>
    others
      .filter((other) => rows.indexOf(other) >= rows.indexOf(folder))
      .map((other) => `${folder}: ${other}`),
  )
  expect(upwards).toEqual([])
})
