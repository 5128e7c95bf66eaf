import { type Script, script } from './scripts.ts'

/**
 * Lua functions of the task store. KEYS[1] is the prefix of all keys of one shard. `k:<id>` is the hash of a task. Sorted sets:
 * `leases` has the running tasks by the end of their leases, `expiry` all tasks with their owners by expiry time, and `o:<owner>` the
 * tasks of an owner by creation time.
 */
const prelude = `local base = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number) return string.format('%.0f', number) end
local function row(id)
  return redis.call('HMGET', base .. 'k:' .. id, 'v', 'o', 'c', 'e', 'r', 'h', 'u', 'b')
end
local function extendExpiry(key, at)
  if redis.call('PTTL', key) < at - now then redis.call('PEXPIREAT', key, text(at)) end
end
local function setLease(id, at, expires)
  redis.call('ZADD', base .. 'leases', text(at), id)
  extendExpiry(base .. 'leases', expires)
end
local function notify(channel, id, version, running, holder, at)
  redis.call('PUBLISH', channel, cjson.encode({ id, version, running, holder, text(math.max(0, at - now)) }))
end
local function expire(limit)
  local members = redis.call('ZRANGEBYSCORE', base .. 'expiry', '-inf', text(now), 'LIMIT', 0, limit)
  for _, member in ipairs(members) do
    local space = string.find(member, ' ', 1, true)
    local id = string.sub(member, 1, space - 1)
    redis.call('DEL', base .. 'k:' .. id)
    redis.call('ZREM', base .. 'leases', id)
    redis.call('ZREM', base .. 'o:' .. string.sub(member, space + 1), id)
    redis.call('ZREM', base .. 'expiry', member)
  end
  return #members
end
`

/**
 * ARGV: id, owner, TTL in ms, holder, lease in ms, body, capacity of the owner, capacity of this shard, channel. Returns the creation
 * time, or nil if a capacity is reached or the id exists.
 */
export const addTask: Script = script(
  'add task',
  `${prelude}while expire(100) == 100 do end
local owned = base .. 'o:' .. ARGV[2]
local key = base .. 'k:' .. ARGV[1]
if redis.call('ZCARD', owned) >= tonumber(ARGV[7]) then return false end
if redis.call('ZCARD', base .. 'expiry') >= tonumber(ARGV[8]) then return false end
if redis.call('EXISTS', key) == 1 then return false end
local expires = now + ARGV[3]
local heldUntil = now + ARGV[5]
redis.call('HSET', key, 'v', 1, 'o', ARGV[2], 'c', text(now), 'e', text(expires), 'r', 1, 'h', ARGV[4], 'u', text(heldUntil), 'b', ARGV[6])
redis.call('PEXPIREAT', key, text(expires))
redis.call('ZADD', base .. 'expiry', text(expires), ARGV[1] .. ' ' .. ARGV[2])
extendExpiry(base .. 'expiry', expires)
redis.call('ZADD', owned, text(now), ARGV[1])
extendExpiry(owned, expires)
setLease(ARGV[1], heldUntil, expires)
if ARGV[4] == '' then notify(ARGV[9], ARGV[1], '1', '1', '', heldUntil) end
return text(now)`,
)

/** ARGV: id, version, running (1 or 0), holder, lease in ms ('' for no change), body, channel. Returns 1 if the task was replaced. */
export const replaceTask: Script = script(
  'replace task',
  `${prelude}local key = base .. 'k:' .. ARGV[1]
local fields = redis.call('HMGET', key, 'v', 'e', 'u')
if not fields[1] or tonumber(fields[1]) ~= tonumber(ARGV[2]) - 1 then return 0 end
local heldUntil = ARGV[5] == '' and tonumber(fields[3]) or now + ARGV[5]
redis.call('HSET', key, 'v', ARGV[2], 'r', ARGV[3], 'h', ARGV[4], 'u', text(heldUntil), 'b', ARGV[6])
if ARGV[3] == '1' then setLease(ARGV[1], heldUntil, tonumber(fields[2])) else redis.call('ZREM', base .. 'leases', ARGV[1]) end
notify(ARGV[7], ARGV[1], ARGV[2], ARGV[3], ARGV[4], heldUntil)
return 1`,
)

/** ARGV: owner, creation time and id of the last task of the previous page, limit. Returns ids with rows. */
export const listTasks: Script = script(
  'list tasks',
  `${prelude}local out = {}
local from = 0
while true do
  local page = redis.call('ZRANGEBYSCORE', base .. 'o:' .. ARGV[1], ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', from, 100)
  for at = 1, #page, 2 do
    local id = page[at]
    if tonumber(page[at + 1]) > tonumber(ARGV[2]) or id > ARGV[3] then
      local fields = row(id)
      if fields[1] then
        out[#out + 1] = { id, fields }
        if #out >= tonumber(ARGV[4]) then return out end
      end
    end
  end
  if #page < 200 then return out end
  from = from + 100
end`,
  true,
)

/** ARGV: holder, lease in ms, ids. Returns the ids of the tasks whose leases were renewed. */
export const renewTasks: Script = script(
  'renew tasks',
  `${prelude}local renewed = {}
for at = 3, #ARGV do
  local id = ARGV[at]
  local fields = redis.call('HMGET', base .. 'k:' .. id, 'r', 'h', 'e')
  if fields[1] == '1' and fields[2] == ARGV[1] then
    redis.call('HSET', base .. 'k:' .. id, 'u', text(now + ARGV[2]))
    setLease(id, now + ARGV[2], tonumber(fields[3]))
    renewed[#renewed + 1] = id
  end
end
return renewed`,
  true,
)

/**
 * ARGV: holder, lease in ms, limit, milliseconds since the leases ended, channel, and optionally the id of the only task to claim.
 * Returns ids with the rows before the claim.
 */
export const claimTasks: Script = script(
  'claim tasks',
  `${prelude}local out = {}
local limit = tonumber(ARGV[3])
local due = now - ARGV[4]
while #out < limit do
  local ids
  if ARGV[6] then
    local heldUntil = redis.call('ZSCORE', base .. 'leases', ARGV[6])
    ids = heldUntil and tonumber(heldUntil) <= due and { ARGV[6] } or {}
  else
    ids = redis.call('ZRANGEBYSCORE', base .. 'leases', '-inf', text(due), 'LIMIT', 0, limit - #out)
  end
  if #ids == 0 then return out end
  for _, id in ipairs(ids) do
    local fields = row(id)
    if fields[1] then
      local version = text(fields[1] + 1)
      local heldUntil = now + ARGV[2]
      redis.call('HSET', base .. 'k:' .. id, 'v', version, 'h', ARGV[1], 'u', text(heldUntil))
      setLease(id, heldUntil, tonumber(fields[4]))
      notify(ARGV[5], id, version, '1', ARGV[1], heldUntil)
      fields[9] = text(heldUntil)
      out[#out + 1] = { id, fields }
    else
      redis.call('ZREM', base .. 'leases', id)
    end
  end
  if ARGV[6] or tonumber(ARGV[2]) <= 0 then return out end
end
return out`,
)

/** ARGV: maximum number of tasks to delete. Returns how many expired tasks were deleted. */
export const expireTasks: Script = script('expire tasks', `${prelude}return expire(tonumber(ARGV[1]))`, true)
