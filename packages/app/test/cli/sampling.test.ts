import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { everything, jsonFile, run, tempFolder } from './jackfield.ts'

const [command, ...args] = everything
const models = [
  { id: 'ollama/qwen3', cost: { input: 0, output: 0 }, speed: 0.4, intelligence: 0.6 },
  { id: 'ollama/llama3.2', cost: { input: 0, output: 0 }, speed: 0.8, intelligence: 0.2 },
]

function setup(sampling: object, named: unknown[] = ['offline']) {
  const config = jsonFile({
    mcpServers: { everything: { command, args } },
    jackfield: { rules: [{ id: 'all', verdict: 'allow' }], models: named, sampling },
  })
  const options = ['--config', config, '--store', join(tempFolder(), 'store.db')]
  const json = async (...words: string[]) => JSON.parse((await run([...words, '--json', ...options])).stdout)
  return { options, json }
}

describe('jackfield sampling', () => {
  test('ranks models by hints and priorities, with reasons', async () => {
    const { options } = setup({}, models)
    const preferences = ['--hint', 'gpt', 'llama', '--speed', '1']
    const { stdout, code } = await run(['sampling', 'rank', ...preferences, ...options.slice(0, 2)], {
      env: { OLLAMA_HOST: '127.0.0.1' },
    })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ollama\/llama3\.2: the server's hint "llama" matches its name\n/)
    expect(stdout).toMatch(/1 +ollama\/llama3\.2 +0\.80 +matches the hint "llama"; cost 1\.00, speed 0\.80/)
    expect(stdout).toMatch(/2 +ollama\/qwen3 +0\.40/)
    expect(stdout).toMatch(/3 +offline .*is not a language model/)
  })

  test('lets the configuration answer for an absent user, within limits that apply across runs', async () => {
    const { options, json } = setup({
      limits: { requestsPerMinute: 2 },
      servers: { everything: { approve: ['request', 'result'] } },
    })
    const call = () =>
      run(['call', 'everything', 'trigger-sampling-request', 'prompt=hello', 'maxTokens:=9', ...options])
    expect((await call()).stdout).toContain('"model": "jackfield-offline-planner"')
    await call()
    const third = await call()
    expect(third.stdout + third.stderr).toContain('2 requests a minute are the limit for everything')
    const { usage, grants } = await json('sampling')
    expect(usage).toMatchObject([{ server: 'everything', requests: 2, limits: { requestsPerMinute: 2 } }])
    expect(grants).toEqual([
      { server: 'everything', stage: 'request', scope: 'config' },
      { server: 'everything', stage: 'result', scope: 'config' },
    ])
    const { stdout } = await run(['sampling', ...options])
    expect(stdout).toMatch(/everything +2 of 2 +2 +\d+ of 100,000 .* just now/)
    expect(stdout).toMatch(/Passes without review: 2\n.*\neverything +requests +as the config says/)
  })

  test('prints advice when empty', async () => {
    const { stdout, code } = await run(['sampling'])
    expect(code).toBe(0)
    expect(stdout).toContain('No server used a model in the last 24 hours.')
    expect(stdout).toContain('You are asked about every request.')
    const revoked = await run(['sampling', 'revoke', 'abc'])
    expect(revoked.code).toBe(2)
    expect(revoked.stderr).toContain('jackfield sampling lists them')
    expect((await run(['sampling', 'rank', '--cost', '2'])).code).toBe(2)
  })
})
