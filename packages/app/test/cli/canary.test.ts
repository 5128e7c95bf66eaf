// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jsonFile, runProcess, tempFolder } from './jackfield.ts'

const canary = 'CANARY-terminal-5d0e1f7a'

/** A server that puts its secret into every text it sends. */
const talkative = [
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const told = process.env.TOKEN
    process.stderr.write('started with ' + told + '\\n')
    const answers = {
      initialize: { result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'talk', version: '1' }, instructions: 'Say ' + told } },
      'tools/list': { result: { tools: [
        { name: 'tell', description: 'Tells ' + told, inputSchema: { type: 'object' } },
        { name: 'fail', inputSchema: { type: 'object' } } ] } },
      'prompts/list': { result: { prompts: [{ name: 'ask', description: 'Asks ' + told }] } },
      'resources/list': { result: { resources: [{ uri: 'talk://x?key=' + told, name: 'x ' + told }] } },
      'resources/templates/list': { result: { resourceTemplates: [] } },
      'resources/read': { result: { contents: [{ uri: params?.uri, text: params?.uri + told }] } },
    }
    const call = params?.name === 'tell'
      ? { result: { content: [{ type: 'text', text: told + ' ' + Buffer.from(told).toString('base64') }] } }
      : { error: { code: -32050, message: 'not with ' + told, data: { told } } }
    const answer = method === 'tools/call' ? call : answers[method] ?? { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`,
]

function leaksIn(text: string): string[] {
  return [canary, Buffer.from(canary).toString('base64').slice(0, 24)].filter((form) => text.includes(form))
}

test('a secret repeated by a server appears in no output and no file of any command', {
  timeout: 240_000,
}, async () => {
  const config = jsonFile({
    mcpServers: { talk: { command: process.execPath, args: talkative, env: { TOKEN: '${secret:talk}' } } },
  })
  const data = tempFolder()
  const keys = tempFolder()
  const env = { XDG_DATA_HOME: data, JACKFIELD_KEY_FILE: join(keys, 'key') }
  const out = tempFolder()
  const stored = await runProcess(['secret', 'set', 'talk'], { env, stdin: canary })
  expect(stored.code).toBe(0)
  const named = ['--config', config]
  const commands: { words: string[]; code: number; output?: string }[] = [
    { words: ['tools', 'talk', ...named], code: 0, output: '[talk]' },
    { words: ['call', 'talk', 'tell', '-v', ...named], code: 0, output: '[talk]' },
    { words: ['call', 'talk', 'fail', ...named], code: 4, output: 'not with [talk]' },
    { words: ['resources', 'talk', ...named], code: 0, output: 'talk://x?key=[talk]' },
    { words: ['prompts', 'talk', ...named], code: 0, output: 'Asks [talk]' },
    { words: ['trust', 'talk', ...named], code: 0 },
    { words: ['config', 'explain', ...named], code: 0, output: '${secret:talk}' },
    { words: ['inbox', '--all'], code: 0 },
    { words: ['log', '--json'], code: 0 },
    { words: ['log', 'export', 'jsonl', '--output', join(out, 'log.jsonl')], code: 0 },
    { words: ['log', 'export', 'har', '--output', join(out, 'log.har')], code: 0 },
    { words: ['log', 'export', 'otlp', '--output', join(out, 'log.otlp')], code: 0 },
    { words: ['record', join(out, 'recording.json')], code: 0 },
  ]
  for (const { words, code, output } of commands) {
    const { code: ended, stdout, stderr } = await runProcess(words, { env })
    const shown = words.filter((word) => !word.includes('/')).join(' ')
    expect([shown, ended, leaksIn(stdout + stderr)]).toEqual([shown, code, []])
    if (output !== undefined) expect(stdout + stderr).toContain(output)
  }
  for (const folder of [data, out]) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const bytes = readFileSync(join(entry.parentPath, entry.name), 'latin1')
      expect([entry.name, leaksIn(bytes)]).toEqual([entry.name, []])
    }
  }
})
