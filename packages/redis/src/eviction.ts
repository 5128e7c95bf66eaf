import type { Commands } from './commands.ts'
import type { RedisErrors } from './errors.ts'

/**
 * Warns if Redis may evict keys: an evicted mark of a used answer or proof would let it be used again. Never rejects.
 * @param key selects the node of a cluster
 */
export async function warnOfEviction(
  commands: Commands,
  errors: RedisErrors,
  key: string,
  warn: (message: string) => void,
): Promise<void> {
  const policy = (await policyByConfig(commands, key)) ?? (await policyByInfo(commands, key))
  if (policy === 'noeviction') return
  warn(
    errors.message(
      policy === undefined
        ? 'does not report its maxmemory-policy. Make sure that it is noeviction: with any other, an answer that was used may be accepted again'
        : `has the maxmemory-policy ${policy}. When its memory is full it evicts the marks of used answers, which are then accepted again. Set maxmemory-policy to noeviction`,
    ),
  )
}

/** The policy by `CONFIG GET`, which managed servers often reject. */
async function policyByConfig(commands: Commands, key: string): Promise<string | undefined> {
  const reply = await commands
    .runIdempotent(key, ['CONFIG', 'GET', 'maxmemory-policy'])
    .catch(() => undefined)
  if (Array.isArray(reply)) return textOf(reply[1])
  if (reply instanceof Map) return textOf(reply.get('maxmemory-policy'))
  return typeof reply === 'object' && reply !== null && 'maxmemory-policy' in reply
    ? textOf(reply['maxmemory-policy'])
    : undefined
}

async function policyByInfo(commands: Commands, key: string): Promise<string | undefined> {
  const reply = await commands.runIdempotent(key, ['INFO', 'memory']).catch(() => undefined)
  return typeof reply === 'string' ? /^maxmemory_policy:(\S+)/m.exec(reply)?.[1] : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
