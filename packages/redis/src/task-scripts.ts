import { type Script, script } from './scripts.ts'

/**
 * Scripts of the task store. KEYS[1] is the beginning of all keys of one shard: `k:<id>` has a task, `leases` the running tasks by
 * the end of their holds, `expiry` all tasks with their owners by expiry, and `o:<owner>` the tasks of an owner by creation.
 */
const common = `local base = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number) return string.format('%.0f', number) end
local function row(id)
  return redis.call('HMGET', base .. 'k:' .. id, 'v', 'o', 'c', 'e', 'r', 'h', 'u', 'b')
end
local function keepUntil(key, at)
  if redis.call('PTTL', key) < at - now then redis.call('PEXPIREAT', key, text(at)) end
end
local function hold(id, at, expires)
  redis.call('ZADD', base .. 'leases', text(at), id)
  keepUntil(base .. 'leases', expires)
end
local function notify(channel, id, version, running, holder, at)
  redis.call('PUBLISH', channel, cjson.encode({ id, version, running, holder, text(math.max(0, at - now)) }))
end
local function expire(most)
  local members = redis.call('ZRANGEBYSCORE', base .. 'expiry', '-inf', text(now), 'LIMIT', 0, most)
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
 * ARGV: id, owner, TTL, holder, hold, body, capacity of the owner, capacity of this shard, channel. Returns the time, or nothing if
 * the capacity is reached.
 */
export const addTask: Script = script(
  'add task',
  `${common}while expire(100) == 100 do end
local owned = base .. 'o:' .. ARGV[2]
local key = base .. 'k:' .. ARGV[1]
if redis.call('ZCARD', owned) >= tonumber(ARGV[7]) then return false end
if redis.call('ZCARD', base .. 'expiry') >= tonumber(ARGV[8]) then return false end
if redis.call('EXISTS', key) == 1 then return false end
local expires = now + ARGV[3]
local held = now + ARGV[5]
redis.call('HSET', key, 'v', 1, 'o', ARGV[2], 'c', text(now), 'e', text(expires), 'r', 1, 'h', ARGV[4], 'u', text(held), 'b', ARGV[6])
redis.call('PEXPIREAT', key, text(expires))
redis.call('ZADD', base .. 'expiry', text(expires), ARGV[1] .. ' ' .. ARGV[2])
keepUntil(base .. 'expiry', expires)
redis.call('ZADD', owned, text(now), ARGV[1])
keepUntil(owned, expires)
hold(ARGV[1], held, expires)
if ARGV[4] == '' then notify(ARGV[9], ARGV[1], '1', '1', '', held) end
return text(now)`,
)

/** ARGV: id, version, running (1 or 0), holder, hold ('' if it stays), body, channel. Returns 1 if the task was replaced. */
export const replaceTask: Script = script(
  'replace task',
  `${common}local key = base .. 'k:' .. ARGV[1]
local found = redis.call('HMGET', key, 'v', 'e', 'u')
if not found[1] or tonumber(found[1]) ~= tonumber(ARGV[2]) - 1 then return 0 end
local held = ARGV[5] == '' and tonumber(found[3]) or now + ARGV[5]
redis.call('HSET', key, 'v', ARGV[2], 'r', ARGV[3], 'h', ARGV[4], 'u', text(held), 'b', ARGV[6])
if ARGV[3] == '1' then hold(ARGV[1], held, tonumber(found[2])) else redis.call('ZREM', base .. 'leases', ARGV[1]) end
notify(ARGV[7], ARGV[1], ARGV[2], ARGV[3], ARGV[4], held)
return 1`,
)

/** ARGV: owner, creation time and id of the task before, limit. Returns ids with rows. */
export const listTasks: Script = script(
  'list tasks',
  `${common}local out = {}
local from = 0
while true do
  local found = redis.call('ZRANGEBYSCORE', base .. 'o:' .. ARGV[1], ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', from, 100)
  for at = 1, #found, 2 do
    local id = found[at]
    if tonumber(found[at + 1]) > tonumber(ARGV[2]) or id > ARGV[3] then
      local fields = row(id)
      if fields[1] then
        out[#out + 1] = { id, fields }
        if #out >= tonumber(ARGV[4]) then return out end
      end
    end
  end
  if #found < 200 then return out end
  from = from + 100
end`,
  true,
)

/** ARGV: holder, lease, ids. Returns the ids of the tasks whose leases were renewed. */
export const renewTasks: Script = script(
  'renew tasks',
  `${common}local renewed = {}
for at = 3, #ARGV do
  local id = ARGV[at]
  local found = redis.call('HMGET', base .. 'k:' .. id, 'r', 'h', 'e')
  if found[1] == '1' and found[2] == ARGV[1] then
    redis.call('HSET', base .. 'k:' .. id, 'u', text(now + ARGV[2]))
    hold(id, now + ARGV[2], tonumber(found[3]))
    renewed[#renewed + 1] = id
  end
end
return renewed`,
  true,
)

/**
 * ARGV: holder, lease, limit, milliseconds that tasks are overdue, channel, and the id of the only task to claim. Returns ids with
 * rows as they were before.
 */
export const claimTasks: Script = script(
  'claim tasks',
  `${common}local out = {}
local limit = tonumber(ARGV[3])
local due = now - ARGV[4]
while #out < limit do
  local ids
  if ARGV[6] then
    local held = redis.call('ZSCORE', base .. 'leases', ARGV[6])
    ids = held and tonumber(held) <= due and { ARGV[6] } or {}
  else
    ids = redis.call('ZRANGEBYSCORE', base .. 'leases', '-inf', text(due), 'LIMIT', 0, limit - #out)
  end
  if #ids == 0 then return out end
  for _, id in ipairs(ids) do
    local fields = row(id)
    if fields[1] then
      local version = text(fields[1] + 1)
      local held = now + ARGV[2]
      redis.call('HSET', base .. 'k:' .. id, 'v', version, 'h', ARGV[1], 'u', text(held))
      hold(id, held, tonumber(fields[4]))
      notify(ARGV[5], id, version, '1', ARGV[1], held)
      fields[9] = text(held)
      out[#out + 1] = { id, fields }
    else
      redis.call('ZREM', base .. 'leases', id)
    end
  end
  if ARGV[6] or tonumber(ARGV[2]) <= 0 then return out end
end
return out`,
)

/** ARGV: most tasks to delete. Returns how many expired tasks were deleted. */
export const expireTasks: Script = script('expire tasks', `${common}return expire(tonumber(ARGV[1]))`, true)
