import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type CredentialStore, memoryStore } from '@jackfield/sdk/client/auth'
import { encryptedFiles, keychain, keyFile, passphrase, type StoreKey } from '@jackfield/sdk/client/auth/node'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { open, person, protectedServer } from './support/protected-server.ts'

const secret = 'correct horse battery'

async function folder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'jackfield-store-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

async function files(
  key: StoreKey = passphrase(secret),
): Promise<{ store: CredentialStore; directory: string }> {
  const directory = join(await folder(), 'deep', 'er')
  return { store: encryptedFiles({ directory, key }), directory }
}

describe.each([
  ['in memory', async () => memoryStore()],
  ['in encrypted files', async () => (await files()).store],
])('a store %s', (_, make) => {
  it('returns what was stored', async () => {
    const store = await make()
    expect(await store.get('a')).toBeUndefined()
    await store.set('a', 'one')
    await store.set('b', '')
    await store.set('a', 'zwei ✓')
    expect([await store.get('a'), await store.get('b')]).toEqual(['zwei ✓', ''])
    await store.delete('a')
    await store.delete('a')
    expect([await store.get('a'), await store.get('b')]).toEqual([undefined, ''])
  })

  it('serializes work on a key, also after a failure or an abort', async () => {
    const store = await make()
    let inside = 0
    let most = 0
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    }
    const failing = store.exclusive('a', () => Promise.reject(new Error('no')))
    const stop = new AbortController()
    const givenUp = store.exclusive('a', work, stop.signal)
    const all = Array.from({ length: 8 }, () => store.exclusive('a', work))
    stop.abort(new Error('enough'))
    await Promise.all([
      expect(failing).rejects.toThrow('no'),
      expect(givenUp).rejects.toThrow('enough'),
      ...all,
    ])
    expect(most).toBe(1)
  })

  it('allows concurrent work on different keys', async () => {
    const store = await make()
    const order: string[] = []
    const started = Promise.withResolvers<void>()
    const freed = Promise.withResolvers<void>()
    const locked = store.exclusive('a', () => {
      started.resolve()
      return freed.promise
    })
    await started.promise
    await store.exclusive('b', async () => void order.push('b'))
    freed.resolve()
    await locked
    expect(order).toEqual(['b'])
  })
})

describe('encrypted files', () => {
  it('are readable by their owner only and contain no plain text', async () => {
    const { store, directory } = await files()
    const one = await protectedServer()
    await open(one, person({ store }).auth)
    const names = await readdir(directory)
    expect(names.length).toBeGreaterThanOrEqual(3)
    for (const name of names) {
      const { mode } = await stat(join(directory, name))
      expect(mode & 0o777).toBe(0o600)
      const content = `${name} ${await readFile(join(directory, name), 'latin1')}`
      expect(content).not.toMatch(/secret|access|refresh|client|127\.0\.0\.1|battery/)
    }
    expect((await stat(directory)).mode & 0o777).toBe(0o700)
  })

  it('can be read by another process with the passphrase, without a login', async () => {
    const { store, directory } = await files()
    const one = await protectedServer()
    await open(one, person({ store }).auth)
    const again = person({ store: encryptedFiles({ directory, key: passphrase(secret) }) })
    await (await open(one, again.auth)).call('x')
    expect(again.opened).toEqual([])
  })

  it('cannot be read with another passphrase, and are not overwritten for that', async () => {
    const { store, directory } = await files()
    await store.set('a', 'CANARY')
    const other = encryptedFiles({ directory, key: passphrase('another passphrase') })
    const error = await other.get('a').catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'INVALID', message: expect.stringContaining('log in again') })
    expect(String(error)).not.toMatch(/CANARY|passphrase'/)
    expect(await store.get('a')).toBe('CANARY')
  })

  it.each([
    ['changed', async (path: string) => writeFile(path, (await readFile(path)).reverse())],
    ['cut short', async (path: string) => writeFile(path, (await readFile(path)).subarray(0, 20))],
    ['emptied', async (path: string) => writeFile(path, '')],
  ])('are rejected when another user has %s them', async (_, spoil) => {
    const { store, directory } = await files()
    await store.set('a', 'one')
    const name = (await readdir(directory)).find((file) => /^[0-9a-f]{40}$/.test(file)) ?? ''
    await spoil(join(directory, name))
    await expect(store.get('a')).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('cannot be swapped with each other', async () => {
    const { store, directory } = await files()
    await store.set('a', 'one')
    const before = await readdir(directory)
    await store.set('b', 'two')
    const added = (await readdir(directory)).find((file) => !before.includes(file)) ?? ''
    const first = before.find((file) => /^[0-9a-f]{40}$/.test(file)) ?? ''
    await rename(join(directory, first), join(directory, added))
    await expect(store.get('b')).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('are unlocked after a process died while working on them', async () => {
    const { store, directory } = await files()
    await store.set('a', 'one')
    await store.exclusive('a', async () => {
      const [lock = ''] = (await readdir(directory)).filter((name) => name.endsWith('.lock'))
      const path = join(directory, lock)
      const child = spawn(process.execPath, [
        '-e',
        `require('fs').writeFileSync(process.argv[1], 'dead')`,
        path,
      ])
      await new Promise((resolve) => child.once('exit', resolve))
    })
    expect((await readdir(directory)).some((name) => name.endsWith('.lock'))).toBe(true)
    const other = encryptedFiles({ directory, key: passphrase(secret) })
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let taken: string | undefined
    const taking = other
      .exclusive('a', async () => 'mine')
      .then((value) => {
        taken = value
      })
    while (taken === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      vi.advanceTimersByTime(100)
    }
    await taking
    expect(taken).toBe('mine')
    expect((await readdir(directory)).some((name) => name.endsWith('.lock'))).toBe(false)
  }, 20_000)
})

describe('the files of a store', () => {
  it.skipIf(process.platform === 'win32').each([
    ['nothing', 0, 'EFBIG EFBIG', 0],
    ['what is small', 8, 'kept EFBIG', 1],
  ])('are always complete even if the disk had room for %s', async (_, blocks, message, count) => {
    const { store, directory } = await files(keyFile(join(await folder(), 'key')))
    await store.set('a', 'one')
    const before = await readdir(directory)
    const program = `
      import { encryptedFiles } from '@jackfield/sdk/client/auth/node'
      const key = { load: async () => new Uint8Array(32) }
      const store = encryptedFiles({ directory: process.argv[1], key })
      const said = []
      for (const value of ['small', 'x'.repeat(100_000)]) {
        await store.set('b', value).then(() => said.push('kept'), ({ code }) => said.push(code))
      }
      console.log(said.join(' '))`
    const limited = `ulimit -f ${blocks}; exec "$0" --input-type=module -e "$1" "$2"`
    const child = spawn('bash', ['-c', limited, process.execPath, program, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect(await text(child.stdout)).toBe(`${message}\n`)
    const added = (await readdir(directory)).filter((name) => !before.includes(name))
    expect(added).toEqual(Array(count).fill(expect.stringMatching(/^[0-9a-f]{40}$/)))
  })

  it('are unlocked although a process died during the takeover with its clock ahead', async () => {
    const { store, directory } = await files(keyFile(join(await folder(), 'key')))
    let lock = ''
    await store.exclusive('a', async () => {
      lock = (await readdir(directory)).find((name) => name.endsWith('.lock')) ?? ''
    })
    const path = join(directory, lock)
    await writeFile(path, 'dead')
    await writeFile(`${path}.takeover`, '')
    const tomorrow = new Date(Date.now() + 86_400_000)
    await utimes(`${path}.takeover`, tomorrow, tomorrow)
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    let taken = false
    store
      .exclusive(
        'a',
        async () => {
          taken = true
        },
        stop.signal,
      )
      .catch(() => {})
    await expect
      .poll(
        () => {
          vi.advanceTimersByTime(500)
          return taken
        },
        { timeout: 5_000 },
      )
      .toBe(true)
  })
})

describe('a store key', () => {
  it('in a file is created once, readable by the owner only', async () => {
    const path = join(await folder(), 'key')
    const { store, directory } = await files(keyFile(path))
    await store.set('a', 'one')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await encryptedFiles({ directory, key: keyFile(path) }).get('a')).toBe('one')
    await chmod(path, 0o644)
    await expect(encryptedFiles({ directory, key: keyFile(path) }).get('a')).rejects.toThrow(/chmod 600/)
  })

  it('in a file with other content is rejected', async () => {
    const path = join(await folder(), 'key')
    await writeFile(path, 'short', { mode: 0o600 })
    const { store } = await files(keyFile(path))
    await expect(store.set('a', 'one')).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('cannot be a short passphrase', () => {
    expect(() => passphrase('short')).toThrow(/at least 12 characters/)
  })

  it('is loaded for existing data only', async () => {
    const broken: StoreKey = { load: () => Promise.reject(new Error('no key')) }
    const { store } = await files(broken)
    expect(await store.get('a')).toBeUndefined()
    expect(await store.exclusive('a', async () => 'done')).toBe('done')
    await store.delete('a')
    await expect(store.set('a', 'one')).rejects.toThrow('no key')
    expect(await store.get('a')).toBeUndefined()
  })

  it.runIf(process.platform === 'linux')('in a keychain that does not respond is an error', async () => {
    const path = join(await folder(), 'bus')
    const bus = createServer(() => {})
    await new Promise<void>((resolve) => bus.listen(path, resolve))
    onTestFinished(() => void bus.close())
    vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', `unix:path=${path}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { store } = await files(keychain({ timeoutMs: 1_000 }))
    await expect(store.set('a', 'one')).rejects.toMatchObject({
      code: 'TIMEOUT',
      details: { keychain: 'no answer' },
    })
    expect(await store.get('a')).toBeUndefined()
  })

  it('in the keychain works, or the error says what is missing', async () => {
    const name = `jackfield-test-${process.pid}`
    const { store } = await files(keychain({ service: name }))
    const outcome = await store.set('a', 'one').then(
      () => 'kept',
      (error: unknown) => error,
    )
    if (outcome === 'kept') {
      expect(await store.get('a')).toBe('one')
      const { AsyncEntry } = await import('@napi-rs/keyring')
      await new AsyncEntry(name, 'credentials').deletePassword()
    } else {
      expect(outcome).toMatchObject({ message: expect.stringMatching(/use a passphrase or a key file/) })
    }
  })
})
