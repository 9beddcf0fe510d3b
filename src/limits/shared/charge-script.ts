import { createHash } from 'node:crypto'

/**
 * A key stores the milliseconds until its bucket is full, with their time, and expires when it is full. Returns the new
 * milliseconds. Uses the clock of the server; if it goes back, as after a failover, nothing is refilled meanwhile.
 */
export const chargeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest = 366 * 24 * 3600 * 1000
local fills = {}
for index, key in ipairs(KEYS) do
  local charge = tonumber(ARGV[index])
  local stored = redis.call('GET', key)
  local fill, at = string.match(stored or '', '^(%S+) (%d+)$')
  fill = math.max(0, (tonumber(fill) or 0) - math.max(0, now - (at or now)))
  if charge ~= 0 then
    fill = math.max(0, fill + charge)
    if fill > 0 then
      local lifetime = math.min(longest, math.ceil(fill))
      redis.call('SET', key, string.format('%.17g %d', fill, now), 'PX', string.format('%d', lifetime))
    elseif stored then
      redis.call('DEL', key)
    end
  end
  fills[index] = string.format('%.17g', fill)
end
return fills
`

export const chargeScriptHash = createHash('sha1').update(chargeScript).digest('hex')
