import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { everyFix } from '../../../host/test/fixtures/fixes.ts'
import { fixLines, withFixLines } from '../../src/output/fixes.ts'
import { inProcess } from '../terminal/in-process.ts'

describe('a fix on a terminal', () => {
  test('is a sentence with the command that does it', () => {
    expect(fixLines(everyFix)).toEqual([
      'Sign in to shop: jackfield login shop',
      'Agree to start shop: jackfield config allow shop, or for everything that this folder names: --start-what-this-folder-names',
      'Diagnose the connection to shop: jackfield doctor shop',
      'Review the definitions of shop: jackfield trust shop',
      'Check the command, arguments and variables of shop in its configuration.',
      'Check that shop runs and that its address is right.',
      'Check the "headers" of shop in its configuration.',
      'Register a client at the authorization server and name it in the configuration of shop: "auth": { "issuer", "clientId" }.',
      'Remove "era" from the configuration of shop.',
      'Raise "connectTimeoutMs" of shop in its configuration if it is only slow to start.',
      'Update shop or Jackfield: they have no protocol revision in common.',
      'Uninstall the current shop: jackfield uninstall shop, or --name for another name',
      `Pass TOKEN to it with "env": { "TOKEN": "\${TOKEN}" } in the configuration of shop; for a command after --: --env TOKEN`,
      'Set the secret "api": jackfield secret set api',
      'Open /data to servers: jackfield roots add /data',
      'Remove the pattern that excludes it: jackfield roots include <pattern>',
      'Search the log for kind:wire: jackfield log kind:wire',
      'Record the responses of a server: jackfield record <file>',
      'Search the registry for it: jackfield registry search <words>',
      'Choose another model: --model <provider/model>, or JACKFIELD_MODEL=<provider/model>',
    ])
  })

  test('names commands that exist', async () => {
    const commands = fixLines(everyFix).flatMap((line) => /: jackfield ((?:[a-z]+ ?)+)/.exec(line)?.[1] ?? [])
    expect(commands.length).toBeGreaterThan(9)
    for (const line of commands) {
      const words = line
        .trim()
        .split(' ')
        .filter((word) => word !== 'shop' && word !== 'api' && word !== 'kind')
      const help = inProcess([...words, '--help'], { home: '/', piped: true })
      expect(await help.ended).toBe(0)
      expect(help.output()).toContain(`Usage: jackfield ${words[0]}`)
      for (const word of words) expect(help.output()).toMatch(new RegExp(`\\b${word}\\b`))
    }
  })

  test.each(["it's; touch x", '$(touch x)', 'a b', '`x`', '日本'])(
    'gives %s to the command as one word',
    (server) => {
      const [line = ''] = fixLines([{ action: 'diagnose', server }])
      const words = line.slice(line.indexOf(': jackfield ') + 2)
      const printed = execFileSync('sh', ['-c', `jackfield() { printf '%s|' "$@"; }; ${words}`], {
        encoding: 'utf8',
      })
      expect(printed).toBe(`doctor|${server}|`)
    },
  )

  test('is printed below the message, and moves no cursor', () => {
    expect(withFixLines('It failed', [])).toBe('It failed')
    expect(withFixLines('It failed', [{ action: 'diagnose', server: 'a\u001b[2J\nb' }]).split('\n')).toEqual([
      'It failed',
      expect.not.stringContaining('\u001b'),
    ])
  })
})
