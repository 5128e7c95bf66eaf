import type { Backplane } from '@jackfield/sdk'
import { createClient } from '@redis/client'

/**
 * Mistakes that a node of these tests makes on request, each of them in one operation. The checker is tried on them: it must find each.
 */
export const mistakes = [
  'used answers are accepted again',
  'records are written without comparing',
  'sessions are ended on one node only',
  'records are read once a minute',
  'the caller of an address is remembered',
  'sessions belong to everybody',
  'all sessions have one log',
  'events are sent and not stored',
  'events are read twice',
  'an event is left out when a stream is resumed',
  'answers of other nodes are lost',
  'a node that runs counts as gone',
  'a node that was killed counts as running',
  'changes are not published',
  'nothing expires',
  'positions are counted',
  'steps run twice',
] as const
export type Mistake = (typeof mistakes)[number]

const aHundredYearsMs = 3_155_760_000_000

const countedAppend = `local id = (redis.call('XLEN', KEYS[1]) + 1) .. '-0'
redis.call('XADD', KEYS[1], id, 'e', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return id`

/** A backplane that makes the mistake that `current` returns. */
export async function mistaken(
  plane: Backplane,
  url: string,
  current: () => Mistake | undefined,
): Promise<Backplane> {
  // For what the backplane of the package cannot do wrong.
  const redis = createClient({ url })
  redis.on('error', () => {})
  let connecting: Promise<unknown> | undefined
  const sent = async (args: string[]): Promise<unknown> => {
    connecting ??= redis.connect()
    await connecting
    return redis.sendCommand(args)
  }
  const isSession = (key: string): boolean => key.startsWith('session:')
  const isQuestion = (key: string): boolean => key.startsWith('question:')
  const isEvents = (key: string): boolean => key.startsWith('events:')
  const life = (ms: number): number => (current() === 'nothing expires' ? aHundredYearsMs : ms)
  /** One log for all sessions of a node. */
  const common = (log: string): string => log.replace(/^events:[^:]+:/, 'events:all:')
  const remembered = new Map<string, string | undefined>()

  return {
    ...plane,
    get: async (key) => {
      if (key.startsWith('lease:')) {
        if (current() === 'a node that runs counts as gone') return 'closed'
        if (current() === 'a node that was killed counts as running') return 'running'
      }
      if (isSession(key) && current() === 'records are read once a minute') {
        const known = remembered.get(key) ?? (await plane.get(key))
        if (known !== undefined) remembered.set(key, known)
        return known
      }
      return plane.get(key)
    },
    set: (key, value, ttlMs, owner) => plane.set(key, value, life(ttlMs), owner),
    add: async (key, value, ttlMs, owner) => {
      const isNew = await plane.add(key, value, life(ttlMs), owner)
      return isNew || current() === 'used answers are accepted again'
    },
    swap: async (key, expected, value, ttlMs) => {
      if (isQuestion(key) && current() === 'answers of other nodes are lost') return true
      if (isSession(key) && current() === 'records are written without comparing') {
        await new Promise((resolve) => setTimeout(resolve, 20))
        await plane.set(key, value, ttlMs)
        return true
      }
      return plane.swap(key, expected, value, life(ttlMs))
    },
    delete: async (key) => {
      if (isSession(key) && current() === 'sessions are ended on one node only') return
      await plane.delete(key)
    },
    append: async (log, entry, keep, ttlMs, previous) => {
      const mistake = current()
      if (isEvents(log)) {
        if (mistake === 'events are sent and not stored') return `${Date.now()}-0`
        if (mistake === 'all sessions have one log') return plane.append(common(log), entry, keep, ttlMs)
        if (mistake === 'positions are counted')
          return String(
            await sent(['EVAL', countedAppend, '1', `jackfield:l:${log}`, entry, String(Math.ceil(ttlMs))]),
          )
      }
      return plane.append(log, entry, keep, life(ttlMs), previous)
    },
    read: async (log, position, newest) => {
      if (!isEvents(log)) return plane.read(log, position, newest)
      const mistake = current()
      if (mistake === 'all sessions have one log') return plane.read(common(log), position)
      // A node that counts looks for the position alone.
      const entries =
        mistake === 'positions are counted'
          ? await plane.read(log, position)
          : await plane.read(log, position, newest)
      const [first, second, ...rest] = entries ?? []
      if (first === undefined || second === undefined) return entries
      if (mistake === 'events are read twice') return [first, second, second, ...rest]
      if (mistake === 'an event is left out when a stream is resumed' && rest.length > 0)
        return [first, ...rest]
      return entries
    },
    publish: async (topic, message) => {
      if (topic.startsWith('changes:') && current() === 'changes are not published') return
      await plane.publish(topic, message)
    },
  }
}
