import { describe, expect, test } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { model } from './model.ts'
import { missing, person, say } from './person.ts'

const shelf = programFile(new URL('shelf-server.ts', import.meta.url))
const reason = 'since its server marks it for a model, priority 1'

function reader() {
  const ann = person()
  ann.write('config.json', {
    mcpServers: { shelf: { command: process.execPath, args: [shelf], roots: false } },
  })
  const words = (turns: object[], ...more: string[]): string[] => [
    ...['chat', '--config', 'config.json', ...more],
    ...['--model', `script:${ann.write('script.json', { contextTokens: 10_000, turns })}`],
  ]
  return { ann, words }
}

describe('resources that servers mark for a model', () => {
  test('are included in the first message, once, within a budget, each with the reason', async () => {
    const { ann, words } = reader()
    const { stdout, stderr } = await ann.piped(
      ['Hello', 'Again', '/context', '/attached', '/new', '/context'],
      ...words([{ say: 'Hi.' }, { say: 'Yes.' }]),
    )
    expect(stderr.match(/\+ House rules {2}doc:\/\/rules {2}about \d+ tokens; included since/g)).toHaveLength(
      1,
    )
    expect(stdout).toMatch(
      /New conversation[\s\S]*House rules {2}doc:\/\/rules {2}about \d+ tokens: its server marks/,
    )
    expect(stderr).toContain(`${reason}. /context off leaves it out.`)
    expect(stdout).toMatch(/not doc:\/\/tome: it needs about \d+ tokens, and 28\d of 300 are left/)
    expect(stdout).toContain('not doc://trivia: its priority is below 0.8')
    expect(stdout).toContain("of 300 tokens are included (3 % of the model's context)")
    expect(stdout).not.toContain('doc://plan')
    expect(stdout).toMatch(/1 +shelf +House rules .*\n +its server marks it for a model, priority 1/)
    const saved = await ann.piped(['/save talk.json'], ...words([], '--resume'))
    expect(saved.stdout).toContain('Saved as talk.json.')
    expect(ann.read('talk.json').match(/Always answer in rhyme/g)).toHaveLength(1)
    expect(ann.read('talk.json')).not.toContain('The cellar is damp')
  })

  test('are not included if their server has labels, which would apply to the whole conversation', async () => {
    const { ann, words } = reader()
    const server = { command: process.execPath, args: [shelf], roots: false, labels: ['private'] }
    ann.write('config.json', { mcpServers: { shelf: server } })
    const { stdout, stderr } = await ann.piped(['Hello', '/new', '/context'], ...words([{ say: 'Hi.' }]))
    expect(stderr).not.toContain('+ House rules')
    expect(stdout).toContain('not doc://rules: its server has the label private; /attach includes it')
  })

  test('are not included after /context off, with --no-context and in a resumed conversation', async () => {
    const { ann, words } = reader()
    const off = await ann.piped(
      ['/context off', 'Hello', '/new', 'Hello', '/context on', '/new', 'Hello'],
      ...words([{ say: 'Hi.' }, { say: 'Hi.' }, { say: 'Hi.' }]),
    )
    const [before = '', after = ''] = off.stderr.split('you › /context on')
    expect(off.stdout).toContain('Nothing is included unless you attach it')
    expect(before).not.toContain('House rules')
    expect(off.stdout).toContain('Nothing was included when this conversation began')
    expect(after).toContain('+ House rules')
    const resumed = await ann.piped(['Hello'], ...words([{ say: 'Hi.' }], '--resume'))
    // Only the message of before has it.
    expect(resumed.stderr.split('+ House rules')).toHaveLength(2)
    expect(resumed.stderr.slice(resumed.stderr.lastIndexOf('you › '))).not.toContain('House rules')
    const never = await ann.piped(['Hello'], ...words([{ say: 'Hi.' }], '--no-context'))
    expect(never.stderr).not.toContain('House rules')
  })

  test.skipIf(missing !== undefined)(
    'can be detached before they are sent, and are not added again',
    async () => {
      const { ann } = reader()
      const provider = await model()
      const terminal = ann.terminal(['chat', '--config', 'config.json'], provider.env)
      await say(terminal, '/context')
      await terminal.until('House rules  doc://rules  about')
      await say(terminal, '/detach 1')
      await terminal.until('House rules  doc://rules  is no longer attached; it is not sent.')
      await say(terminal, 'Hello')
      const request = await provider.next()
      expect(JSON.stringify(request.messages)).not.toContain('rhyme')
      request.end('Hi.')
      await terminal.until('Hi.')
    },
  )
})
