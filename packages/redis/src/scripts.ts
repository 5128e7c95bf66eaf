import { createHash } from 'node:crypto'

/** A Lua script with one key. */
export interface Script {
  readonly name: string
  readonly text: string
  readonly sha: string
  /** Whether it is idempotent. */
  readonly isIdempotent: boolean
}

export function script(name: string, text: string, isIdempotent = false): Script {
  return { name, text, sha: createHash('sha1').update(text).digest('hex'), isIdempotent }
}

/** ARGV: expected value, new value, TTL in ms (0 deletes). Returns 1 if the value was replaced, else 0. */
export const swap: Script = script(
  'swap',
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`,
)

/** Lua: the id of the newest entry, which a stream has even when it is empty; nil for a log that does not exist. */
const newestId = `local function newestId()
  if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return info[at + 1] end
  end
end
`

/**
 * ARGV: entry, maximum number of entries, TTL in ms (0 deletes), the previous position of the only writer or '', a random number.
 * Returns the position of the entry. A counter alone would repeat positions after a failover that lost the newest entries, so each
 * position has a random number as well.
 */
export const append: Script = script(
  'append',
  `${newestId}local newest = newestId()
if newest and ARGV[4] ~= '' and newest ~= ARGV[4] then
  redis.call('DEL', KEYS[1])
  newest = nil
end
local count = newest and tonumber(string.match(newest, '^%d+')) or 0
local position = string.format('%.0f-%s', count + 1, ARGV[5])
redis.call('XADD', KEYS[1], position, 'e', ARGV[1])
redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[2])
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return position`,
)

/** ARGV: position, newest known position. Returns positions and entries alternately; nil if either entry is not stored. */
export const read: Script = script(
  'read',
  `if ARGV[2] ~= ARGV[1] and #redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2]) == 0 then return false end
local found = redis.call('XRANGE', KEYS[1], ARGV[1], '+')
if #found == 0 or found[1][1] ~= ARGV[1] then return false end
local flat = {}
for at, entry in ipairs(found) do
  flat[at * 2 - 1] = entry[1]
  flat[at * 2] = entry[2][2]
end
return flat`,
  true,
)

/** ARGV: cost and capacity of the bucket, as microseconds of refill. Returns the microseconds to wait; 0 if the cost was taken. */
export const spend: Script = script(
  'spend',
  `local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local after = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + ARGV[1]
if after - now > tonumber(ARGV[2]) then return math.ceil(after - now - ARGV[2]) end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000) + 1)
return 0`,
)
