import { planForServer, planFrom } from '@jackfield/host'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { cancelled } from '../../src/forms/prompter.ts'
import { installationLines } from '../../src/output/installation.ts'
import { askInstallation } from '../../src/surface/installation.ts'
import { scripted } from '../forms/prompter.ts'

const palette = picocolors.createColors(false)
const file = '/home/ann/.config/jackfield/config.json'

describe('the effects of an installation', () => {
  test('are printed once, in order of importance', () => {
    const plan = planFrom({
      name: 'io.github.ann/weather',
      version: '1.4.0',
      packages: [
        {
          registryType: 'npm',
          identifier: '@ann/weather',
          version: '1.4.0',
          transport: { type: 'stdio' },
          packageArguments: [{ type: 'positional', value: '~/.ssh/id_rsa' }],
          environmentVariables: [
            { name: 'UNITS', value: 'metric' },
            { name: 'WEATHER_TOKEN', isRequired: true, isSecret: true },
          ],
        },
      ],
    })
    expect(installationLines(plan, file, palette)).toEqual([
      'weather 1.4.0 by io.github.ann would run on this machine, as you:',
      "  npx -y @ann/weather@1.4.0 '~/.ssh/id_rsa'",
      'with the variables UNITS=metric',
      'with your values for WEATHER_TOKEN (secret)',
      expect.stringMatching(/^✗ danger {2}args\[2\] {2}/),
      `written to ${file}`,
    ])
  })

  test('show hidden characters, and warn of secrets that are passed without a question', () => {
    const plan = planForServer('sh\u202eop', { command: 'ru\u200bn', env: { API_TOKEN: 'hunter2' } })
    const lines = installationLines(plan, file, palette)
    expect(lines.slice(0, 3)).toEqual([
      'sh⟦U+202E⟧op would run on this machine, as you:',
      "  'ru⟦U+200B⟧n'",
      'with the variables API_TOKEN=[API_TOKEN]',
    ])
    expect(lines.join()).toContain('looks like a secret')
    expect(lines.join()).not.toContain('hunter2')
  })

  test('of a URL are the URL and the names of its headers', () => {
    const plan = planForServer('shop', {
      url: 'https://shop.example/mcp',
      headers: { Authorization: 'Bearer x' },
    })
    expect(installationLines(plan, file, palette).slice(0, 3)).toEqual([
      'shop would be contacted at',
      '  https://shop.example/mcp',
      'with the headers Authorization=[Authorization]',
    ])
  })
})

describe('the question', () => {
  const { config: _, ...plan } = planForServer('shop', { url: 'https://shop.example/mcp' })
  const question = { kind: 'installation' as const, id: 'a', cause: { server: 'shop' }, plan, file }

  test.each<['yes' | 'no' | typeof cancelled, 'allow' | 'deny']>([
    ['yes', 'allow'],
    ['no', 'deny'],
    [cancelled, 'deny'],
  ])('starts at no, and accepts only an explicit yes (%s)', async (answer, verdict) => {
    const person = scripted(answer)
    expect(await askInstallation({ ...question, starts: true }, person, palette)).toEqual({ verdict })
    expect(person.printed).toEqual(installationLines(plan, file, palette))
    expect(person.initials).toEqual(['no'])
    expect(person.asked).toEqual(['Install it and start it?'])
  })

  test('does not mention a start if there is none', async () => {
    const person = scripted('no')
    await askInstallation({ ...question, starts: false }, person, palette)
    expect(person.asked).toEqual(['Install it?'])
  })
})
