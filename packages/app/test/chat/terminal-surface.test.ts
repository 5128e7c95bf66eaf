import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { TerminalLock } from '../../src/chat/terminal-lock.ts'
import { TerminalChatSurface } from '../../src/chat/terminal-surface.ts'

function terminal() {
  const stdin = new PassThrough()
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  let seen = ''
  stdout.on('data', (chunk) => {
    seen += chunk
  })
  const interrupts: (() => void)[] = []
  const lock = new TerminalLock()
  let left = 0
  const surface = new TerminalChatSurface(
    {
      stdin: stdin,
      stdout: stdout,
      stderr: stdout,
      env: { NO_COLOR: '1' },
      cwd: '/',
      signal: new AbortController().signal,
      interrupt: () => {},
      onInterrupt(listener) {
        interrupts.push(listener)
        return () => interrupts.splice(interrupts.indexOf(listener), 1)
      },
    },
    lock,
    {
      exit: () => {
        left += 1
      },
      earlier: () => [],
    },
  )
  const tick = () => new Promise((resolve) => setTimeout(resolve, 20))
  return { surface, lock, interrupts, stdin, seen: () => seen, left: () => left, tick }
}

describe('Ctrl+C between two lines', () => {
  test('explains how to leave, leaves on the second press, and is reset by the next line', async () => {
    const { surface, interrupts, stdin, seen, left, tick } = terminal()
    const read = async (): Promise<void> => {
      const line = surface.readLine('› ')
      await tick()
      stdin.write('hello\r')
      await line
    }
    const press = (): void => interrupts.at(-1)?.()
    await read()
    press()
    expect(seen()).toContain('(To quit: Ctrl+C again, Ctrl+D or /quit)')
    await read()
    press()
    expect(left()).toBe(0)
    press()
    expect(left()).toBe(1)
  })

  test('leaves on a second press while a stopped turn is ending', async () => {
    const { surface, interrupts, stdin, left, tick } = terminal()
    const line = surface.readLine('› ')
    await tick()
    stdin.write('hello\r')
    await line
    const { signal } = surface.startTurn()
    interrupts.at(-1)?.()
    expect([signal.aborted, left()]).toEqual([true, 0])
    interrupts.at(-1)?.()
    expect(left()).toBe(1)
  })
})

describe('a line typed at a terminal', () => {
  test('is read, and so is the next one', async () => {
    const { surface, stdin, tick } = terminal()
    const first = surface.readLine('› ')
    await tick()
    stdin.write('hello\r')
    expect(await first).toBe('hello')
    const second = surface.readLine('› ')
    await tick()
    stdin.write('there\r')
    expect(await second).toBe('there')
  })

  test('is not requested while a second question follows immediately', async () => {
    const { surface, lock, stdin, seen, tick } = terminal()
    lock.setAsking(true)
    const line = surface.readLine('› ')
    lock.setAsking(false)
    lock.setAsking(true)
    await tick()
    expect(seen()).not.toContain('›')
    lock.setAsking(false)
    await tick()
    expect(seen()).toContain('›')
    stdin.write('hello\r')
    expect(await line).toBe('hello')
  })

  test('is hidden for a question and restored afterwards', async () => {
    const { surface, lock, stdin, tick } = terminal()
    const line = surface.readLine('› ')
    await tick()
    stdin.write('hel')
    await tick()
    lock.setAsking(true)
    await tick()
    lock.setAsking(false)
    await tick()
    stdin.write('lo\r')
    expect(await line).toBe('hello')
  })

  test('waits until no question has the lock', async () => {
    const { surface, lock, stdin, seen, tick } = terminal()
    lock.setAsking(true)
    const line = surface.readLine('PROMPT ')
    await tick()
    expect(seen()).not.toContain('PROMPT')
    lock.setAsking(false)
    await tick()
    expect(seen()).toContain('PROMPT')
    stdin.write('ok\r')
    expect(await line).toBe('ok')
  })

  test('is completed with Tab if it starts like a command', async () => {
    const { surface, stdin, tick } = terminal()
    const line = surface.readLine('› ', { complete: async () => [['/travel.plan-vacation '], '/tra'] })
    await tick()
    stdin.write('/tra\t')
    await tick()
    stdin.write('x=1\r')
    expect(await line).toBe('/travel.plan-vacation x=1')
  })

  test('stays below other output', async () => {
    const { surface, stdin, seen, tick } = terminal()
    const line = surface.readLine('› ')
    await tick()
    stdin.write('hel')
    await tick()
    surface.write('files is reconnecting\n')
    stdin.write('lo\r')
    expect(await line).toBe('hello')
    expect(seen()).toContain('files is reconnecting\n')
  })

  test('ends with Ctrl+D, or with Ctrl+C twice', async () => {
    const one = terminal()
    const left = one.surface.readLine('› ')
    await one.tick()
    one.stdin.write('\u0004')
    expect(await left).toBeUndefined()
    const two = terminal()
    const interrupted = two.surface.readLine('› ', { isMessage: true })
    await two.tick()
    two.stdin.write('\u0003')
    await two.tick()
    expect(two.seen()).toContain('Ctrl+C again')
    two.stdin.write('\u0003')
    expect(await interrupted).toBeUndefined()
  })
})

test('Ctrl+C during a turn stops only that turn', () => {
  const { surface, interrupts } = terminal()
  const { signal, done } = surface.startTurn()
  interrupts.at(-1)?.()
  expect(signal.aborted).toBe(true)
  done()
  expect(interrupts).toEqual([])
})
