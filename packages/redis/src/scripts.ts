import { createHash } from 'node:crypto'

/** A Lua script with one key. */
export interface Script {
  readonly name: string
  readonly text: string
  readonly sha: string
  /** Whether it is idempotent. */
  readonly mayRepeat: boolean
}

function script(name: string, text: string, mayRepeat = false): Script {
  return { name, text, sha: createHash('sha1').update(text).digest('hex'), mayRepeat }
}

/** ARGV: expected value, new value, TTL in ms (0: none). Returns 1 if the value was replaced. */
export const swap: Script = script(
  'swap',
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`,
)

/** Positions are the first parts of stream ids; the stream keeps the last one even when it is empty. */
const lastPosition = `local function last()
  if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
end
`

/** ARGV: entry, entries to keep, TTL in ms (0: none). Returns the position of the entry. */
export const append: Script = script(
  'append',
  `${lastPosition}local position = (last() or 0) + 1
redis.call('XADD', KEYS[1], string.format('%.0f-0', position), 'e', ARGV[1])
redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[2])
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return position`,
)

/** ARGV: position. Returns the later entries, or nothing if the position was trimmed or never existed. */
export const after: Script = script(
  'after',
  `${lastPosition}local newest = last()
local position = tonumber(ARGV[1])
if newest == nil or position > newest or position < newest - redis.call('XLEN', KEYS[1]) then return false end
local entries = {}
for at, entry in ipairs(redis.call('XRANGE', KEYS[1], string.format('%.0f-0', position + 1), '+')) do
  entries[at] = entry[2][2]
end
return entries`,
  true,
)
