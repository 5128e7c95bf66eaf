import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memorySecrets, type SecretKey, sealedSecrets } from '../../src/config/secrets/store.ts'
import { folder } from '../fixtures/hosts.ts'

const kinds: [string, (at: string) => SecretKey][] = [
  ['a passphrase', () => ({ kind: 'passphrase', text: 'correct horse battery' })],
  ['a key file', (at) => ({ kind: 'key file', file: join(at, 'the.key') })],
]

describe('secrets', () => {
  it.each(kinds)(
    'sealed with %s are readable by the next program, and in no file as plain text',
    async (_, key) => {
      const at = folder()
      const first = sealedSecrets(at, key(at))
      expect(await first.names()).toEqual([])
      await Promise.all([first.set('b', 'canary-b-123'), first.set('a', 'canary-a-123')])
      const second = sealedSecrets(at, key(at))
      expect(await second.names()).toEqual(['a', 'b'])
      expect(await second.get('a')).toBe('canary-a-123')
      for (const entry of readdirSync(at, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue
        const file = join(entry.parentPath, entry.name)
        expect(readFileSync(file, 'latin1')).not.toContain('canary')
        expect(statSync(file).mode & 0o077).toBe(0)
      }
      expect(await second.remove('a')).toBe(true)
      expect(await second.remove('a')).toBe(false)
      expect(await first.get('a')).toBeUndefined()
    },
  )

  it('cannot be read with another passphrase', async () => {
    const at = folder()
    await sealedSecrets(at, { kind: 'passphrase', text: 'correct horse battery' }).set('a', 'x'.repeat(9))
    const other = sealedSecrets(at, { kind: 'passphrase', text: 'wrong horse battery' })
    await expect(other.get('a')).rejects.toThrow(
      'The secret "a" is sealed with another key than the one in use',
    )
  })

  it('need a name and a value', async () => {
    const store = memorySecrets()
    await expect(store.set('', 'x')).rejects.toThrow('The name of a secret')
    await expect(store.set('a}b', 'x')).rejects.toThrow('The name of a secret')
    await expect(store.set('a', '')).rejects.toThrow('is empty')
  })
})
